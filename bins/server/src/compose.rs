//! Composing: from settings and secrets to a running server, and back to a stopped one.

mod configs;
mod sockets;
mod webhooks;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use restante_api::{Api, HttpServer, KeyDigest};
use restante_auth::Authenticator;
use restante_envelope::{AtRestKey, base64url};
use restante_inbox::{Budget, EventRules, Inboxes, Parts, SealKeys};
use restante_ingest::{ChaosRules, Encryption, Ingest, IngestParts, IpNet, Listener};
use restante_model::{Clock, Timestamp};
use restante_monitor::Monitor;
use restante_spam::SpamFilter;
use restante_storage::embedded::leftovers;
use restante_storage::{Bus, Embedded, EmbeddedConfig, Stamp, Store};
use restante_tls::Protocol;
use restante_webhook::Webhooks;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::StartError;
use crate::certificate::ServerCertificate;
use crate::secrets::{Fingerprints, Secrets};
use crate::settings::Settings;

use self::sockets::{Sockets, address};

/// The store's folder in the data directory.
pub const STORE_DIR: &str = "store";

/// A server that takes mail and answers requests.
#[derive(Debug)]
pub struct RunningServer {
    /// Where SMTP listens in plain text, if it does.
    pub smtp: Option<SocketAddr>,
    /// Where SMTP listens with TLS from the first byte, if it does.
    pub smtp_tls: Option<SocketAddr>,
    /// Where HTTP listens.
    pub http: SocketAddr,
    /// Where HTTPS listens, if it does.
    pub https: Option<SocketAddr>,
    /// The certificate of the local authority, if the server's is from it.
    pub authority: Option<PathBuf>,
    store: Arc<dyn Store>,
    /// Listeners and what runs beside them: none ends before the server does.
    long_lived: JoinSet<&'static str>,
    connections: TaskTracker,
    stop: CancellationToken,
}

impl RunningServer {
    /// Opens the listeners and the store, and begins to serve.
    ///
    /// # Errors
    /// [`StartError`]; nothing runs then.
    pub async fn start(settings: &Settings, secrets: Secrets, clock: Arc<dyn Clock>) -> Result<Self, StartError> {
        let sockets = Sockets::open(settings)?;
        let store = open_store(settings, &secrets).await?;
        let certificate = prepare_certificate(settings, clock.now()).await?;
        let mut server = Self {
            smtp: address(&sockets.smtp)?,
            smtp_tls: address(&sockets.smtp_tls)?,
            http: address(&sockets.http)?.expect("HTTP is never off"),
            https: address(&sockets.https)?,
            authority: certificate.as_ref().and_then(ServerCertificate::authority_path),
            store,
            long_lived: JoinSet::new(),
            connections: TaskTracker::new(),
            stop: CancellationToken::new(),
        };
        let key = KeyDigest::of(secrets.api_key.expose());
        let monitor = Arc::new(Monitor::new(Arc::clone(&clock)));
        let (inboxes, webhooks) = server.use_cases(settings, secrets, &clock, &monitor).await?;
        let api = Api::new(
            inboxes.clone(),
            webhooks.clone(),
            Arc::clone(&monitor),
            certificate.as_ref().map(ServerCertificate::in_use),
            configs::api(settings, &inboxes, key),
            server.connections.clone(),
            server.stop.clone(),
        );
        for network in believes_everybody(&settings.smtp.proxy_networks) {
            tracing::warn!(
                target: "restante",
                "every client of {network} may say that it is another one (SVC_SMTP_PROXY_PROTOCOL_NETWORKS)"
            );
        }
        if settings.storage.retention.max_bytes < settings.smtp.max_message_bytes {
            tracing::warn!(
                target: "restante",
                "mail larger than {} bytes (SVC_STORAGE_MAX_BYTES) is refused, though SVC_SMTP_MAX_MESSAGE_SIZE is {}",
                settings.storage.retention.max_bytes,
                settings.smtp.max_message_bytes
            );
        }
        let ingest = Ingest::new(IngestParts {
            inboxes: inboxes.clone(),
            clock: Arc::clone(&clock),
            session: configs::session(&settings.smtp),
            limits: configs::limits(settings),
            tls: certificate.as_ref().map(|tls| tls.acceptor(Protocol::Smtp)),
            authenticator: authenticator(settings)?,
            spam: spam_filter(settings)?,
            chaos: settings.chaos.map(|chaos| ChaosRules { seed: chaos.seed }),
            monitor,
            proxy_networks: settings.smtp.proxy_networks.clone(),
        });
        let ingest = Arc::new(ingest);
        server.listen_smtp(sockets.smtp, &ingest, Encryption::OnRequest);
        server.listen_smtp(sockets.smtp_tls, &ingest, Encryption::Implicit);
        server.listen_http(sockets.http, sockets.https, &api, certificate.as_ref());
        server.keep("expiry task", async move { inboxes.run_expiry().await });
        let stop = server.stop.clone();
        server.keep_to_its_end("webhook dispatcher", async move {
            webhooks.run_dispatcher(stop).await;
        });
        if let Some(certificate) = certificate {
            server.keep("certificate task", certificate.keep(clock));
        }
        api.set_ready();
        Ok(server)
    }

