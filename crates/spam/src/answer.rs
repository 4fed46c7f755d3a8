//! What rspamd says of a message.

use std::cmp::Ordering;
use std::collections::HashMap;

use restante_model::spam::{SpamScore, SpamSymbol};
use serde::Deserialize;
use serde_json::Value;

use crate::failure::Failure;

/// Every recipient's inbox keeps the analysis, so what is kept of it has less room than what is read.
const KEPT_BYTES: usize = 64 * 1024;
/// rspamd's own actions have a few words; one that takes more is no action.
const ACTION_BYTES: usize = 64;

/// An answer that makes sense.
///
/// `is_skipped` is not looked at: rspamd sets it where a rule has settled the matter before all others were asked, as the
/// test pattern GTUBE does; score and action stand all the same.
#[derive(Debug, PartialEq)]
pub(crate) struct Verdict {
    score: f64,
    required_score: f64,
    action: String,
    symbols: Vec<SpamSymbol>,
}

#[derive(Deserialize)]
struct Reply {
    score: f64,
    /// `null` where no action has a score.
    required_score: Option<f64>,
    action: String,
    #[serde(default)]
    symbols: HashMap<String, Symbol>,
}

#[derive(Deserialize)]
struct Symbol {
    /// `null` where it is not a number.
    score: Option<f64>,
    description: Option<String>,
    options: Option<Vec<Value>>,
}

impl Verdict {
    /// Reads the body of an answer.
    pub(crate) fn read(body: &[u8]) -> Result<Self, Failure> {
        // Options are parts of the message: they may be no UTF-8.
        let text = String::from_utf8_lossy(body);
        let reply: Reply = serde_json::from_str(&text).map_err(|_| Failure::Nonsense)?;
        if reply.action.len() > ACTION_BYTES {
            return Err(Failure::Nonsense);
        }
        Ok(Self {
            score: reply.score,
            required_score: reply.required_score.ok_or(Failure::NoRequiredScore)?,
            action: reply.action,
            symbols: in_order(reply.symbols),
        })
    }

    /// The same as the interface shows it.
    pub(crate) fn score(self, processing_time_ms: u64) -> SpamScore {
        SpamScore {
            is_spam: self.score >= self.required_score,
            score: self.score,
            required_score: self.required_score,
            action: self.action,
            symbols: self.symbols,
            processing_time_ms,
        }
    }
}

/// The symbols with the highest scores first, those that there is room for: a large one makes none but itself go.
fn in_order(symbols: HashMap<String, Symbol>) -> Vec<SpamSymbol> {
    let mut symbols: Vec<_> = symbols.into_iter().map(|(name, symbol)| symbol.named(name)).collect();
    symbols.sort_by(order);
    let mut room = KEPT_BYTES;
    let fits = |symbol: &SpamSymbol| match room.checked_sub(bytes(symbol)) {
        Some(left) => {
            room = left;
            true
        }
        None => false,
    };
    symbols.into_iter().filter(fits).collect()
}

fn order(one: &SpamSymbol, other: &SpamSymbol) -> Ordering {
    other
        .score
        .total_cmp(&one.score)
        .then_with(|| one.name.cmp(&other.name))
}

/// About what a symbol takes.
fn bytes(symbol: &SpamSymbol) -> usize {
    let options = symbol.options.iter().flatten().map(|option| option.len() + 4);
    let description = symbol.description.as_ref().map_or(0, String::len);
    64 + symbol.name.len() + description + options.sum::<usize>()
}

