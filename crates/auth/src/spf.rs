//! SPF (RFC 7208): may this client send for the domain of the reverse-path?

mod terms;

use std::net::IpAddr;

use mail_auth::common::parse::TxtRecordParser as _;
use mail_auth::spf::Spf;
use mail_auth::spf::verify::SpfParameters;
use mail_auth::{SpfOutput, SpfResult as Outcome};
use restante_model::SessionFacts;
use restante_model::auth::{SpfResult, SpfVerdict};

use crate::dns::{Dns, DnsFailure};
use crate::name::DomainName;
use crate::shown::{shown, shown_bytes};

/// What `%{r}` of an explanation stands for: this server has no name of its own (RFC 7208 section 7.3).
const RECEIVER: &str = "unknown";

/// Whose policy is asked.
#[derive(Debug)]
pub(crate) struct Identity {
    ip: IpAddr,
    /// As the session gave it, fit to be shown.
    claimed: String,
    /// The domain, if it can have a policy.
    domain: Option<DomainName>,
    /// `MAIL FROM` as the macros of a record want it; none if the HELO name is asked.
    sender: Option<String>,
    helo: String,
}

impl Identity {
    /// The domain of the reverse-path; of the HELO name if the path is null or has no domain (RFC 7208 section 2.4).
    pub(crate) fn of(facts: &SessionFacts, ip: IpAddr) -> Self {
        let helo = DomainName::parse(&facts.helo)
            .map(|name| name.to_string())
            .unwrap_or_default();
        let from = facts.reverse_path.rsplit_once('@');
        let (local, claimed) = from.map_or((None, facts.helo.as_str()), |(local, domain)| (Some(local), domain));
        let domain = DomainName::parse(claimed).filter(DomainName::has_dot);
        let sender = local
            .zip(domain.as_ref())
            .map(|(local, domain)| format!("{local}@{domain}"));
        Self {
            ip,
            claimed: shown(claimed),
            domain,
            sender,
            helo,
        }
    }

    /// The domain that a `pass` speaks for.
    pub(crate) fn domain(&self) -> Option<&DomainName> {
        self.domain.as_ref()
    }

    /// The result when time was up.
    pub(crate) fn late(&self, why: &str) -> SpfResult {
        self.result(SpfVerdict::Temperror, why.to_owned())
    }

    fn result(&self, result: SpfVerdict, details: String) -> SpfResult {
        SpfResult {
            result,
            domain: Some(self.claimed.clone()),
            ip: Some(self.ip.to_string()),
            details: Some(details),
        }
    }
}

/// The result for an identity.
///
/// The record is looked up here first, for two reasons: the details can show it, and mail-auth takes the first of
/// several records, where RFC 7208 section 4.5 wants `permerror`.
pub(crate) async fn check(dns: &Dns, identity: &Identity) -> SpfResult {
    let Some(domain) = &identity.domain else {
        let details = format!("{} is not a domain name that can have an SPF record", identity.claimed);
        return identity.result(SpfVerdict::None, details);
    };
    match record(dns, domain).await {
        Err((verdict, details)) => identity.result(verdict, details),
        Ok(record) => {
            let output = evaluate(dns, identity, domain).await;
            identity.result(
                verdict(output.result()),
                explain(&output, identity, &shown_bytes(&record)),
            )
        }
    }
}

/// The one SPF record of a domain.
async fn record(dns: &Dns, domain: &DomainName) -> Result<Vec<u8>, (SpfVerdict, String)> {
    let none = || (SpfVerdict::None, format!("no SPF record found for {domain}"));
    let mut records = match dns.txt(&domain.absolute()).await {
        Ok(records) => records,
        Err(failure) if failure.is_temporary() => {
            return Err((
                SpfVerdict::Temperror,
                format!("looking up the SPF record of {domain}: {failure}"),
            ));
        }
        Err(DnsFailure::NoName) => {
            return Err((
                SpfVerdict::None,
                format!("no SPF record found for {domain}: the domain does not exist"),
            ));
        }
        Err(_) => return Err(none()),
    };
    records.retain(|record| is_spf(record));
    let record = records.pop().ok_or_else(none)?;
    if !records.is_empty() {
        return Err((
            SpfVerdict::Permerror,
            format!("{domain} has several SPF records, and only one is allowed"),
        ));
    }
    if let Some(term) = terms::malformed(&record) {
        let details = format!("the SPF record of {domain} is malformed at {}", shown(term));
        return Err((SpfVerdict::Permerror, details));
    }
    if Spf::parse(&record).is_err() {
        let details = format!("the SPF record of {domain} is malformed: {}", shown_bytes(&record));
        return Err((SpfVerdict::Permerror, details));
    }
    Ok(record)
}

/// RFC 7208 section 4.5: the version, then a space or the end.
fn is_spf(record: &[u8]) -> bool {
    let version = record.split(|&byte| byte == b' ').next();
    version.is_some_and(|version| version.eq_ignore_ascii_case(b"v=spf1"))
}

async fn evaluate(dns: &Dns, identity: &Identity, domain: &DomainName) -> SpfOutput {
    let helo = identity.helo.as_str();
    let parameters = match &identity.sender {
        Some(sender) => SpfParameters::verify_mail_from(identity.ip, helo, RECEIVER, sender),
        None => SpfParameters::verify_ehlo(identity.ip, domain.as_str(), RECEIVER),
    };
    dns.authenticator().verify_spf(parameters).await
}

fn verdict(outcome: Outcome) -> SpfVerdict {
    match outcome {
        Outcome::Pass => SpfVerdict::Pass,
        Outcome::Fail => SpfVerdict::Fail,
        Outcome::SoftFail => SpfVerdict::Softfail,
        Outcome::Neutral => SpfVerdict::Neutral,
        Outcome::TempError => SpfVerdict::Temperror,
        Outcome::PermError => SpfVerdict::Permerror,
        Outcome::None => SpfVerdict::None,
    }
}

fn explain(output: &SpfOutput, identity: &Identity, record: &str) -> String {
    let (ip, domain) = (identity.ip, &identity.claimed);
    let verdict = match output.result() {
        Outcome::Pass => format!("{ip} is allowed to send for {domain}"),
        Outcome::Fail => format!("{ip} is not allowed to send for {domain}"),
        Outcome::SoftFail => format!("{ip} is probably not allowed to send for {domain}"),
        Outcome::Neutral => format!("{domain} does not say whether {ip} may send for it"),
        Outcome::TempError => format!("the DNS did not answer a question that the SPF record of {domain} asks"),
        Outcome::PermError => format!(
            "the SPF record of {domain} cannot be evaluated: it includes or redirects to a name without a valid SPF record, \
             or needs more than 10 lookups"
        ),
        Outcome::None => format!("no SPF record found for {domain}"),
    };
    match output.explanation() {
        Some(words) => format!("{verdict}: {record}; the domain says: {}", shown(words)),
        None => format!("{verdict}: {record}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_version_makes_an_spf_record() {
        for record in [&b"v=spf1"[..], b"v=spf1 -all", b"V=SPF1 -all"] {
            assert!(is_spf(record));
        }
        for record in [&b"v=spf10 -all"[..], b" v=spf1", b"spf2.0/pra", b""] {
            assert!(!is_spf(record));
        }
    }
}
