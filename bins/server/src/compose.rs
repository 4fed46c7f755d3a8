//! Composing: from settings and secrets to a running server, and back to a stopped one.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use restante_api::{Api, ApiSettings, HttpServer, KeyDigest};
use restante_envelope::{Algs, base64url, digest};
use restante_inbox::{Budget, InboxPolicy, Inboxes, Parts, SealKeys};
use restante_ingest::{Encryption, Ingest, IngestLimits, IngestParts, Listener};
use restante_model::Clock;
use restante_smtp::SessionConfig;
use restante_storage::{Bus, Embedded, EmbeddedConfig, Stamp, Store};
use restante_wire::ServerInfo;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::StartError;
use crate::secrets::Secrets;
use crate::settings::{Settings, SmtpSettings};

/// The store's folder in the data directory.
const STORE_DIR: &str = "store";
/// Pause between keep-alive comments of a stream (decisions, section 6).
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// A server that takes mail and answers requests.
#[derive(Debug)]
pub struct RunningServer {
    /// Where SMTP listens.
    pub smtp: SocketAddr,
    /// Where HTTP listens.
    pub http: SocketAddr,
    store: Arc<dyn Store>,
    /// Listeners and the expiry task: none ends before the server does.
    long_lived: JoinSet<&'static str>,
    connections: TaskTracker,
    stop: CancellationToken,
}

impl RunningServer {
    /// Opens the store, binds the listeners and begins to serve.
    ///
    /// # Errors
    /// [`StartError::Listen`], [`StartError::Store`]; nothing runs then.
    pub async fn start(settings: &Settings, secrets: Secrets, clock: Arc<dyn Clock>) -> Result<Self, StartError> {
        let smtp_socket = bind("SMTP", settings.smtp.listen, "SVC_SMTP_PORT").await?;
        let http_socket = bind("HTTP", settings.http.listen, "SVC_SERVER_PORT").await?;
        let store = open_store(settings, &secrets).await?;
        let (connections, stop) = (TaskTracker::new(), CancellationToken::new());

        let key = KeyDigest::of(secrets.api_key.expose());
        let keys = SealKeys {
            signing: secrets.signing_key,
            mac: secrets.seal_mac_key.expose().clone(),
        };
        let parts = Parts {
            store: Arc::clone(&store),
            bus: Bus::starting_after(store.last_sequence().await.map_err(StartError::StoreRead)?),
            clock: Arc::clone(&clock),
            policy: policy(settings),
            keys,
            sealing: Budget::new(bytes(settings.smtp.max_inflight_bytes)),
        };
        let inboxes = Inboxes::new(parts);
        let info = server_info(settings, &inboxes);
        let api = Api::new(
            inboxes.clone(),
            api_settings(settings, info, key),
            connections.clone(),
            stop.clone(),
        );
        let ingest = Ingest::new(IngestParts {
            inboxes: inboxes.clone(),
            clock,
            session: session(&settings.smtp),
            limits: limits(&settings.smtp),
            tls: None,
            authenticator: None,
            proxy_networks: Vec::new(),
        });
        let listener = Listener::new(smtp_socket, Arc::new(ingest), Encryption::OnRequest);
        let server = HttpServer::http(http_socket, Arc::clone(&api));
        let smtp = listener.local_addr().map_err(StartError::Runtime)?;
        let http = server.local_addr().map_err(StartError::Runtime)?;

        let mut long_lived = JoinSet::new();
        let (tasks, stopping) = (connections.clone(), stop.clone());
        long_lived.spawn(async move {
            listener.run(tasks, stopping).await;
            "SMTP listener"
        });
        long_lived.spawn(async move {
            server.run().await;
            "HTTP listener"
        });
        let stopping = stop.clone();
        long_lived.spawn(async move {
            tokio::select! {
                () = stopping.cancelled() => {}
                () = inboxes.run_expiry() => {}
            }
            "expiry task"
        });
        api.set_ready();
        Ok(Self {
            smtp,
            http,
            store,
            long_lived,
            connections,
            stop,
        })
    }

