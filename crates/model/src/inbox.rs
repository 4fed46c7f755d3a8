//! Inboxes: an address that takes mail for a limited time.

use std::sync::Arc;
use std::time::Duration;

use restante_envelope::EncapsulationKey;

use crate::{ChaosConfig, InboxAddress, InboxHash, InboxKey, Timestamp};

/// How the content of an inbox is kept and handed out.
#[derive(Debug, Clone)]
pub enum InboxMode {
    /// Readable by the server; handed out as base64.
    Plain,
    /// Sealed for the client's key; the server cannot read it.
    Encrypted {
        /// The client's ML-KEM-768 key.
        key: EncapsulationKey,
    },
}

impl InboxMode {
    /// Whether mail is sealed.
    pub fn is_encrypted(&self) -> bool {
        matches!(self, Self::Encrypted { .. })
    }
}

/// One life of an inbox, from its creation to its expiry or removal.
#[derive(Debug, Clone)]
pub struct Inbox {
    /// This life, told apart from every other at the same address.
    pub key: InboxKey,
    /// Where it takes mail.
    pub address: InboxAddress,
    /// Its name in the API.
    pub hash: InboxHash,
    /// Plain or encrypted, fixed at creation.
    pub mode: InboxMode,
    /// Whether SPF, DKIM, DMARC and reverse DNS are checked for its mail.
    pub email_auth: bool,
    /// Whether a spam filter is asked about its mail.
    pub spam_analysis: bool,
    /// Whether it is to outlive restarts. All inboxes do; clients see what was asked for.
    pub persistent: bool,
    /// When it was created.
    pub created_at: Timestamp,
    /// From this moment on it is gone; [`Inbox::NEVER`] if that never comes.
    pub expires_at: Timestamp,
    /// What is done to its mail, if anything was asked for.
    pub chaos: Option<Arc<ChaosConfig>>,
}

impl Inbox {
    /// When an inbox ends that does not end by itself.
    pub const NEVER: Timestamp = Timestamp::MAX;

    /// When it ends by itself, if it does.
    pub fn ends_at(&self) -> Option<Timestamp> {
        Some(self.expires_at).filter(|end| *end != Self::NEVER)
    }

    /// Whether the inbox is gone at `now`: from exactly `expires_at` on.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        now >= self.expires_at
    }
}

/// A time to live, in whole seconds within the bounds of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ttl(u32);

impl Ttl {
    /// The shortest time to live (interface, Limits).
    pub const MIN_SECS: u32 = 60;

    /// A time to live of 60 to `max_secs` seconds; `None` outside of them: it is never clamped.
    pub fn from_secs(secs: u64, max_secs: u32) -> Option<Self> {
        let secs = u32::try_from(secs).ok()?;
        (Self::MIN_SECS..=max_secs).contains(&secs).then_some(Self(secs))
    }

    /// The seconds.
    pub fn secs(self) -> u32 {
        self.0
    }

    /// The same as a duration.
    pub fn duration(self) -> Duration {
        Duration::from_secs(u64::from(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ttl_is_never_clamped() {
        assert_eq!(Ttl::from_secs(59, 604_800), None);
        assert_eq!(Ttl::from_secs(60, 604_800).map(Ttl::secs), Some(60));
        assert_eq!(Ttl::from_secs(604_800, 604_800).map(Ttl::secs), Some(604_800));
        assert_eq!(Ttl::from_secs(604_801, 604_800), None);
        assert_eq!(Ttl::from_secs(u64::MAX, 604_800), None);
    }
}
