//! What the checks of an email found, and which of them passed.
//!
//! A test asserts on one check, or on all of them at once:
//!
//! ```
//! use restante_client::Email;
//! use restante_client::auth::{SpfVerdict, Verdict};
//!
//! fn is_sent_by_the_shop(email: &Email) {
//!     let results = email.auth_results();
//!     assert_eq!(results.spf.result, SpfVerdict::Pass);
//!     assert_eq!(results.dkim[0].result, Verdict::Pass);
//!     assert_eq!(results.dmarc.domain.as_deref(), Some("shop.test"));
//!
//!     let summary = email.auth_summary();
//!     assert!(summary.passed, "{:?}", summary.failures);
//! }
//! ```
//!
//! Source: interface, `AuthResults`, client-side validation summary.

use std::fmt::Write as _;

use serde::Serialize;

pub use restante_model::AuthResults;
pub use restante_model::auth::{
    DkimResult, DmarcPolicy, DmarcResult, ReverseDnsResult, SpfResult, SpfVerdict, Verdict,
};

/// The summary of an email's authentication. A check that was skipped has not passed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "the fields of the interface")]
pub struct AuthSummary {
    /// SPF, at least one signature of DKIM, and DMARC passed; reverse DNS does not matter.
    pub passed: bool,
    /// SPF passed.
    pub spf_passed: bool,
    /// At least one signature passed.
    pub dkim_passed: bool,
    /// DMARC passed.
    pub dmarc_passed: bool,
    /// Reverse DNS passed.
    pub reverse_dns_passed: bool,
    /// One line for each check that did not pass, reverse DNS too: its result, what was checked, and why.
    ///
    /// Names and reasons in it come from the mail and from DNS.
    pub failures: Vec<String>,
}

impl AuthSummary {
    /// The summary of these results.
    pub fn of(results: &AuthResults) -> Self {
        let spf_passed = results.spf.result == SpfVerdict::Pass;
        let dkim_passed = results.dkim.iter().any(|entry| entry.result == Verdict::Pass);
        let dmarc_passed = results.dmarc.result == Verdict::Pass;
        let reverse_dns_passed = results.reverse_dns.result == Verdict::Pass;
        let checks = [
            (spf_passed, spf(&results.spf)),
            (dkim_passed, dkim(&results.dkim)),
            (dmarc_passed, dmarc(&results.dmarc)),
            (reverse_dns_passed, reverse_dns(&results.reverse_dns)),
        ];
        let failed = checks.into_iter().filter(|(passed, _)| !passed);
        Self {
            passed: spf_passed && dkim_passed && dmarc_passed,
            spf_passed,
            dkim_passed,
            dmarc_passed,
            reverse_dns_passed,
            failures: failed.map(|(_, text)| text).collect(),
        }
    }
}

fn spf(result: &SpfResult) -> String {
    let facts = [("domain", &result.domain), ("address", &result.ip)];
    format!(
        "SPF: {}",
        line(result.result.as_str(), &facts, result.details.as_deref())
    )
}

/// All signatures, since none of them passed.
fn dkim(entries: &[DkimResult]) -> String {
    let entry = |entry: &DkimResult| {
        let facts = [("domain", &entry.domain), ("selector", &entry.selector)];
        line(entry.result.as_str(), &facts, entry.details.as_deref())
    };
    let entries: Vec<_> = entries.iter().map(entry).collect();
    let entries = if entries.is_empty() {
        "none".to_owned()
    } else {
        entries.join("; ")
    };
    format!("DKIM: {entries}")
}

fn dmarc(result: &DmarcResult) -> String {
    let aligned = result
        .aligned
        .map(|aligned| if aligned { "yes" } else { "no" }.to_owned());
    let facts = [("domain", &result.domain), ("aligned", &aligned)];
    format!(
        "DMARC: {}",
        line(result.result.as_str(), &facts, result.details.as_deref())
    )
}

fn reverse_dns(result: &ReverseDnsResult) -> String {
    let facts = [("address", &result.ip), ("name", &result.hostname)];
    let line = line(result.result.as_str(), &facts, result.details.as_deref());
    format!("reverse DNS: {line}")
}