    /// Waits for a task that should never end; which one it was.
    pub async fn failed(&mut self) -> &'static str {
        match self.long_lived.join_next().await {
            Some(Ok(task)) => task,
            Some(Err(_)) | None => "a task",
        }
    }

    /// Stops: no new connections, transactions under way end, streams end, at most for `grace`; then the last sync.
    pub async fn stop(mut self, grace: Duration) {
        self.stop.cancel();
        self.connections.close();
        let all_ended = tokio::time::timeout(grace, self.connections.wait()).await.is_ok();
        if !all_ended {
            tracing::warn!("stopped with connections still open");
        }
        while self.long_lived.join_next().await.is_some() {}
        self.store.close().await;
    }
}

async fn bind(service: &'static str, address: SocketAddr, setting: &'static str) -> Result<TcpListener, StartError> {
    let bound = TcpListener::bind(address).await;
    bound.map_err(|source| StartError::Listen {
        service,
        address,
        setting,
        source,
    })
}

async fn open_store(settings: &Settings, secrets: &Secrets) -> Result<Arc<dyn Store>, StartError> {
    let fingerprint = |bytes: &[u8]| base64url::encode(digest::sha256(bytes));
    let stamp = Stamp {
        profile: settings.wire_profile.to_string(),
        signing_key: fingerprint(secrets.signing_key.verifying_key().as_bytes()),
        event_key: base64url::encode(secrets.event_key.fingerprint()),
        seal_mac_key: base64url::encode(secrets.seal_mac_key.fingerprint()),
    };
    let min_free_bytes = settings.storage.min_free_bytes;
    let config = EmbeddedConfig {
        min_free_bytes,
        ..EmbeddedConfig::new(settings.data_path.join(STORE_DIR), stamp)
    };
    let opened = tokio::task::spawn_blocking(move || Embedded::open(&config)).await;
    Ok(Arc::new(
        opened
            .expect("opening a store does not panic")
            .map_err(StartError::Store)?,
    ))
}

fn policy(settings: &Settings) -> InboxPolicy {
    let inboxes = &settings.inboxes;
    InboxPolicy {
        profile: settings.wire_profile,
        encryption: inboxes.encryption,
        allowed_domains: settings.allowed_domains.clone(),
        default_ttl_secs: inboxes.default_ttl_secs,
        max_ttl_secs: inboxes.max_ttl_secs,
        alias_random_bytes: inboxes.alias_random_bytes,
        email_auth_available: inboxes.email_auth_available,
        email_auth_default: inboxes.email_auth_default,
        hostname: settings.smtp.hostname.to_string(),
    }
}

fn server_info(settings: &Settings, inboxes: &Inboxes) -> ServerInfo {
    ServerInfo {
        server_sig_pk: base64url::encode(inboxes.verifying_key().as_bytes()),
        algs: Algs::V1,
        context: settings.wire_profile.context().to_owned(),
        encryption_policy: settings.inboxes.encryption.to_string(),
        max_ttl: settings.inboxes.max_ttl_secs,
        default_ttl: settings.inboxes.default_ttl_secs,
        sse_console: false,
        allowed_domains: settings.allowed_domains.clone(),
        webhook_enabled: false,
        webhook_require_auth_default: false,
    }
}

fn api_settings(settings: &Settings, info: ServerInfo, key: KeyDigest) -> ApiSettings {
    ApiSettings {
        info,
        key,
        allow_clear_all: settings.inboxes.allow_clear_all,
        local_hosts_only: settings.http.listen.ip().is_loopback(),
        throttle: settings.http.throttle.map(|throttle| (throttle.limit, throttle.per)),
        max_connections: settings.http.max_connections,
        max_inflight_bytes: bytes(settings.http.max_inflight_bytes),
        keep_alive: KEEP_ALIVE,
    }
}

fn session(smtp: &SmtpSettings) -> SessionConfig {
    SessionConfig {
        hostname: smtp.hostname.to_string(),
        banner: smtp.banner.clone(),
        max_message_bytes: bytes(smtp.max_message_bytes),
        max_header_bytes: bytes(smtp.max_header_bytes),
        max_recipients: smtp.max_recipients,
        ..SessionConfig::default()
    }
}

fn limits(smtp: &SmtpSettings) -> IngestLimits {
    IngestLimits {
        max_connections: smtp.max_connections,
        max_connections_per_ip: smtp.max_connections_per_ip.unwrap_or(0),
        max_inflight_bytes: bytes(smtp.max_inflight_bytes),
        idle: smtp.session_timeout,
        ..IngestLimits::default()
    }
}

/// A number of bytes of memory: what does not fit cannot be reached either.
fn bytes(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
