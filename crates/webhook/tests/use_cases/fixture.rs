//! [`Webhooks`] over a store of its own, a receiver that they send to, and a clock that stands still.
//!
//! The time of tokio is real: what is due by the clock is attempted when a test says that there may be work.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use restante_envelope::{AtRestKey, WireProfile};
use restante_model::auth::{SpfVerdict, Verdict};
use restante_model::event::{EventAuth, EventMailbox};
use restante_model::{
    ArrivalEvent, Clock, EmailId, EventType, Inbox, InboxAddress, InboxHash, InboxKey, InboxMode, RemovalReason,
    Timestamp, WebhookId,
};
use restante_storage::{Bus, Embedded, EmbeddedConfig, NewEmail, NewInbox, Part, Retention, Stamp, Store, ThrownAway};
use restante_testkit::FakeClock;
use restante_testkit::receiver::Receiver;
use restante_webhook::{
    CreateRequest, DeliveriesRequest, DeliveryView, Guard, Owner, PayloadLimits, Sender, SenderConfig, SystemLookup,
    WebhookPolicy, WebhookView, Webhooks, WebhooksParts,
};
use tempfile::TempDir;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use zeroize::Zeroizing;

/// When the tests take place.
pub(crate) const START: Timestamp = Timestamp::from_unix_ms(1_769_341_276_000);
/// A test that waits longer for something has failed.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Fixture {
    pub(crate) webhooks: Webhooks,
    pub(crate) store: Arc<Embedded>,
    pub(crate) clock: Arc<FakeClock>,
    pub(crate) bus: Bus,
    pub(crate) receiver: Receiver,
    pub(crate) inbox: Arc<Inbox>,
    ground: Ground,
    dispatcher: JoinSet<()>,
    stop: CancellationToken,
}

/// What outlives a restart.
struct Ground {
    policy: WebhookPolicy,
    targets: Targets,
    key: Arc<AtRestKey>,
    data: TempDir,
}

/// Whether the guard lets the receiver through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Targets {
    All,
    Public,
}

pub(crate) fn policy() -> WebhookPolicy {
    WebhookPolicy {
        profile: WireProfile::Service,
        is_enabled: true,
        max_global: 100,
        max_inbox: 50,
        max_attempts: 5,
        max_retries_queued: 100,
        limits: PayloadLimits {
            max_headers: 50,
            max_header_value_chars: 1000,
            max_body_bytes: 65_536,
        },
        allow_http: true,
        require_auth_default: false,
        timeout: Duration::from_secs(10),
    }
}

/// A request for a webhook that is told of these events.
pub(crate) fn request(url: &str, events: &[EventType]) -> CreateRequest {
    CreateRequest {
        url: url.to_owned(),
        events: events.to_vec(),
        template: None,
        filter: None,
        description: None,
        idempotency: None,
    }
}

/// All three checks passed.
pub(crate) const PASSED: EventAuth = EventAuth {
    spf: SpfVerdict::Pass,
    dkim: Verdict::Pass,
    dmarc: Verdict::Pass,
};

pub(crate) fn inbox(local: &str) -> Inbox {
    let address = InboxAddress::parse(&format!("{local}@restante.test")).unwrap();
    Inbox {
        key: InboxKey::new(START),
        hash: InboxHash::of_address(&address),
        address,
        mode: InboxMode::Plain,
        email_auth: true,
        spam_analysis: false,
        persistent: false,
        chaos: None,
        created_at: START,
        expires_at: START.after(Duration::from_hours(48)),
    }
}

/// An email that says `subject`.
pub(crate) fn event(inbox: &Inbox, email: EmailId, subject: &str) -> ArrivalEvent {
    let mailbox = |address: &str| EventMailbox {
        address: address.to_owned(),
        name: None,
    };
    ArrivalEvent {
        email,
        inbox_hash: inbox.hash,
        inbox_address: inbox.address.to_string(),
        from: mailbox("ann@example.com"),
        to: vec![mailbox(&inbox.address.to_string())],
        cc: Vec::new(),
        subject: subject.to_owned(),
        text: Some("Hello".to_owned()),
        html: None,
        headers: vec![("subject".to_owned(), subject.to_owned())],
        attachments: Vec::new(),
        auth: PASSED,
        received_at: START,
        stored_at: START,
    }
}

