//! DMARC (RFC 9989): does what passed speak for the author's domain, and what does that domain ask for?

use mail_auth::dkim::Signature;
use mail_auth::dmarc::verify::DmarcParameters;
use mail_auth::dmarc::{Alignment, Dmarc, Policy};
use mail_auth::{
    AuthenticatedMessage, DkimOutput, DmarcOutput, DmarcResult as Outcome, DnsError, Error, SpfOutput, SpfResult,
};
use restante_model::auth::{DkimResult, DmarcPolicy, DmarcResult, SpfVerdict, Verdict};

use crate::author::NoAuthor;
use crate::dns::Dns;
use crate::name::DomainName;
use crate::shown::shown;

/// What the other checks found.
pub(crate) struct Evidence<'a> {
    /// The verdict of SPF.
    pub(crate) spf: SpfVerdict,
    /// The domain that SPF asked about.
    pub(crate) spf_domain: Option<&'a DomainName>,
    /// All signatures.
    pub(crate) dkim: &'a [DkimResult],
}

/// The result for the domain of an author.
pub(crate) async fn check(dns: &Dns, author: &Result<DomainName, NoAuthor>, evidence: &Evidence<'_>) -> DmarcResult {
    let author = match author {
        Ok(author) => author,
        Err(none) => return none_for("", none.to_string()),
    };
    if let Err(details) = first_record(dns, author).await {
        return none_for(author.as_str(), details);
    }
    let output = evaluate(dns, author, evidence).await;
    let policy = policy(output.policy());
    let result = |result, details| DmarcResult {
        result,
        policy: Some(policy),
        aligned: Some(result == Verdict::Pass),
        domain: Some(author.to_string()),
        details: Some(details),
    };
    match output.result() {
        Outcome::Pass => result(Verdict::Pass, passed(author, &output, evidence)),
        Outcome::Fail(_) => result(Verdict::Fail, failed(author, &output, evidence)),
        Outcome::TempError(error) | Outcome::PermError(error) => result(Verdict::None, trouble(author, &error)),
        Outcome::None => result(
            Verdict::None,
            format!("no DMARC record found for {author} or a domain above it"),
        ),
    }
}

/// The result when there is none.
pub(crate) fn late(author: &Result<DomainName, NoAuthor>, why: &str) -> DmarcResult {
    match author {
        Ok(author) => none_for(author.as_str(), why.to_owned()),
        Err(none) => none_for("", none.to_string()),
    }
}

fn none_for(domain: &str, details: String) -> DmarcResult {
    DmarcResult {
        result: Verdict::None,
        policy: Some(DmarcPolicy::None),
        aligned: Some(false),
        domain: Some(domain.to_owned()),
        details: Some(details),
    }
}

/// Asks for the author's own record, so that trouble with it is told apart, and several records are not taken for one.
async fn first_record(dns: &Dns, author: &DomainName) -> Result<(), String> {
    match dns.txt(&format!("_dmarc.{author}.")).await {
        Ok(records) if records.iter().filter(|record| is_dmarc(record)).count() > 1 => {
            Err(format!("{author} has several DMARC records, and only one is allowed"))
        }
        Err(failure) if failure.is_temporary() => Err(format!("looking up the DMARC record of {author}: {failure}")),
        _ => Ok(()),
    }
}

fn is_dmarc(record: &[u8]) -> bool {
    let version = record.split(|&byte| byte == b';').next().unwrap_or_default();
    let mut sides = version.splitn(2, |&byte| byte == b'=').map(<[u8]>::trim_ascii);
    sides.next() == Some(b"v") && sides.next() == Some(b"DMARC1")
}

/// Lets mail-auth walk the tree and compare domains.
async fn evaluate(dns: &Dns, author: &DomainName, evidence: &Evidence<'_>) -> DmarcOutput {
    let message = AuthenticatedMessage {
        from: vec![format!("author@{author}")],
        ..Default::default()
    };
    let signatures: Vec<Signature> = evidence.dkim.iter().map(signature).collect();
    let dkim: Vec<DkimOutput<'_>> = evidence.dkim.iter().zip(&signatures).filter_map(dkim_output).collect();
    let spf_domain = evidence.spf_domain.map_or("", DomainName::as_str);
    let spf = SpfOutput::new(spf_domain.to_owned()).with_result(spf_outcome(evidence.spf));
    let parameters = DmarcParameters {
        message: &message,
        dkim_output: &dkim,
        dkim2_output: None,
        rfc5321_mail_from_domain: spf_domain,
        spf_output: &spf,
    };
    dns.authenticator().verify_dmarc(parameters).await
}

