//! What all requests share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use restante_inbox::Inboxes;
use restante_monitor::Monitor;
use restante_tls::CertificateInUse;
use restante_webhook::Webhooks;
use restante_wire::ServerInfo;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::budget::Budget;
use crate::key::KeyDigest;
use crate::memo::Memo;
use crate::test_emails::Turns;
use crate::throttle::Throttle;

/// Requests with a missing or wrong key that one address may send in a minute.
const FAILED_KEYS: u32 = 20;

/// A disk that takes longer to answer takes no mail; whoever asks for readiness seldom waits longer.
const DISK_PATIENCE: Duration = Duration::from_secs(2);

/// The settings of the HTTP side.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct ApiSettings {
    /// What `GET /api/server-info` says.
    pub info: ServerInfo,
    /// Digest of the API key.
    pub key: KeyDigest,
    /// Whether `DELETE /api/inboxes` is allowed.
    pub allow_clear_all: bool,
    /// Whether the stream of the console is served.
    pub serves_console: bool,
    /// Whether `POST /api/test/emails` is served.
    pub serves_test_emails: bool,
    /// Bytes of a message, at most; of one that is composed here as of one that comes over SMTP.
    pub max_message_bytes: usize,
    /// Whether the Host header must name this machine: so on the loopback default, against DNS rebinding.
    pub local_hosts_only: bool,
    /// Requests of one address in a window; `None` is no limit.
    pub throttle: Option<(u32, Duration)>,
    /// Connections at a time, over all listeners.
    pub max_connections: usize,
    /// Notification streams at a time.
    pub max_streams: usize,
    /// Memory for answers being made.
    pub max_inflight_bytes: usize,
    /// Pause between keep-alive comments of a stream.
    pub keep_alive: Duration,
}

/// What all requests share; the state of the router.
#[derive(Debug)]
pub struct Api {
    pub(crate) inboxes: Inboxes,
    pub(crate) webhooks: Webhooks,
    /// Counts, and tells those who watch the console.
    pub(crate) monitor: Arc<Monitor>,
    /// With TLS.
    pub(crate) certificate: Option<CertificateInUse>,
    pub(crate) settings: ApiSettings,
    pub(crate) budget: Budget,
    pub(crate) failed_keys: Throttle,
    pub(crate) throttle: Option<Throttle>,
    /// Places for connections.
    pub(crate) places: Arc<Semaphore>,
    /// Places for streams.
    pub(crate) streams: Arc<Semaphore>,
    /// What repeated requests are answered that the store does not remember.
    pub(crate) memo: Memo,
    /// Memory for test emails.
    pub(crate) test_emails: Turns,
    /// Runs the streams, and what is to be remembered.
    pub(crate) tasks: TaskTracker,
    /// Ends the streams.
    pub(crate) stop: CancellationToken,
    ready: AtomicBool,
}

impl Api {
    /// Puts the HTTP side together; streams run on `tasks` and end with `stop`.
    pub fn new(
        inboxes: Inboxes,
        webhooks: Webhooks,
        monitor: Arc<Monitor>,
        certificate: Option<CertificateInUse>,
        settings: ApiSettings,
        tasks: TaskTracker,
        stop: CancellationToken,
    ) -> Arc<Self> {
        Arc::new(Self {
            inboxes,
            webhooks,
            monitor,
            certificate,
            budget: Budget::new(settings.max_inflight_bytes),
            failed_keys: Throttle::new(FAILED_KEYS, Duration::from_mins(1)),
            places: Arc::new(Semaphore::new(settings.max_connections)),
            streams: Arc::new(Semaphore::new(settings.max_streams)),
            throttle: settings.throttle.map(|(limit, window)| Throttle::new(limit, window)),
            settings,
            memo: Memo::new(),
            test_emails: Turns::new(),
            tasks,
            stop,
            ready: AtomicBool::new(false),
        })
    }

    /// All listeners are bound.
    pub fn set_ready(&self) {
        self.ready.store(true, Ordering::Release);
    }

    /// Whether mail is taken now: listeners bound, a disk that works, answers and has room, not stopping.
    pub(crate) async fn is_ready(&self) -> bool {
        let takes_mail = tokio::time::timeout(DISK_PATIENCE, self.inboxes.takes_mail());
        self.ready.load(Ordering::Acquire) && !self.stop.is_cancelled() && takes_mail.await.unwrap_or(false)
    }
}
