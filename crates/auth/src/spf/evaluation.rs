//! `check_host()` (RFC 7208 section 4): the first mechanism that matches decides.

use std::net::IpAddr;

use futures_util::future::join_all;
use mail_auth::hickory_resolver::proto::rr::{Name, RecordType};
use restante_model::auth::SpfVerdict;

use super::budget::{Budget, MOST_NAMES};
use super::error::SpfError;
use super::lookups;
use super::macros::{DomainSpec, Envelope, MacroString, Place, Values};
use super::network::Lengths;
use super::record::Record;
use super::target::Target;
use super::terms::Mechanism;
use crate::dns::{Dns, DnsFailure};
use crate::name::DomainName;
use crate::shown::shown;

/// A record and whose it is.
#[derive(Debug)]
pub(super) struct Policy {
    /// `<domain>` of `check_host()`.
    pub(super) domain: Target,
    /// Its record.
    pub(super) record: Record,
}

/// What a policy says of the client.
#[derive(Debug)]
pub(super) struct Outcome {
    /// The result.
    pub(super) verdict: SpfVerdict,
    /// The policy that said so: the first one, or where `redirect=` led.
    policy: Policy,
}

/// One client and one sender, with what may still be asked for them.
#[derive(Debug)]
pub(super) struct Evaluation<'a> {
    dns: &'a Dns,
    envelope: &'a Envelope,
    budget: Budget,
    /// Names of the client that point back, once they were asked for.
    validated: Option<Vec<DomainName>>,
}

impl<'a> Evaluation<'a> {
    /// Nothing asked so far.
    pub(super) fn new(dns: &'a Dns, envelope: &'a Envelope) -> Self {
        Self {
            dns,
            envelope,
            budget: Budget::full(),
            validated: None,
        }
    }

    /// Compares the client with one mechanism after the other.
    ///
    /// # Errors
    /// Everything but [`SpfError::NoRecord`] and [`SpfError::NoDomain`].
    pub(super) async fn check_host(&mut self, policy: Policy) -> Result<Outcome, SpfError> {
        for directive in &policy.record.directives {
            if self.matches(&directive.mechanism, &policy.domain).await? {
                let verdict = directive.verdict;
                return Ok(Outcome { verdict, policy });
            }
        }
        let Some(redirect) = &policy.record.redirect else {
            let verdict = SpfVerdict::Neutral;
            return Ok(Outcome { verdict, policy });
        };
        let policy = self.policy_of(redirect, &policy.domain, "redirects to").await?;
        Box::pin(self.check_host(policy)).await
    }

    /// The words of the domain about a `fail` (RFC 7208 section 6.2); none if anything is wrong with them.
    pub(super) async fn explanation(&mut self, outcome: &Outcome) -> Option<String> {
        let Policy { domain, record } = &outcome.policy;
        let spec = record.explanation.as_ref();
        let spec = spec.filter(|_| outcome.verdict == SpfVerdict::Fail)?;
        let target = self.expand(spec, domain).await?;
        let texts = lookups::texts(self.dns, target.name()).await.ok()?;
        let [text] = texts.as_slice() else { return None };
        let string = MacroString::parse(std::str::from_utf8(text).ok()?, Place::Explanation)?;
        let name = self.name_if(string.wants_name(), domain).await;
        string.expand(&self.values(domain, name.as_ref()))
    }

    async fn matches(&mut self, mechanism: &Mechanism, domain: &Target) -> Result<bool, SpfError> {
        match mechanism {
            Mechanism::All => Ok(true),
            Mechanism::Network(network) => Ok(network.contains(self.envelope.ip)),
            Mechanism::Include(spec) => self.includes(spec, domain).await,
            Mechanism::Addresses(spec, lengths) => self.at_addresses(spec, *lengths, domain).await,
            Mechanism::MailServers(spec, lengths) => self.at_mail_servers(spec, *lengths, domain).await,
            Mechanism::Names(spec) => self.has_name(spec, domain).await,
            Mechanism::Exists(spec) => self.exists(spec, domain).await,
        }
    }

    /// Section 5.2: only a `pass` of the other record is a match.
    async fn includes(&mut self, spec: &DomainSpec, domain: &Target) -> Result<bool, SpfError> {
        let policy = self.policy_of(spec, domain, "includes").await?;
        let outcome = Box::pin(self.check_host(policy)).await?;
        Ok(outcome.verdict == SpfVerdict::Pass)
    }

    /// Section 5.3.
    async fn at_addresses(&mut self, spec: &DomainSpec, lengths: Lengths, domain: &Target) -> Result<bool, SpfError> {
        let Some(target) = self.target(spec, domain).await? else {
            return Ok(false);
        };
        let addresses = lookups::addresses(self.dns, target.name(), self.family()).await;
        self.is_among(addresses, target.name(), lengths, domain)
    }