    /// Waits for a task that should never end; which one it was.
    pub async fn failed(&mut self) -> &'static str {
        match self.long_lived.join_next().await {
            Some(Ok(task)) => task,
            Some(Err(_)) | None => "a task",
        }
    }

    /// Stops: no new connections, transactions and deliveries under way end, streams end, at most for `grace`; then the
    /// last sync.
    pub async fn stop(mut self, grace: Duration) {
        let until = Instant::now() + grace;
        self.stop.cancel();
        self.connections.close();
        if timeout_at(until, self.connections.wait()).await.is_err() {
            tracing::warn!("stopped with connections still open");
        }
        let tasks_end = async { while self.long_lived.join_next().await.is_some() {} };
        if timeout_at(until, tasks_end).await.is_err() {
            tracing::info!("deliveries to webhooks under way are made again after the next start");
            self.long_lived.shutdown().await;
        }
        self.store.close().await;
    }

    /// What all listeners call: mail, and who is told of it.
    async fn use_cases(
        &self,
        settings: &Settings,
        secrets: Secrets,
        clock: &Arc<dyn Clock>,
        monitor: &Arc<Monitor>,
    ) -> Result<(Inboxes, Webhooks), StartError> {
        let last_sequence = self.store.last_sequence().await.map_err(StartError::StoreRead)?;
        let shared = webhooks::Shared {
            store: Arc::clone(&self.store),
            bus: Bus::starting_after(last_sequence),
            clock: Arc::clone(clock),
            key: Arc::new(AtRestKey::new(secrets.event_key.expose().clone())),
        };
        let inboxes = Inboxes::new(Parts {
            store: Arc::clone(&shared.store),
            bus: shared.bus.clone(),
            clock: Arc::clone(&shared.clock),
            policy: configs::policy(settings),
            keys: SealKeys {
                signing: secrets.signing_key,
                mac: secrets.seal_mac_key.expose().clone(),
            },
            sealing: Budget::new(configs::bytes(settings.smtp.max_inflight_bytes)),
            events: settings.webhooks.is_enabled.then(|| EventRules {
                key: Arc::clone(&shared.key),
                max_body_bytes: settings.webhooks.max_body_bytes,
            }),
            monitor: Arc::clone(monitor),
        });
        Ok((inboxes, webhooks::compose(settings, shared).await?))
    }

    fn listen_smtp(&mut self, sockets: Vec<TcpListener>, ingest: &Arc<Ingest>, encryption: Encryption) {
        for socket in sockets {
            let listener = Listener::new(socket, Arc::clone(ingest), encryption);
            let running = listener.run(self.connections.clone(), self.stop.clone());
            self.keep("SMTP listener", running);
        }
    }

    fn listen_http(
        &mut self,
        plain: Vec<TcpListener>,
        encrypted: Vec<TcpListener>,
        api: &Arc<Api>,
        certificate: Option<&ServerCertificate>,
    ) {
        for socket in plain {
            self.keep("HTTP listener", HttpServer::http(socket, Arc::clone(api)).run());
        }
        // The settings know no HTTPS without a certificate.
        let Some(certificate) = certificate else { return };
        for socket in encrypted {
            let acceptor = certificate.acceptor(Protocol::Http);
            let server = HttpServer::https(socket, Arc::clone(api), acceptor);
            self.keep("HTTPS listener", server.run());
        }
    }

    /// Runs a task that ends by itself soon after the server stops, and not before.
    fn keep_to_its_end(&mut self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        self.long_lived.spawn(async move {
            task.await;
            name
        });
    }

    /// Runs a task that should not end before the server stops.
    fn keep(&mut self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        let stop = self.stop.clone();
        self.long_lived.spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = task => {}
            }
            name
        });
    }
}

