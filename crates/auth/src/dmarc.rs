//! DMARC (RFC 9989): does what passed speak for the author's domain, and what does that domain ask for?

mod record;
mod tree;

use restante_model::auth::{DkimResult, DmarcPolicy, DmarcResult, SpfVerdict, Verdict};

use crate::author::NoAuthor;
use crate::dns::{Dns, DnsFailure};
use crate::name::DomainName;
use crate::shown::shown;
use record::{Mode, Record, Subject};
use tree::Walk;

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
    let walk = Walk::from(dns, author).await;
    let found = walk.policy(author);
    let mut alignment = Alignment::new(author, &walk, found.map(|(_, record)| *record));
    let standing = alignment.of(dns, evidence).await;
    let result = |result, policy, details| DmarcResult {
        result,
        policy: Some(policy),
        aligned: Some(standing.has_passed()),
        domain: Some(author.to_string()),
        details: Some(details),
    };
    let Some((place, record)) = found else {
        let nothing = || format!("no DMARC record found for {author} or a domain above it");
        let details = walk.trouble.clone().unwrap_or_else(nothing);
        return result(Verdict::None, DmarcPolicy::None, details);
    };
    let Some(policy) = record.policy_for(subject(dns, author, place).await) else {
        let details = format!("the DMARC record of {place} is malformed: p= is missing or unknown");
        return result(Verdict::None, DmarcPolicy::None, details);
    };
    if standing.has_passed() {
        result(Verdict::Pass, policy, passed(author, &standing, evidence))
    } else if standing.may_pass {
        let details = format!(
            "the DNS did not answer, or not in time, what SPF or DKIM of {author} needs, or a signature was not verified"
        );
        result(Verdict::None, policy, details)
    } else {
        result(Verdict::Fail, policy, failed(author, *record, evidence))
    }
}

/// Whom the record at `place` is asked for (RFC 9989 section 4.7, `np`).
async fn subject(dns: &Dns, author: &DomainName, place: &str) -> Subject {
    if author.as_str() == place {
        return Subject::Itself;
    }
    match dns.txt(&author.absolute()).await {
        Err(DnsFailure::NoName) => Subject::Missing,
        _ => Subject::Subdomain,
    }
}

/// What speaks for the author (RFC 9989 section 5.3.6).
#[derive(Debug, Default)]
struct Standing {
    /// SPF passed and is aligned.
    spf: bool,
    /// A signature passed and is aligned.
    dkim: bool,
    /// Something aligned may pass another time.
    may_pass: bool,
}

impl Standing {
    fn has_passed(&self) -> bool {
        self.spf || self.dkim
    }
}

/// The comparison of domains with that of the author (RFC 9989 section 3.2.10).
struct Alignment<'a> {
    author: &'a DomainName,
    organisation: &'a str,
    spf: Mode,
    dkim: Mode,
}

impl<'a> Alignment<'a> {
    /// As the record wants it, and relaxed without one.
    fn new(author: &'a DomainName, walk: &'a Walk, record: Option<Record>) -> Self {
        Self {
            author,
            organisation: walk.organisation(author),
            spf: record.map_or(Mode::Relaxed, |record| record.spf),
            dkim: record.map_or(Mode::Relaxed, |record| record.dkim),
        }
    }

    async fn of(&mut self, dns: &Dns, evidence: &Evidence<'_>) -> Standing {
        let mut standing = Standing::default();
        if let Some(domain) = evidence.spf_domain {
            match evidence.spf {
                SpfVerdict::Pass => standing.spf = self.holds(dns, domain, self.spf).await,
                SpfVerdict::Temperror => standing.may_pass = self.holds(dns, domain, self.spf).await,
                _ => {}
            }
        }
        for signature in evidence.dkim {
            let Some(domain) = signature.domain.as_deref().and_then(DomainName::parse) else {
                continue;
            };
            match signature.result {
                Verdict::Pass if !standing.dkim => standing.dkim = self.holds(dns, &domain, self.dkim).await,
                Verdict::None if !standing.may_pass => standing.may_pass = self.holds(dns, &domain, self.dkim).await,
                _ => {}
            }
        }
        standing
    }

    async fn holds(&self, dns: &Dns, domain: &DomainName, mode: Mode) -> bool {
        if domain == self.author {
            return true;
        }
        // Only names below it can have the organisation of the author.
        let is_near = DomainName::parse(self.organisation).is_some_and(|above| domain.is_within(&above));
        mode == Mode::Relaxed && is_near && Walk::from(dns, domain).await.organisation(domain) == self.organisation
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

fn passed(author: &DomainName, standing: &Standing, evidence: &Evidence<'_>) -> String {
    let mut by = Vec::new();
    if standing.spf {
        by.extend(evidence.spf_domain.map(|domain| format!("SPF for {domain}")));
    }
    if standing.dkim {
        by.push("DKIM".to_owned());
    }
    let are = if by.len() > 1 { "are" } else { "is" };
    format!("{} passed and {are} aligned with {author}", by.join(" and "))
}

fn failed(author: &DomainName, record: Record, evidence: &Evidence<'_>) -> String {
    format!(
        "{}; {}",
        spf_failed(author, record, evidence),
        dkim_failed(author, record, evidence.dkim)
    )
}

fn spf_failed(author: &DomainName, record: Record, evidence: &Evidence<'_>) -> String {
    match (evidence.spf, evidence.spf_domain) {
        (SpfVerdict::Pass, Some(domain)) => {
            let mode = mode(record.spf);
            format!("SPF passed for {domain}, which is not aligned ({mode}) with {author}")
        }
        (SpfVerdict::Skipped, _) => "SPF was not checked".to_owned(),
        _ => "SPF did not pass".to_owned(),
    }
}

fn dkim_failed(author: &DomainName, record: Record, dkim: &[DkimResult]) -> String {
    let passed: Vec<&str> = dkim
        .iter()
        .filter(|result| result.result == Verdict::Pass)
        .filter_map(|result| result.domain.as_deref())
        .collect();
    if !passed.is_empty() {
        let mode = mode(record.dkim);
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

fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Strict => "strict",
        Mode::Relaxed => "relaxed",
    }
}