/// For example `fail (domain shop.test, address 192.0.2.1): no mechanism matched`.
fn line(result: &str, facts: &[(&str, &Option<String>)], details: Option<&str>) -> String {
    let known = facts.iter().filter_map(|(name, value)| {
        let value = value.as_deref().filter(|value| !value.is_empty())?;
        Some(format!("{name} {value}"))
    });
    let known: Vec<_> = known.collect();
    let mut line = result.to_owned();
    if !known.is_empty() {
        let _ = write!(line, " ({})", known.join(", "));
    }
    if let Some(details) = details.filter(|details| !details.is_empty()) {
        let _ = write!(line, ": {details}");
    }
    line
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn summary(spf: &str, dkim: &[&str], dmarc: &str, reverse_dns: &str) -> AuthSummary {
        let result = |result: &&str| json!({ "result": result });
        let results = json!({
            "spf": result(&spf),
            "dkim": dkim.iter().map(result).collect::<Vec<_>>(),
            "dmarc": result(&dmarc),
            "reverseDns": result(&reverse_dns),
        });
        of(results)
    }

    fn of(results: Value) -> AuthSummary {
        AuthSummary::of(&serde_json::from_value(results).unwrap())
    }

    #[test]
    fn overall_pass_takes_spf_one_signature_and_dmarc() {
        let table: [(_, &[_], _, _, _); 12] = [
            ("pass", &["pass"], "pass", "pass", true),
            ("pass", &["fail", "pass"], "pass", "fail", true),
            ("pass", &["pass", "none"], "pass", "none", true),
            ("pass", &["pass"], "pass", "skipped", true),
            ("pass", &["fail", "fail"], "pass", "pass", false),
            ("pass", &[], "pass", "pass", false),
            ("pass", &["skipped"], "pass", "pass", false),
            ("skipped", &["pass"], "pass", "pass", false),
            ("softfail", &["pass"], "pass", "pass", false),
            ("pass", &["pass"], "fail", "pass", false),
            ("pass", &["pass"], "skipped", "pass", false),
            ("skipped", &["skipped"], "skipped", "skipped", false),
        ];
        for (spf, dkim, dmarc, reverse_dns, passed) in table {
            let summary = summary(spf, dkim, dmarc, reverse_dns);
            let given = format!("{spf} {dkim:?} {dmarc} {reverse_dns}");
            assert_eq!(summary.passed, passed, "{given}");
            assert_eq!(summary.spf_passed, spf == "pass", "{given}");
            assert_eq!(summary.dkim_passed, dkim.contains(&"pass"), "{given}");
            assert_eq!(summary.dmarc_passed, dmarc == "pass", "{given}");
            assert_eq!(summary.reverse_dns_passed, reverse_dns == "pass", "{given}");
        }
    }

    #[test]
    fn each_word_of_the_interface_is_shown_and_only_pass_passes() {
        for spf in [
            "fail",
            "softfail",
            "neutral",
            "none",
            "temperror",
            "permerror",
            "skipped",
        ] {
            let summary = summary(spf, &["pass"], "pass", "pass");
            assert_eq!(summary.failures, [format!("SPF: {spf}")]);
        }
        for other in ["fail", "none", "skipped"] {
            let summary = summary("pass", &[other], other, other);
            let lines = ["DKIM", "DMARC", "reverse DNS"].map(|check| format!("{check}: {other}"));
            assert_eq!(summary.failures, lines);
        }
        assert!(summary("pass", &["pass"], "pass", "pass").failures.is_empty());
    }

    #[test]
    fn a_failure_names_what_was_checked_and_why() {
        let summary = of(json!({
            "spf": { "result": "fail", "domain": "shop.test", "ip": "192.0.2.1", "details": "no mechanism matched" },
            "dkim": [
                { "result": "fail", "domain": "shop.test", "selector": "s1", "details": "the body changed" },
                { "result": "none", "domain": "", "selector": "" },
            ],
            "dmarc": { "result": "fail", "policy": "reject", "aligned": false, "domain": "shop.test" },
            "reverseDns": { "result": "fail", "ip": "192.0.2.1" },
        }));
        let expected = [
            "SPF: fail (domain shop.test, address 192.0.2.1): no mechanism matched",
            "DKIM: fail (domain shop.test, selector s1): the body changed; none",
            "DMARC: fail (domain shop.test, aligned no)",
            "reverse DNS: fail (address 192.0.2.1)",
        ];
        assert_eq!(summary.failures, expected);
    }

    #[test]
    fn it_is_serialised_with_the_names_of_the_interface() {
        let summary = serde_json::to_value(summary("pass", &["pass"], "pass", "none")).unwrap();
        let expected = json!({
            "passed": true, "spfPassed": true, "dkimPassed": true, "dmarcPassed": true, "reverseDnsPassed": false,
            "failures": ["reverse DNS: none"],
        });
        assert_eq!(summary, expected);
    }
}
