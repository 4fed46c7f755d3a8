//! Results of email authentication for people.

use restante_client::{AuthResults, AuthSummary};
use serde::Serialize;

use crate::output::table::{RowStyle, Table};
use crate::output::{clean, style};

/// One line a check.
pub(crate) fn auth(results: &AuthResults) -> Table {
    let mut table = Table::new(["CHECK", "RESULT", "OF", "WHY"]);
    let spf = &results.spf;
    row(
        &mut table,
        "SPF",
        &spf.result,
        &[&spf.domain, &spf.ip],
        spf.details.as_ref(),
    );
    for dkim in &results.dkim {
        let of = [&dkim.domain, &dkim.selector];
        row(&mut table, "DKIM", &dkim.result, &of, dkim.details.as_ref());
    }
    let dmarc = &results.dmarc;
    let policy = dmarc.policy.map(|policy| format!("policy {}", word(&policy)));
    let aligned = dmarc
        .aligned
        .map(|aligned| if aligned { "aligned" } else { "not aligned" }.to_owned());
    row(
        &mut table,
        "DMARC",
        &dmarc.result,
        &[&dmarc.domain, &policy, &aligned],
        dmarc.details.as_ref(),
    );
    let reverse = &results.reverse_dns;
    let of = [&reverse.ip, &reverse.hostname];
    row(
        &mut table,
        "Reverse DNS",
        &reverse.result,
        &of,
        reverse.details.as_ref(),
    );
    table
}

/// Whether the email passed as a whole, and what did not.
pub(crate) fn verdict(summary: &AuthSummary) -> String {
    if summary.passed {
        return style::good("passed");
    }
    let failures = summary.failures.iter().map(|failure| clean::line(failure));
    let lines = std::iter::once(style::bad("not passed")).chain(failures);
    lines.collect::<Vec<_>>().join("\n")
}

fn row(table: &mut Table, check: &str, result: &impl Serialize, of: &[&Option<String>], why: Option<&String>) {
    let of: Vec<&str> = of
        .iter()
        .filter_map(|value| value.as_deref())
        .filter(|value| !value.is_empty())
        .collect();
    let cells = [
        check.to_owned(),
        word(result),
        of.join(", "),
        why.cloned().unwrap_or_default(),
    ];
    table.row(RowStyle::Normal, cells);
}

/// The word of the interface.
fn word(value: &impl Serialize) -> String {
    let value = serde_json::to_value(value);
    value
        .ok()
        .as_ref()
        .and_then(serde_json::Value::as_str)
        .unwrap_or("?")
        .to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn results() -> AuthResults {
        serde_json::from_value(json!({
            "spf": { "result": "softfail", "domain": "shop.test", "ip": "192.0.2.1" },
            "dkim": [
                { "result": "pass", "domain": "shop.test", "selector": "s1", "signature": "abc" },
                { "result": "none", "domain": "", "selector": "", "signature": "" },
            ],
            "dmarc": { "result": "fail", "policy": "reject", "aligned": false, "domain": "shop.test" },
            "reverseDns": { "result": "none", "ip": "192.0.2.1", "details": "timeout" },
        }))
        .unwrap()
    }

    #[test]
    fn every_check_has_a_line() {
        let shown = auth(&results()).render(None);
        let words: Vec<Vec<&str>> = shown
            .lines()
            .skip(1)
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(
            words,
            [
                vec!["SPF", "softfail", "shop.test,", "192.0.2.1"],
                vec!["DKIM", "pass", "shop.test,", "s1"],
                vec!["DKIM", "none"],
                vec!["DMARC", "fail", "shop.test,", "policy", "reject,", "not", "aligned"],
                vec!["Reverse", "DNS", "none", "192.0.2.1", "timeout"],
            ]
        );
    }

    #[test]
    fn the_verdict_names_what_failed() {
        let mut summary = AuthSummary::of(&results());
        summary.failures = vec!["first".into(), "sec\u{1b}ond".into()];
        assert_eq!(
            verdict(&summary).lines().skip(1).collect::<Vec<_>>(),
            ["first", "sec ond"]
        );
        summary.passed = true;
        assert!(verdict(&summary).contains("passed") && !verdict(&summary).contains("first"));
    }
}
