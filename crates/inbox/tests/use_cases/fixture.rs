//! An [`Inboxes`] over a store of its own.

use std::sync::Arc;
use std::time::Duration;

use restante_envelope::{AtRestKey, DecapsulationKey, SigningKey, WireProfile, base64url};
use restante_inbox::{
    Budget, ChoicePolicy, ClientKey, CreateError, CreateRequest, Deposit, EncryptionChoice, EventRules, InboxPolicy,
    Inboxes, Parser, Parts, Recipient, SealKeys,
};
use restante_model::{AuthResults, Clock, Domain, EmailId, ForwardPath, Inbox, SessionFacts, SpamAnalysis, Timestamp};
use restante_monitor::Monitor;
use restante_storage::{Bus, Embedded, EmbeddedConfig, Retention, Stamp, Store};
use restante_testkit::FakeClock;
use tempfile::TempDir;
use zeroize::Zeroizing;

/// Memory for sealing.
pub(crate) const SEALING_BYTES: usize = 256 * 1024;

/// Bytes of a body that events keep.
pub(crate) const MAX_BODY_BYTES: usize = 6000;

pub(crate) struct Fixture {
    pub(crate) inboxes: Inboxes,
    pub(crate) clock: Arc<FakeClock>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) bus: Bus,
    /// Opens events.
    pub(crate) event_key: Arc<AtRestKey>,
    _data: TempDir,
}

pub(crate) fn policy() -> InboxPolicy {
    InboxPolicy {
        profile: WireProfile::Service,
        encryption: ChoicePolicy::Disabled,
        allowed_domains: vec![
            Domain::parse("restante.test").unwrap(),
            Domain::parse("localhost").unwrap(),
        ],
        default_ttl_secs: 3600,
        max_ttl_secs: 604_800,
        alias_random_bytes: 4,
        email_auth_available: true,
        email_auth_default: false,
        persistence: ChoicePolicy::Enabled,
        spam_analysis_available: true,
        spam_analysis_default: false,
        chaos_available: true,
        hostname: "mx.restante.test".into(),
        retention: Retention::UNLIMITED,
    }
}

/// The switch of the whole system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Webhooks {
    On,
    Off,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        Self::with(policy())
    }

    pub(crate) fn with(policy: InboxPolicy) -> Self {
        Self::of(policy, Parser::default(), Webhooks::On)
    }

    pub(crate) fn with_parser(parser: Parser) -> Self {
        Self::of(policy(), parser, Webhooks::On)
    }

    pub(crate) fn of(policy: InboxPolicy, parser: Parser, webhooks: Webhooks) -> Self {
        let data = tempfile::tempdir().unwrap();
        let stamp = Stamp {
            profile: "service".into(),
            signing_key: "s".into(),
            event_key: "e".into(),
            seal_mac_key: "m".into(),
        };
        let store = Embedded::open(&EmbeddedConfig::new(data.path().join("store"), stamp)).unwrap();
        let store: Arc<dyn Store> = Arc::new(store);
        let clock = Arc::new(FakeClock::at(Timestamp::from_unix_ms(1_769_341_276_000)));
        let (bus, event_key) = (
            Bus::starting_after(0),
            Arc::new(AtRestKey::new(Zeroizing::new([9; 32]))),
        );
        let rules = EventRules {
            key: Arc::clone(&event_key),
            max_body_bytes: MAX_BODY_BYTES,
        };
        let parts = Parts {
            monitor: Arc::new(Monitor::new(clock.clone())),
            store: Arc::clone(&store),
            bus: bus.clone(),
            clock: clock.clone(),
            policy,
            keys: SealKeys {
                signing: SigningKey::generate(),
                mac: Zeroizing::new([7; 32]),
            },
            sealing: Budget::new(SEALING_BYTES),
            events: (webhooks == Webhooks::On).then_some(rules),
        };
        Self {
            inboxes: Inboxes::with_parser(parts, parser),
            clock,
            store,
            bus,
            event_key,
            _data: data,
        }
    }

    pub(crate) async fn create(&self, address: &str) -> Result<Arc<Inbox>, CreateError> {
        self.inboxes
            .create(CreateRequest {
                address: Some(address.into()),
                ..CreateRequest::default()
            })
            .await
    }

    pub(crate) async fn create_encrypted(&self, address: &str) -> (Arc<Inbox>, DecapsulationKey) {
        let key = DecapsulationKey::generate();
        let request = CreateRequest {
            address: Some(address.into()),
            encryption: Some(EncryptionChoice::Encrypted),
            client_key: ClientKey::Text(base64url::encode(key.encapsulation_key().as_bytes())),
            ..CreateRequest::default()
        };
        (self.inboxes.create(request).await.unwrap(), key)
    }

    /// Stores a message for inboxes and announces it.
    pub(crate) async fn deposit(&self, to: &[&Arc<Inbox>], raw: &str) -> Vec<EmailId> {
        let prepared = self.inboxes.prepare(self.message(to, raw)).await.unwrap();
        let announcement = self.inboxes.deposit(prepared).await.unwrap();
        announcement.ids().collect()
    }

    pub(crate) fn message(&self, to: &[&Arc<Inbox>], raw: &str) -> Deposit {
        let recipient = |inbox: &&Arc<Inbox>| Recipient {
            spam: SpamAnalysis::default(),
            inbox: Arc::clone(inbox),
            forward_path: inbox.address.to_string(),
            auth: AuthResults::skipped(),
        };
        Deposit {
            raw: raw.to_owned().into(),
            facts: SessionFacts {
                peer: "127.0.0.1:40000".parse().unwrap(),
                helo: "client.test".into(),
                protocol: "ESMTP".into(),
                tls: None,
                reverse_path: "alice@sender.test".into(),
                forward_path: String::new(),
                received_at: self.clock.now(),
            },
            recipients: to.iter().map(recipient).collect(),
        }
    }

    pub(crate) fn advance_secs(&self, secs: u64) {
        self.clock.advance(Duration::from_secs(secs));
    }
}

pub(crate) fn path(address: &str) -> ForwardPath {
    let (local, domain) = address.rsplit_once('@').unwrap();
    ForwardPath::Mailbox {
        local: local.into(),
        domain: domain.into(),
    }
}
