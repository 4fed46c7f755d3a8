//! Accepting sockets.

use std::io::{self, Write as _};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use restante_monitor::{Happening, Monitor};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::connection;
use crate::ingest::Ingest;
use crate::limits::Place;
use crate::proxy::ProxyError;
use crate::{handshake, proxy, reply};

/// How long the accept loop rests when the process has run out of something.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How long a proxy may take to say for whom it speaks: it does so at once, and whoever does not holds a place.
const PROXY_HEADER_WITHIN: Duration = Duration::from_secs(10);

/// When the connections of a listener are encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encryption {
    /// After STARTTLS, if there is a certificate.
    OnRequest,
    /// From the first byte (RFC 8314 section 3.3).
    Implicit,
}

/// A bound socket that takes SMTP connections.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    ingest: Arc<Ingest>,
    encryption: Encryption,
}

/// A socket that was accepted.
struct Accepted {
    stream: TcpStream,
    peer: SocketAddr,
    encryption: Encryption,
    ingest: Arc<Ingest>,
}

impl Listener {
    /// Wraps a bound socket.
    ///
    /// # Panics
    /// If connections are to begin with TLS and there is no certificate: a mistake of who composes the server.
    pub fn new(socket: TcpListener, ingest: Arc<Ingest>, encryption: Encryption) -> Self {
        assert!(
            encryption == Encryption::OnRequest || ingest.tls.is_some(),
            "implicit TLS has a certificate"
        );
        Self {
            socket,
            ingest,
            encryption,
        }
    }

    /// Where it listens.
    ///
    /// # Errors
    /// When the system does not tell.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Accepts connections until `stop`; each runs on `tasks` and ends its transaction first.
    pub async fn run(self, tasks: TaskTracker, stop: CancellationToken) {
        loop {
            let accepted = tokio::select! {
                () = stop.cancelled() => return,
                accepted = self.socket.accept() => accepted,
            };
            match accepted {
                Ok((stream, peer)) => self.admit(stream, peer, &tasks, &stop),
                Err(error) => {
                    tracing::warn!(%error, "an SMTP connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    fn admit(&self, stream: TcpStream, peer: SocketAddr, tasks: &TaskTracker, stop: &CancellationToken) {
        let _ = stream.set_nodelay(true);
        let accepted = Accepted {
            stream,
            // A socket for both families shows IPv4 addresses as IPv6 ones.
            peer: SocketAddr::new(peer.ip().to_canonical(), peer.port()),
            encryption: self.encryption,
            ingest: Arc::clone(&self.ingest),
        };
        match self.ingest.connections.enter(&self.ingest.limits) {
            Some(place) => tasks.spawn(accepted.serve(place, stop.clone())),
            None => tasks.spawn(accepted.refuse()),
        };
    }
}

/// A connection that is being served, for the monitor.
struct Open {
    monitor: Arc<Monitor>,
}

impl Open {
    fn begin(monitor: &Arc<Monitor>, peer: IpAddr) -> Self {
        monitor.note(Happening::ConnectionOpened { peer });
        Self {
            monitor: Arc::clone(monitor),
        }
    }
}

/// However it ends.
impl Drop for Open {
    fn drop(&mut self) {
        self.monitor.note(Happening::ConnectionClosed);
    }
}

impl Accepted {
    async fn serve(mut self, mut place: Place, stop: CancellationToken) {
        let client = tokio::select! {
            () = stop.cancelled() => None,
            client = self.client() => client,
        };
        let Some(peer) = client else { return };
        self.peer = peer;
        if !place.belongs_to(peer.ip(), &self.ingest.limits) {
            drop(place);
            return self.refuse().await;
        }
        let _open = Open::begin(&self.ingest.monitor, peer.ip());
        let served = match self.encryption {
            Encryption::OnRequest => connection::serve(self.stream, peer, None, &self.ingest, &stop).await,
            // On the heap: a connection in clear has no room for it.
            Encryption::Implicit => Box::pin(self.serve_encrypted(&stop)).await,
        };
        if let Err(error) = served {
            tracing::debug!(%peer, %error, "an SMTP connection broke");
        }
    }

    async fn serve_encrypted(self, stop: &CancellationToken) -> io::Result<()> {
        let shaken = tokio::select! {
            () = stop.cancelled() => None,
            shaken = handshake::shake_first(self.stream, self.peer, &self.ingest) => shaken,
        };
        let Some(stream) = shaken else { return Ok(()) };
        let facts = restante_tls::facts(&stream);
        connection::serve(stream, self.peer, Some(facts), &self.ingest, stop).await
    }

    /// The client's address, which a proxy has to say first; nothing, and the end, if it does not.
    async fn client(&mut self) -> Option<SocketAddr> {
        let proxy = self.peer;
        if !self.ingest.believes(proxy.ip()) {
            return Some(proxy);
        }
        let within = self.ingest.limits.first_command.min(PROXY_HEADER_WITHIN);
        match timeout(within, proxy::read_header(&mut self.stream)).await {
            Ok(Ok(client)) => return Some(client.unwrap_or(proxy)),
            // Health checks connect and leave.
            Ok(Err(error @ ProxyError::Read(_))) => tracing::debug!(%proxy, "no PROXY protocol v2 header: {error}"),
            Ok(Err(error)) => tracing::warn!(
                %proxy,
                "closed: a PROXY protocol v2 header must come first from this network (SVC_SMTP_PROXY_PROTOCOL_NETWORKS): {error}"
            ),
            Err(_) => tracing::warn!(
                %proxy,
                "closed: no PROXY protocol v2 header came in time from this network (SVC_SMTP_PROXY_PROTOCOL_NETWORKS)"
            ),
        }
        let _ = connection::close(&mut self.stream).await;
        None
    }

    /// Says why and closes; a client that does not read has a second, as has one that does not close.
    async fn refuse(mut self) {
        tracing::debug!(peer = %self.peer, "too many SMTP connections");
        let peer = self.peer.ip();
        self.ingest.monitor.note(Happening::ConnectionRefused { peer });
        if self.encryption == Encryption::Implicit {
            // A word in clear would be taken for broken TLS, and a handshake is more than it gets.
            return;
        }
        let farewell = reply::too_many_connections().to_bytes();
        let ingest = Arc::clone(&self.ingest);
        let Ok(_place) = ingest.farewells.try_acquire() else {
            return self.refuse_at_once(&farewell);
        };
        let _ = timeout(Duration::from_secs(1), self.stream.write_all(&farewell)).await;
        let _ = connection::close(&mut self.stream).await;
    }

    /// Says why as far as there is room for it, and waits for nothing: a crowd must not take all descriptors.
    fn refuse_at_once(self, farewell: &[u8]) {
        // Past the runtime, which does not know yet whether there is room.
        if let Ok(mut stream) = self.stream.into_std() {
            let _ = stream.write(farewell);
        }
    }
}
