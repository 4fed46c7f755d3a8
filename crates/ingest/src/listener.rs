//! Accepting sockets.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::ingest::Ingest;
use crate::limits::Place;
use crate::{connection, reply};

/// How long the accept loop rests when the process has run out of something.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

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

impl Listener {
    /// Wraps a bound socket.
    pub fn new(socket: TcpListener, ingest: Arc<Ingest>, encryption: Encryption) -> Self {
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
                Ok((stream, _)) if self.encryption == Encryption::Implicit => drop(stream),
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
        let ingest = Arc::clone(&self.ingest);
        match ingest.connections.enter(peer.ip(), &ingest.limits) {
            Some(place) => tasks.spawn(serve(stream, peer, ingest, stop.clone(), place)),
            None => tasks.spawn(refuse(stream, peer)),
        };
    }
}

async fn serve(stream: TcpStream, peer: SocketAddr, ingest: Arc<Ingest>, stop: CancellationToken, place: Place) {
    if let Err(error) = connection::serve(stream, peer, &ingest, &stop).await {
        tracing::debug!(%peer, %error, "an SMTP connection broke");
    }
    drop(place);
}

/// Says why and closes; a client that does not read has a second, as has one that does not close.
async fn refuse(mut stream: TcpStream, peer: SocketAddr) {
    tracing::debug!(%peer, "too many SMTP connections");
    let farewell = reply::too_many_connections().to_bytes();
    let _ = tokio::time::timeout(Duration::from_secs(1), stream.write_all(&farewell)).await;
    let _ = connection::close(&mut stream).await;
}
