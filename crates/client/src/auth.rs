//! Which checks of an email passed (interface, `AuthResults`, client-side validation summary).

use restante_model::AuthResults;
use restante_model::auth::{SpfVerdict, Verdict};
use serde::Serialize;

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
    /// One sentence for each check that did not pass, reverse DNS too.
    pub failures: Vec<String>,
}

impl AuthSummary {
    /// The summary of these results.
    pub fn of(results: &AuthResults) -> Self {
        let spf_passed = results.spf.result == SpfVerdict::Pass;
        let dkim_passed = results.dkim.iter().any(|entry| entry.result == Verdict::Pass);
        let dmarc_passed = results.dmarc.result == Verdict::Pass;
        Self {
            passed: spf_passed && dkim_passed && dmarc_passed,
            spf_passed,
            dkim_passed,
            dmarc_passed,
            reverse_dns_passed: results.reverse_dns.result == Verdict::Pass,
            failures: Vec::new(),
        }
    }
}