    /// Section 5.4.
    async fn at_mail_servers(
        &mut self,
        spec: &DomainSpec,
        lengths: Lengths,
        domain: &Target,
    ) -> Result<bool, SpfError> {
        let Some(target) = self.target(spec, domain).await? else {
            return Ok(false);
        };
        let servers = lookups::mail_servers(self.dns, target.name()).await;
        let servers = servers.map_err(|failure| unanswered("the mail servers", target.name(), failure))?;
        if servers.is_empty() {
            self.budget.spend_void(domain)?;
        }
        if servers.len() > MOST_NAMES {
            let (domain, target) = (domain.shown(), target.shown());
            return Err(SpfError::MailServers { domain, target });
        }
        let (dns, family) = (self.dns, self.family());
        let answers = join_all(servers.iter().map(|name| lookups::addresses(dns, name, family))).await;
        for (name, addresses) in servers.iter().zip(answers) {
            if self.is_among(addresses, name, lengths, domain)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Section 5.5; what the DNS says of the client's names is no fault of the record.
    async fn has_name(&mut self, spec: &DomainSpec, domain: &Target) -> Result<bool, SpfError> {
        let target = self.target(spec, domain).await?;
        let Some(target) = target.as_ref().and_then(Target::domain) else {
            return Ok(false);
        };
        Ok(self.validated().await.iter().any(|name| name.is_within(&target)))
    }

    /// Section 5.7: an address of IPv4, whatever the client has.
    async fn exists(&mut self, spec: &DomainSpec, domain: &Target) -> Result<bool, SpfError> {
        let Some(target) = self.target(spec, domain).await? else {
            return Ok(false);
        };
        let addresses = lookups::addresses(self.dns, target.name(), RecordType::A).await;
        let addresses = addresses.map_err(|failure| unanswered("the addresses", target.name(), failure))?;
        if addresses.is_empty() {
            self.budget.spend_void(domain)?;
        }
        Ok(!addresses.is_empty())
    }

    /// The policy that another one names.
    async fn policy_of(&mut self, spec: &DomainSpec, domain: &Target, verb: &'static str) -> Result<Policy, SpfError> {
        let dangling = |target| SpfError::Dangling {
            domain: domain.shown(),
            verb,
            target,
        };
        let target = self.target(spec, domain).await?.filter(Target::has_dot);
        let target = target.ok_or_else(|| dangling("what is not a domain name".to_owned()))?;
        match policy(self.dns, target).await {
            Err(SpfError::NoRecord(target) | SpfError::NoDomain(target)) => Err(dangling(target)),
            other => other.map(|(policy, _)| policy),
        }
    }

    /// The name that a term asks for, which costs a lookup; none if no query can carry it, and so nobody has it
    /// (RFC 7208 section 4.8 leaves this to us).
    async fn target(&mut self, spec: &DomainSpec, domain: &Target) -> Result<Option<Target>, SpfError> {
        self.budget.spend_lookup(domain)?;
        Ok(self.expand(spec, domain).await)
    }

    async fn expand(&mut self, spec: &DomainSpec, domain: &Target) -> Option<Target> {
        let name = self.name_if(spec.wants_name(), domain).await;
        spec.expand(&self.values(domain, name.as_ref()))
    }

    fn values<'v>(&'v self, domain: &'v Target, validated: Option<&'v DomainName>) -> Values<'v> {
        Values {
            envelope: self.envelope,
            domain,
            validated: validated.map(DomainName::as_str),
        }
    }

    /// What `%{p}` stands for: the domain itself, or else a name in it, or else any (RFC 7208 section 7.3).
    async fn name_if(&mut self, wanted: bool, domain: &Target) -> Option<DomainName> {
        if !wanted {
            return None;
        }
        let domain = domain.domain();
        let names = self.validated().await;
        let same = names.iter().find(|name| Some(*name) == domain.as_ref());
        let within = || {
            names
                .iter()
                .find(|name| domain.as_ref().is_some_and(|domain| name.is_within(domain)))
        };
        same.or_else(within).or_else(|| names.first()).cloned()
    }

    /// The names of the client that point back to it (RFC 7208 section 5.5), asked for once.
    async fn validated(&mut self) -> &[DomainName] {
        if self.validated.is_none() {
            self.validated = Some(self.validate().await);
        }
        self.validated.as_deref().unwrap_or_default()
    }

    async fn validate(&self) -> Vec<DomainName> {
        let ip = self.envelope.ip;
        let mut names = self.dns.names_of(ip).await.unwrap_or_default();
        names.truncate(MOST_NAMES);
        let targets: Vec<_> = names.iter().filter_map(|name| Target::parse(name.as_str())).collect();
        let answers = join_all(
            targets
                .iter()
                .map(|target| lookups::addresses(self.dns, target.name(), self.family())),
        );
        let answers = answers.await;
        let points_back = |answer: &Result<Vec<IpAddr>, _>| answer.as_ref().is_ok_and(|found| found.contains(&ip));
        let validated = names.into_iter().zip(&answers);
        validated
            .filter_map(|(name, answer)| points_back(answer).then_some(name))
            .collect()
    }

    /// Whether the client is in one of the networks around these addresses.
    fn is_among(
        &mut self,
        addresses: Result<Vec<IpAddr>, DnsFailure>,
        name: &Name,
        lengths: Lengths,
        domain: &Target,
    ) -> Result<bool, SpfError> {
        let addresses = addresses.map_err(|failure| unanswered("the addresses", name, failure))?;
        if addresses.is_empty() {
            self.budget.spend_void(domain)?;
        }
        let ip = self.envelope.ip;
        Ok(addresses
            .into_iter()
            .any(|address| lengths.around(address).contains(ip)))
    }

    fn family(&self) -> RecordType {
        match self.envelope.ip {
            IpAddr::V4(_) => RecordType::A,
            IpAddr::V6(_) => RecordType::AAAA,
        }
    }
}

/// The policy of a domain, with the text of its record.
///
/// # Errors
/// Of [`lookups::record_of`] and of [`Record::parse`].
pub(super) async fn policy(dns: &Dns, domain: Target) -> Result<(Policy, Vec<u8>), SpfError> {
    let text = lookups::record_of(dns, &domain).await?;
    let record = Record::parse(&text, &domain)?;
    Ok((Policy { domain, record }, text))
}

fn unanswered(what: &'static str, name: &Name, failure: DnsFailure) -> SpfError {
    SpfError::Dns {
        what,
        name: shown(name.to_ascii().trim_end_matches('.')),
        failure,
    }
}
