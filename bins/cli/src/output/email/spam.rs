//! What a spam filter said, for people.

use restante_client::{SpamAnalysis, SpamScore};

use crate::output::{clean, style};

/// The names of findings that a line shows.
const SHOWN_SYMBOLS: usize = 5;

/// For example `yes, 15.2 of 15 (GTUBE)`; nothing where no filter was asked.
pub(super) fn spam(analysis: &SpamAnalysis) -> Option<String> {
    match analysis {
        SpamAnalysis::Skipped { .. } => None,
        SpamAnalysis::Analyzed(score) => Some(verdict(score)),
        SpamAnalysis::Error { info, .. } => {
            let text = format!("unknown: {}", clean::line(info));
            Some(style::warning(text))
        }
    }
}

fn verdict(score: &SpamScore) -> String {
    let word = if score.is_spam {
        style::bad("yes")
    } else {
        style::good("no")
    };
    let text = format!("{word}, {} of {}", score.score, score.required_score);
    let names = heaviest(score);
    if names.is_empty() {
        text
    } else {
        format!("{text} ({})", clean::line(&names.join(", ")))
    }
}

/// What weighs most, first.
fn heaviest(score: &SpamScore) -> Vec<&str> {
    let mut symbols: Vec<_> = score.symbols.iter().filter(|symbol| symbol.score != 0.0).collect();
    symbols.sort_by(|one, other| other.score.abs().total_cmp(&one.score.abs()));
    let names = symbols.iter().take(SHOWN_SYMBOLS);
    names.map(|symbol| symbol.name.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(analysis: serde_json::Value) -> Option<String> {
        let analysis: SpamAnalysis = serde_json::from_value(analysis).unwrap();
        spam(&analysis).map(|line| anstream::adapter::strip_str(&line).to_string())
    }

    fn analysed(score: f64, symbols: &[(&str, f64)]) -> serde_json::Value {
        let symbols: Vec<_> = symbols
            .iter()
            .map(|(name, score)| json!({ "name": name, "score": score }))
            .collect();
        json!({
            "status": "analyzed", "score": score, "requiredScore": 15.0, "action": "no action",
            "isSpam": score >= 15.0, "symbols": symbols, "processingTimeMs": 3,
        })
    }

    #[test]
    fn a_line_has_the_verdict_and_what_weighs_most() {
        for (analysis, expected) in [
            (json!({ "status": "skipped", "info": "off" }), None),
            (
                json!({ "status": "error", "info": "away\u{1b}[2J", "processingTimeMs": 7 }),
                Some("unknown: away [2J"),
            ),
            (analysed(1.5, &[]), Some("no, 1.5 of 15")),
            (
                analysed(15.2, &[("NULL", 0.0), ("SMALL", 0.2), ("GOOD", -3.0), ("GTUBE", 18.0)]),
                Some("yes, 15.2 of 15 (GTUBE, GOOD, SMALL)"),
            ),
            (
                analysed(
                    6.0,
                    &[("A", 1.0), ("B", 1.0), ("C", 1.0), ("D", 1.0), ("E", 1.0), ("F", 1.0)],
                ),
                Some("no, 6 of 15 (A, B, C, D, E)"),
            ),
        ] {
            assert_eq!(shown(analysis).as_deref(), expected);
        }
    }
}