/// The networks that are no networks of proxies, but all addresses.
fn believes_everybody(networks: &[IpNet]) -> impl Iterator<Item = &IpNet> {
    networks.iter().filter(|network| network.prefix_len() == 0)
}

fn authenticator(settings: &Settings) -> Result<Option<Authenticator>, StartError> {
    let settings = settings.email_auth.clone();
    let authenticator = settings.map(Authenticator::new).transpose();
    authenticator.map_err(StartError::Resolver)
}

fn spam_filter(settings: &Settings) -> Result<Option<SpamFilter>, StartError> {
    let filter = settings.spam.clone().map(SpamFilter::new).transpose();
    filter.map_err(StartError::SpamFilter)
}

/// Files may be on a disk that does not answer: nothing else waits for it.
async fn prepare_certificate(settings: &Settings, now: Timestamp) -> Result<Option<ServerCertificate>, StartError> {
    let settings = settings.clone();
    let prepared = tokio::task::spawn_blocking(move || ServerCertificate::prepare(&settings, now)).await;
    prepared.expect("preparing a certificate does not panic")
}

/// What mail that is stored under these settings and secrets depends on.
pub fn stamp(settings: &Settings, keys: &Fingerprints) -> Stamp {
    Stamp {
        profile: settings.wire_profile.to_string(),
        signing_key: base64url::encode(keys.signing),
        event_key: base64url::encode(keys.event),
        seal_mac_key: base64url::encode(keys.seal_mac),
    }
}

async fn open_store(settings: &Settings, secrets: &Secrets) -> Result<Arc<dyn Store>, StartError> {
    let stamp = stamp(settings, &secrets.fingerprints());
    let min_free_bytes = settings.storage.min_free_bytes;
    let config = EmbeddedConfig {
        min_free_bytes,
        ..EmbeddedConfig::new(settings.data_path.join(STORE_DIR), stamp)
    };
    let opened = tokio::task::spawn_blocking(move || {
        let store = Embedded::open(&config)?;
        warn_of(&leftovers(&config.path));
        Ok(store)
    });
    let opened = opened.await.expect("opening a store does not panic");
    Ok(Arc::new(opened.map_err(StartError::Store)?))
}

/// Mail that nobody sees any more takes space, and outlives what expires.
fn warn_of(leftovers: &[PathBuf]) {
    let names: Vec<_> = leftovers.iter().map(|path| path.display().to_string()).collect();
    if !names.is_empty() {
        tracing::warn!(
            target: "restante",
            "a command that was killed left {}, with mail perhaps: remove it, unless an import runs just now",
            names.join(", ")
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_networks_of_all_addresses_are_warned_of() {
        let networks =
            ["10.0.0.0/8", "0.0.0.0/0", "192.0.2.1/32", "::/0", "fd00::/8"].map(|text| text.parse().unwrap());
        let warned = believes_everybody(&networks)
            .map(ToString::to_string)
            .collect::<Vec<_>>();
        assert_eq!(warned, ["0.0.0.0/0", "::/0"]);
    }
}