fn signature(result: &DkimResult) -> Signature {
    Signature {
        d: result.domain.clone().unwrap_or_default(),
        ..Default::default()
    }
}

/// Only what passed, or may still pass, counts (RFC 9989 section 5.3.6).
fn dkim_output<'a>((result, signature): (&DkimResult, &'a Signature)) -> Option<DkimOutput<'a>> {
    let output = match result.result {
        Verdict::Pass => DkimOutput::pass(),
        Verdict::None if !signature.d.is_empty() => DkimOutput::temp_err(undecided()),
        Verdict::None | Verdict::Fail | Verdict::Skipped => return None,
    };
    Some(output.with_signature(signature))
}

fn spf_outcome(verdict: SpfVerdict) -> SpfResult {
    match verdict {
        SpfVerdict::Pass => SpfResult::Pass,
        SpfVerdict::Temperror => SpfResult::TempError,
        // No other verdict can pass DMARC, so none needs its own name here.
        _ => SpfResult::None,
    }
}

fn undecided() -> Error {
    Error::Dns(DnsError::Resolver(
        "the check of an aligned domain was not finished".to_owned(),
    ))
}

fn policy(policy: Policy) -> DmarcPolicy {
    match policy {
        Policy::None | Policy::Unspecified => DmarcPolicy::None,
        Policy::Quarantine => DmarcPolicy::Quarantine,
        Policy::Reject => DmarcPolicy::Reject,
    }
}

fn passed(author: &DomainName, output: &DmarcOutput, evidence: &Evidence<'_>) -> String {
    let mut by = Vec::new();
    if output.spf_result() == &Outcome::Pass {
        by.extend(evidence.spf_domain.map(|domain| format!("SPF for {domain}")));
    }
    if output.dkim_result() == &Outcome::Pass {
        by.push("DKIM".to_owned());
    }
    format!("{} passed and is aligned with {author}", by.join(" and "))
}

fn failed(author: &DomainName, output: &DmarcOutput, evidence: &Evidence<'_>) -> String {
    let record = output.dmarc_record();
    format!(
        "{}; {}",
        spf_failed(author, record, evidence),
        dkim_failed(author, record, evidence.dkim)
    )
}

fn spf_failed(author: &DomainName, record: Option<&Dmarc>, evidence: &Evidence<'_>) -> String {
    match (evidence.spf, evidence.spf_domain) {
        (SpfVerdict::Pass, Some(domain)) => {
            let mode = mode(record.map(|record| record.aspf));
            format!("SPF passed for {domain}, which is not aligned ({mode}) with {author}")
        }
        (SpfVerdict::Skipped, _) => "SPF was not checked".to_owned(),
        _ => "SPF did not pass".to_owned(),
    }
}

fn dkim_failed(author: &DomainName, record: Option<&Dmarc>, dkim: &[DkimResult]) -> String {
    let passed: Vec<&str> = dkim
        .iter()
        .filter(|result| result.result == Verdict::Pass)
        .filter_map(|result| result.domain.as_deref())
        .collect();
    if !passed.is_empty() {
        let mode = mode(record.map(|record| record.adkim));
        return format!(
            "DKIM passed for {}, which is not aligned ({mode}) with {author}",
            shown(&passed.join(", "))
        );
    }
    if dkim.iter().all(|result| result.result == Verdict::Skipped) {
        "DKIM was not checked".to_owned()
    } else {
        "no DKIM signature passed".to_owned()
    }
}

fn mode(alignment: Option<Alignment>) -> &'static str {
    match alignment {
        Some(Alignment::Strict) => "strict",
        Some(Alignment::Relaxed) | None => "relaxed",
    }
}

fn trouble(author: &DomainName, error: &Error) -> String {
    match error {
        Error::Dns(DnsError::Resolver(_)) => {
            format!("the DNS did not answer, or not in time, what SPF, DKIM or DMARC of {author} needs")
        }
        _ => format!("the DMARC record of {author} or of a domain above it is malformed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_version_makes_a_dmarc_record() {
        for record in [&b"v=DMARC1; p=none"[..], b"v = DMARC1 ; p=none", b"v=DMARC1"] {
            assert!(is_dmarc(record));
        }
        for record in [&b"v=DMARC2; p=none"[..], b"p=none; v=DMARC1", b"v=spf1 -all", b""] {
            assert!(!is_dmarc(record));
        }
    }
}
