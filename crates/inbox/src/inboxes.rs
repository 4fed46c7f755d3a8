//! [`Inboxes`]: what the use cases share.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use bytes::Bytes;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use restante_envelope::{SigningKey, VerifyingKey};
use restante_model::{Clock, EmailId, Timestamp};
use restante_monitor::Monitor;
use restante_storage::{Bus, Store};
use tokio::sync::Notify;
use zeroize::Zeroizing;

use crate::lanes::Lanes;
use crate::parser::Guarded;
use crate::{Budget, EventRules, InboxPolicy, Parser};

/// Memory for parsed content of plain inboxes that is kept for the next read, in bytes.
const PARSED_CACHE_BYTES: u64 = 16 * 1024 * 1024;
/// About how many emails that is.
const PARSED_CACHE_ITEMS: usize = 4096;

/// The use cases on inboxes and their mail; cheap to clone.
#[derive(Clone)]
pub struct Inboxes {
    pub(crate) shared: Arc<Shared>,
}

/// The keys that the server seals with.
pub struct SealKeys {
    /// Signs payloads; clients pin its verifying key.
    pub signing: SigningKey,
    /// Authenticates sealed parts on disk until they are signed: 32 bytes.
    pub mac: Zeroizing<[u8; 32]>,
}

impl fmt::Debug for SealKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealKeys { .. }")
    }
}

/// What [`Inboxes`] is made of.
#[derive(Debug)]
pub struct Parts {
    /// Where everything is kept.
    pub store: Arc<dyn Store>,
    /// Where arrivals are told.
    pub bus: Bus,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// What inboxes may be.
    pub policy: InboxPolicy,
    /// What sealed mail is signed with.
    pub keys: SealKeys,
    /// Memory for messages being sealed, or read for webhooks.
    pub sealing: Budget,
    /// How arrivals are told to webhooks; `None` if they are told nothing.
    pub events: Option<EventRules>,
    /// Counts, and tells those who watch the console.
    pub monitor: Arc<Monitor>,
}

pub(crate) struct Shared {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) bus: Bus,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) policy: InboxPolicy,
    pub(crate) keys: SealKeys,
    pub(crate) sealing: Budget,
    pub(crate) events: Option<EventRules>,
    pub(crate) monitor: Arc<Monitor>,
    pub(crate) lanes: Lanes,
    pub(crate) parser: Guarded,
    pub(crate) parsed: Cache<EmailId, Bytes, ByBytes>,
    /// Wakes the expiry task: an inbox was made or removed.
    pub(crate) expiry_changed: Notify,
    /// Has the expiry task tell of mail that may have gone as other mail came.
    pub(crate) may_have_evicted: Notify,
    /// Set when a deposit may have stored what nobody announced.
    pub(crate) is_unsure: AtomicBool,
}

#[derive(Clone)]
pub(crate) struct ByBytes;

impl Weighter<EmailId, Bytes> for ByBytes {
    fn weight(&self, _: &EmailId, content: &Bytes) -> u64 {
        content.len() as u64 + 64
    }
}

impl fmt::Debug for Inboxes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inboxes")
            .field("policy", &self.shared.policy)
            .finish_non_exhaustive()
    }
}

impl Inboxes {
    /// Puts the parts together.
    pub fn new(parts: Parts) -> Self {
        Self::with_parser(parts, Parser::default())
    }

    /// The same with another parser: a test has one that panics.
    pub fn with_parser(parts: Parts, parser: Parser) -> Self {
        let Parts {
            store,
            bus,
            clock,
            policy,
            keys,
            sealing,
            events,
            monitor,
        } = parts;
        let parsed = Cache::with_weighter(PARSED_CACHE_ITEMS, PARSED_CACHE_BYTES, ByBytes);
        let expiry_changed = Notify::new();
        Self {
            shared: Arc::new(Shared {
                store,
                bus,
                clock,
                policy,
                keys,
                sealing,
                events,
                monitor,
                lanes: Lanes::new(),
                parser: Guarded::new(parser),
                parsed,
                expiry_changed,
                may_have_evicted: Notify::new(),
                is_unsure: AtomicBool::new(false),
            }),
        }
    }

    /// The rules in force.
    pub fn policy(&self) -> &InboxPolicy {
        &self.shared.policy
    }

    /// The key that clients of encrypted inboxes pin.
    pub fn verifying_key(&self) -> &VerifyingKey {
        self.shared.keys.signing.verifying_key()
    }

    /// Whether mail can be stored now.
    pub async fn takes_mail(&self) -> bool {
        self.shared.store.takes_mail().await
    }

    /// How often reading a message has panicked since the start; each time the message was kept all the same.
    pub fn parser_panics(&self) -> u64 {
        self.shared.parser.panics()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.shared.clock.now()
    }

    pub(crate) fn store(&self) -> &dyn Store {
        self.shared.store.as_ref()
    }
}