impl Symbol {
    fn named(self, name: String) -> SpamSymbol {
        let text = |option| match option {
            Value::String(text) => text,
            other => other.to_string(),
        };
        let options: Option<Vec<_>> = self.options.map(|options| options.into_iter().map(text).collect());
        SpamSymbol {
            name,
            score: self.score.unwrap_or(0.0),
            description: self.description.filter(|text| !text.is_empty()),
            options: options.filter(|options| !options.is_empty()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(body: &str) -> String {
        serde_json::to_string(&Verdict::read(body.as_bytes()).unwrap().score(7)).unwrap()
    }

    #[test]
    fn an_answer_is_shown_as_the_interface_has_it() {
        let body = r#"{"is_skipped":false,"score":7.5,"required_score":15,"action":"add header","messages":{},
            "symbols":{"B":{"name":"B","score":0.5,"metric_score":0.5},"A":{"name":"A","score":0.5,"description":"one",
            "options":["x","y",3]},"C":{"score":-1.0,"options":[],"description":""},"D":{"score":7.5}},"time_real":0.01}"#;
        let shown = concat!(
            r#"{"score":7.5,"requiredScore":15.0,"action":"add header","isSpam":false,"symbols":["#,
            r#"{"name":"D","score":7.5},{"name":"A","score":0.5,"description":"one","options":["x","y","3"]},"#,
            r#"{"name":"B","score":0.5},{"name":"C","score":-1.0}],"processingTimeMs":7}"#
        );
        assert_eq!(json(body), shown);
    }

    #[test]
    fn spam_is_what_has_the_required_score() {
        for (score, is_spam) in [("14.99", false), ("15.0", true), ("15.01", true), ("-3", false)] {
            let body = format!(r#"{{"is_skipped":true,"score":{score},"required_score":15.0,"action":"reject"}}"#);
            let verdict = Verdict::read(body.as_bytes()).unwrap();
            assert_eq!(verdict.score(0).is_spam, is_spam, "{score}");
        }
    }

    #[test]
    fn what_is_no_answer_is_told_from_one_without_a_threshold() {
        for body in [
            "",
            "no JSON",
            "[]",
            "{}",
            r#"{"error":"invalid command"}"#,
            r#"{"score":1,"required_score":2}"#,
            r#"{"score":null,"required_score":2,"action":"reject"}"#,
            r#"{"score":nan,"required_score":2,"action":"reject"}"#,
            r#"{"score":1e999,"required_score":2,"action":"reject"}"#,
            r#"{"score":1,"required_score":-1e999,"action":"reject"}"#,
            r#"{"score":"1","required_score":2,"action":"reject"}"#,
            r#"{"score":1,"required_score":2,"action":"reject","symbols":{"A":{"score":1e999}}}"#,
            r#"{"score":1,"required_score":2,"action":"reject"} more"#,
        ] {
            assert!(
                matches!(Verdict::read(body.as_bytes()), Err(Failure::Nonsense)),
                "{body}"
            );
        }
        for body in [
            r#"{"score":1,"required_score":null,"action":"no action"}"#,
            r#"{"score":1,"action":"no action"}"#,
        ] {
            let error = Verdict::read(body.as_bytes()).unwrap_err();
            assert!(matches!(error, Failure::NoRequiredScore), "{body}");
        }
        let action = |length| format!(r#"{{"score":1,"required_score":2,"action":"{}"}}"#, "a".repeat(length));
        assert!(Verdict::read(action(ACTION_BYTES).as_bytes()).is_ok());
        let long = Verdict::read(action(ACTION_BYTES + 1).as_bytes());
        assert!(matches!(long, Err(Failure::Nonsense)));
        let deep = "[".repeat(100_000);
        assert!(matches!(Verdict::read(deep.as_bytes()), Err(Failure::Nonsense)));
    }

    #[test]
    fn odd_symbols_are_kept() {
        let mut body =
            br#"{"score":1,"required_score":2,"action":"x","symbols":{"A":{"score":null,"options":[""#.to_vec();
        body.extend_from_slice(b"caf\xe9\"]}}}");
        let symbol = Verdict::read(&body).unwrap().symbols.remove(0);
        assert!(symbol.score.abs() < f64::EPSILON);
        assert_eq!(symbol.options.unwrap(), ["caf\u{fffd}"]);
    }

    #[test]
    fn what_is_kept_has_a_bound_and_the_highest_scores_stay() {
        let symbol = |number: usize| {
            let option = "o".repeat(1000);
            format!(r#""S{number:03}":{{"score":{number},"options":["{option}"]}}"#)
        };
        let huge = format!(r#","HUGE":{{"score":999,"options":["{}"]}}"#, "o".repeat(KEPT_BYTES));
        let symbols = (0..200).map(symbol).collect::<Vec<_>>().join(",") + &huge;
        let body = format!(r#"{{"score":1,"required_score":2,"action":"x","symbols":{{{symbols}}}}}"#);
        let verdict = Verdict::read(body.as_bytes()).unwrap();
        assert_eq!(verdict.symbols[0].name, "S199");
        assert_eq!(verdict.symbols.len(), KEPT_BYTES / (64 + 4 + 1004));
    }
}
