//! All checks of one message, within one deadline.

use std::any::Any;
use std::net::IpAddr;
use std::panic::AssertUnwindSafe;

use bytes::Bytes;
use futures_util::FutureExt as _;
use restante_message::RawMessage;
use restante_model::auth::{DkimResult, DmarcResult, ReverseDnsResult, SpfResult};
use restante_model::{AuthResults, SessionFacts, Timestamp};
use tokio::time::{Instant, timeout_at};

use crate::author::{NoAuthor, author};
use crate::dmarc::Evidence;
use crate::dns::Dns;
use crate::name::DomainName;
use crate::resolver::{self, ResolverError};
use crate::settings::AuthSettings;
use crate::spf::Identity;
use crate::{dkim, dmarc, reverse_dns, spf};

/// Checks messages.
#[derive(Debug)]
pub struct Authenticator {
    settings: AuthSettings,
    dns: Dns,
    lane: dkim::Lane,
}

impl Authenticator {
    /// An authenticator with its own cache of DNS answers.
    ///
    /// # Errors
    /// [`ResolverError::System`].
    pub fn new(settings: AuthSettings) -> Result<Self, ResolverError> {
        let dns = Dns::new(resolver::build(settings.resolver, settings.timeout)?);
        Ok(Self {
            settings,
            dns,
            lane: dkim::Lane::new(),
        })
    }

    /// All results for a message, within the time of the settings.
    ///
    /// `raw` is the message as received, without the `Received:` line of this server.
    /// SPF, DKIM and reverse DNS run side by side and have four fifths of the time, so that DMARC has some left.
    pub async fn check(&self, raw: &Bytes, facts: &SessionFacts) -> AuthResults {
        let start = Instant::now();
        let ip = facts.peer.ip().to_canonical();
        let identity = Identity::of(facts, ip);
        let (author, signatures) = guarded(|| read(raw, facts.received_at));

        let first = start + self.settings.timeout * 4 / 5;
        let (spf, dkim, reverse_dns) = tokio::join!(
            self.spf(&identity, first),
            self.dkim(raw, &signatures, first),
            self.reverse_dns(ip, first),
        );
        let evidence = Evidence {
            spf: spf.result,
            spf_domain: identity.domain(),
            dkim: &dkim,
        };
        let dmarc = self.dmarc(&author, &evidence, start + self.settings.timeout).await;
        AuthResults {
            spf,
            dkim,
            dmarc,
            reverse_dns,
        }
    }

    async fn spf(&self, identity: &Identity, deadline: Instant) -> SpfResult {
        if !self.settings.spf {
            return AuthResults::skipped().spf;
        }
        let checked = finish(spf::check(&self.dns, identity), deadline).await;
        checked.unwrap_or_else(|unfinished| identity.late(&unfinished.to_string()))
    }

    async fn dkim(&self, raw: &Bytes, found: &[dkim::Found], deadline: Instant) -> Vec<DkimResult> {
        if !self.settings.dkim {
            return AuthResults::skipped().dkim;
        }
        let checked = finish(dkim::check(&self.dns, &self.lane, raw, found), deadline).await;
        checked.unwrap_or_else(|unfinished| dkim::unfinished(found, &unfinished.to_string()))
    }

    async fn reverse_dns(&self, ip: IpAddr, deadline: Instant) -> ReverseDnsResult {
        if !self.settings.reverse_dns {
            return AuthResults::skipped().reverse_dns;
        }
        let checked = finish(reverse_dns::check(&self.dns, ip), deadline).await;
        checked.unwrap_or_else(|unfinished| reverse_dns::late(ip, &unfinished.to_string()))
    }

    /// `skipped` without anything to align: SPF and DKIM are both switched off (decisions, section 9).
    async fn dmarc(
        &self,
        author: &Result<DomainName, NoAuthor>,
        evidence: &Evidence<'_>,
        deadline: Instant,
    ) -> DmarcResult {
        if !self.settings.dmarc || !(self.settings.spf || self.settings.dkim) {
            return AuthResults::skipped().dmarc;
        }
        let checked = finish(dmarc::check(&self.dns, author, evidence), deadline).await;
        checked.unwrap_or_else(|unfinished| dmarc::late(author, &unfinished.to_string()))
    }
}

/// What the header says: the author, and the signatures.
type Read = (Result<DomainName, NoAuthor>, Vec<dkim::Found>);

/// Reads the header; the list of its fields is gone before any query is sent.
fn read(raw: &[u8], now: Timestamp) -> Read {
    let source = RawMessage::split(raw);
    (author(&source), dkim::find(&source, now))
}

/// A panic in the reading is a bug, and one hostile message must not take the connection with it.
fn guarded(read: impl FnOnce() -> Read) -> Read {
    std::panic::catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| (Err(NoAuthor::Unread), dkim::unread()))
}

/// Why a check has no result of its own.
#[derive(Debug, thiserror::Error)]
enum Unfinished {
    #[error("not finished in the time for all checks of a message: the DNS is slow, or this server is busy")]
    Late,
    /// A bug: one hostile message must not take the connection with it.
    #[error("not checked: this server failed")]
    Broken(Box<dyn Any + Send>),
}

async fn finish<T>(check: impl Future<Output = T>, deadline: Instant) -> Result<T, Unfinished> {
    match timeout_at(deadline, AssertUnwindSafe(check).catch_unwind()).await {
        Ok(Ok(result)) => Ok(result),
        Ok(Err(panic)) => Err(Unfinished::Broken(panic)),
        Err(_) => Err(Unfinished::Late),
    }
}

#[cfg(test)]
mod tests {
    use restante_model::auth::Verdict;

    use super::*;

    #[test]
    fn a_bug_in_the_reading_leaves_results_that_say_so() {
        let (author, signatures) = guarded(|| panic!("a bug"));
        assert_eq!(author, Err(NoAuthor::Unread));
        let results = dkim::unfinished(&signatures, "not asked");
        assert_eq!(results.len(), 1);
        assert_eq!(results[0].result, Verdict::None);
        assert_eq!(results[0].details.as_deref(), Some("not checked: this server failed"));
    }
}