impl Ground {
    fn open(&self) -> Arc<Embedded> {
        let stamp = Stamp {
            profile: "service".into(),
            signing_key: "s".into(),
            event_key: "e".into(),
            seal_mac_key: "m".into(),
        };
        Arc::new(Embedded::open(&EmbeddedConfig::new(self.data.path().join("store"), stamp)).unwrap())
    }

    fn webhooks(&self, targets: Targets, store: &Arc<Embedded>, clock: &Arc<FakeClock>, bus: &Bus) -> Webhooks {
        let guard = Guard::new(targets == Targets::All, Arc::new(SystemLookup::new()));
        let config = SenderConfig {
            timeout: self.policy.timeout,
            guard: guard.clone(),
            extra_roots: Vec::new(),
            user_agent: "Service-Webhook/1.0".into(),
        };
        Webhooks::new(WebhooksParts {
            store: store.clone(),
            bus: bus.clone(),
            clock: clock.clone(),
            key: Arc::clone(&self.key),
            policy: self.policy.clone(),
            sender: Sender::new(config).unwrap(),
            guard,
        })
    }
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        Self::with(policy(), Targets::All).await
    }

    /// One inbox, a receiver that answers 200, and no dispatcher yet.
    pub(crate) async fn with(policy: WebhookPolicy, targets: Targets) -> Self {
        let ground = Ground {
            policy,
            targets,
            key: Arc::new(AtRestKey::new(Zeroizing::new([9; 32]))),
            data: tempfile::tempdir().unwrap(),
        };
        let (store, clock, bus) = (ground.open(), Arc::new(FakeClock::at(START)), Bus::starting_after(0));
        let fixture = Self {
            webhooks: ground.webhooks(ground.targets, &store, &clock, &bus),
            store,
            clock,
            bus,
            receiver: Receiver::start(),
            inbox: Arc::new(inbox("bob")),
            ground,
            dispatcher: JoinSet::new(),
            stop: CancellationToken::new(),
        };
        fixture.add(&fixture.inbox).await;
        fixture
    }

    pub(crate) async fn add(&self, inbox: &Inbox) {
        let new = NewInbox {
            inbox: inbox.clone(),
            idempotency: None,
        };
        self.store.create_inbox(new, self.clock.now()).await.unwrap();
    }

    /// The same webhooks under another guard.
    pub(crate) fn webhooks_for(&self, targets: Targets) -> Webhooks {
        self.ground.webhooks(targets, &self.store, &self.clock, &self.bus)
    }

    /// Goes on with another policy, as a server does that is started with other settings.
    pub(crate) fn set_policy(&mut self, policy: WebhookPolicy) {
        self.ground.policy = policy;
        self.webhooks = self.webhooks_for(self.ground.targets);
    }

    /// Goes on with another key: nothing that was sealed can be opened.
    pub(crate) fn lose_key(&mut self) {
        self.ground.key = Arc::new(AtRestKey::new(Zeroizing::new([10; 32])));
        self.webhooks = self.webhooks_for(self.ground.targets);
    }

    /// Its one inbox.
    pub(crate) fn owner(&self) -> Owner {
        Owner::Inbox(Arc::clone(&self.inbox))
    }

    /// A global webhook at the receiver that is told of each arrival once.
    pub(crate) async fn webhook(&self) -> WebhookId {
        self.webhook_for(&[EventType::EmailStored]).await
    }

    pub(crate) async fn webhook_for(&self, events: &[EventType]) -> WebhookId {
        self.create(request(&self.receiver.url("/hook"), events)).await.id
    }

    /// A global webhook.
    pub(crate) async fn create(&self, request: CreateRequest) -> WebhookView {
        self.webhooks.create(&Owner::Global, request).await.unwrap()
    }

    pub(crate) async fn get(&self, id: WebhookId) -> WebhookView {
        self.webhooks.get(&Owner::Global, id).await.unwrap()
    }

    /// An email for the inbox, stored with its event.
    pub(crate) async fn mail(&self, subject: &str) -> EmailId {
        let id = EmailId::new(self.clock.now());
        self.deposit(&self.inbox, &event(&self.inbox, id, subject)).await;
        id
    }

    pub(crate) async fn deposit(&self, inbox: &Inbox, event: &ArrivalEvent) {
        self.accept(inbox, event.email, self.sealed(event)).await;
    }

    fn sealed(&self, event: &ArrivalEvent) -> Vec<u8> {
        let json = serde_json::to_vec(event).unwrap();
        let context = [b"webhook event".as_slice(), event.email.as_bytes()].concat();
        self.ground.key.seal(&context, &json)
    }

    /// Mail for the inbox that is not stored.
    pub(crate) async fn throw_away(&self, event: &ArrivalEvent) {
        let arrival = ThrownAway {
            inbox: self.inbox.key,
            id: event.email,
            event: self.sealed(event).into(),
        };
        self.store.tell(vec![arrival], self.clock.now()).await.unwrap();
        self.bus.announce_work();
    }

    /// An email with these bytes as its event.
    pub(crate) async fn accept(&self, inbox: &Inbox, id: EmailId, event: Vec<u8>) {
        let email = NewEmail {
            inbox: inbox.key,
            id,
            received_at: self.clock.now(),
            parts: vec![(Part::Raw, Bytes::from_static(b"raw"))],
            event: Some(event.into()),
        };
        let accepted = self.store.accept(vec![email], &Retention::UNLIMITED, self.clock.now());
        accepted.await.unwrap();
        self.bus.announce_work();
    }

    pub(crate) async fn delete(&self, email: EmailId) {
        let now = self.clock.now();
        let deleted = self
            .store
            .delete_email(self.inbox.key, email, RemovalReason::Manual, now);
        assert!(deleted.await.unwrap());
        self.bus.announce_work();
    }

    /// Lets time pass, and lets the dispatcher look.
    pub(crate) fn pass(&self, time: Duration) {
        self.clock.advance(time);
        self.bus.announce_work();
    }

    pub(crate) fn start(&mut self) {
        self.stop = CancellationToken::new();
        let (webhooks, stop) = (self.webhooks.clone(), self.stop.clone());
        self.dispatcher
            .spawn(async move { webhooks.run_dispatcher(stop).await });
    }

    /// Stops the dispatcher, which settles what is under way.
    pub(crate) async fn stop(&mut self) {
        self.stop.cancel();
        while let Some(ended) = self.dispatcher.join_next().await {
            ended.unwrap();
        }
    }

    /// Breaks the dispatcher off and opens the store anew; the dispatcher does not run then.
    pub(crate) async fn restart(mut self) -> Self {
        self.dispatcher.shutdown().await;
        self.store.close().await;
        let Self {
            webhooks,
            store,
            ground,
            ..
        } = self;
        drop((webhooks, store));
        let store = ground.open();
        Self {
            webhooks: ground.webhooks(ground.targets, &store, &self.clock, &self.bus),
            store,
            ground,
            ..self
        }
    }

    /// The log of a global webhook.
    pub(crate) async fn log(&self, id: WebhookId) -> Vec<DeliveryView> {
        let request = DeliveriesRequest {
            limit: 1000,
            before: None,
        };
        self.webhooks
            .deliveries(&Owner::Global, id, request)
            .await
            .unwrap()
            .deliveries
    }

    /// The log of a global webhook, as soon as it is as it should be.
    pub(crate) async fn log_when(&self, id: WebhookId, is_so: impl Fn(&[DeliveryView]) -> bool) -> Vec<DeliveryView> {
        until(async || Some(self.log(id).await).filter(|log| is_so(log))).await
    }

    /// The one delivery of a global webhook, as soon as it was attempted so often.
    pub(crate) async fn attempted(&self, id: WebhookId, times: u32) -> DeliveryView {
        let is_so = |log: &[DeliveryView]| log.first().is_some_and(|delivery| delivery.attempts == times);
        let mut log = self.log_when(id, is_so).await;
        assert_eq!(log.len(), 1);
        log.remove(0)
    }
}

/// Asks until there is an answer; others run meanwhile.
pub(crate) async fn until<T>(ask: impl AsyncFn() -> Option<T>) -> T {
    let asking = async {
        loop {
            if let Some(answer) = ask().await {
                return answer;
            }
            tokio::task::yield_now().await;
        }
    };
    let answer = tokio::time::timeout(PATIENCE, asking).await;
    answer.expect("what the test waits for happens in time")
}
