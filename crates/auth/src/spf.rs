//! SPF (RFC 7208): may this client send for the domain of the reverse-path?
//!
//! Modules, in reading order: `evaluation` (`check_host()`), `record` and `terms` (what a record says), `network`,
//! `macros`, and below them `lookups`, `target`, `budget`, `error`.

mod budget;
mod error;
mod evaluation;
mod lookups;
mod macros;
mod network;
mod record;
mod target;
mod terms;

use std::net::IpAddr;

use restante_model::SessionFacts;
use restante_model::auth::{SpfResult, SpfVerdict};

use crate::dns::Dns;
use crate::name::DomainName;
use crate::shown::{shown, shown_bytes};
use evaluation::Evaluation;
use macros::Envelope;
use target::Target;

/// The local part of a sender without one (RFC 7208 section 4.3).
const NO_LOCAL_PART: &str = "postmaster";

/// Whose policy is asked.
#[derive(Debug)]
pub(crate) struct Identity {
    /// As the session gave it, fit to be shown.
    claimed: String,
    /// The domain, if it can have a policy.
    domain: Option<DomainName>,
    envelope: Envelope,
}

impl Identity {
    /// The domain of the reverse-path; of the HELO name if the path is null or has no domain (RFC 7208 section 2.4).
    pub(crate) fn of(facts: &SessionFacts, ip: IpAddr) -> Self {
        let from = facts.reverse_path.rsplit_once('@');
        let (local_part, claimed) = from.unwrap_or(("", &facts.helo));
        let domain = DomainName::parse(claimed).filter(DomainName::has_dot);
        let envelope = Envelope {
            ip,
            local_part: if local_part.is_empty() {
                NO_LOCAL_PART
            } else {
                local_part
            }
            .to_owned(),
            domain: domain.as_ref().map(ToString::to_string).unwrap_or_default(),
            helo: facts.helo.clone(),
            received_at: facts.received_at,
        };
        Self {
            claimed: shown(claimed),
            domain,
            envelope,
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
            ip: Some(self.envelope.ip.to_string()),
            details: Some(details),
        }
    }
}

/// The result for an identity.
pub(crate) async fn check(dns: &Dns, identity: &Identity) -> SpfResult {
    let domain = identity.domain.as_ref();
    let Some(domain) = domain.and_then(|domain| Target::parse(domain.as_str())) else {
        let details = format!("{} is not a domain name that can have an SPF record", identity.claimed);
        return identity.result(SpfVerdict::None, details);
    };
    let (policy, record) = match evaluation::policy(dns, domain).await {
        Ok(found) => found,
        Err(error) => return identity.result(error.verdict(), error.to_string()),
    };
    let record = shown_bytes(&record);
    let mut evaluation = Evaluation::new(dns, &identity.envelope);
    match evaluation.check_host(policy).await {
        Ok(outcome) => {
            let mut details = format!("{}: {record}", explain(outcome.verdict, identity));
            if let Some(words) = evaluation.explanation(&outcome).await {
                details.push_str("; the domain says: ");
                details.push_str(&shown(&words));
            }
            identity.result(outcome.verdict, details)
        }
        Err(error) => {
            let details = format!("{error}; {} publishes {record}", identity.claimed);
            identity.result(error.verdict(), details)
        }
    }
}

fn explain(verdict: SpfVerdict, identity: &Identity) -> String {
    let (ip, domain) = (identity.envelope.ip, &identity.claimed);
    match verdict {
        SpfVerdict::Pass => format!("{ip} is allowed to send for {domain}"),
        SpfVerdict::Fail => format!("{ip} is not allowed to send for {domain}"),
        SpfVerdict::Softfail => format!("{ip} is probably not allowed to send for {domain}"),
        _ => format!("{domain} does not say whether {ip} may send for it"),
    }
}
