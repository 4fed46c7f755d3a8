//! Connections: TLS where it is asked for, hyper with deadlines of our own, and a graceful end.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use restante_tls::Acceptor;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::OwnedSemaphorePermit;

use crate::gate;
use crate::io::{Busy, BusyGuard, Deadlined};
use crate::router::router;
use crate::state::Api;

/// How long the accept loop rests when the process has run out of something.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Bytes of a request head, at most; a connection holds so many.
const HEAD_MAX: usize = 128 * 1024;

/// A bound socket that serves the API, in plain or over TLS; all of them share the places for connections.
#[derive(Debug)]
pub struct HttpServer {
    socket: TcpListener,
    api: Arc<Api>,
    tls: Option<Acceptor>,
}

impl HttpServer {
    /// Wraps a bound socket that speaks HTTP.
    pub fn http(socket: TcpListener, api: Arc<Api>) -> Self {
        Self { socket, api, tls: None }
    }

    /// Wraps a bound socket that speaks HTTPS.
    pub fn https(socket: TcpListener, api: Arc<Api>, tls: Acceptor) -> Self {
        let tls = Some(tls);
        Self { socket, api, tls }
    }

    /// Where it listens.
    ///
    /// # Errors
    /// When the system does not tell.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Serves until the API stops; connections finish the request under way.
    pub async fn run(self) {
        let router = router(Arc::clone(&self.api));
        loop {
            let accepted = tokio::select! {
                () = self.api.stop.cancelled() => return,
                accepted = self.accept() => accepted,
            };
            match accepted {
                Ok((stream, peer, place)) => {
                    let _ = stream.set_nodelay(true);
                    let served = open(stream, peer, self.tls.clone(), Arc::clone(&self.api), router.clone());
                    self.api.tasks.spawn(async move {
                        served.await;
                        drop(place);
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "an HTTP connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    /// The next connection, once there is a place for it; those behind it wait with the system.
    ///
    /// It comes before its place: listeners that hold places for nobody would starve each other.
    async fn accept(&self) -> io::Result<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
        let (stream, peer) = self.socket.accept().await?;
        let place = Arc::clone(&self.api.places).acquire_owned().await;
        let place = place.expect("nobody closes the semaphore");
        // A socket for both kinds of addresses shows IPv4 ones as IPv6: one client is one address.
        let peer = SocketAddr::new(peer.ip().to_canonical(), peer.port());
        Ok((stream, peer, place))
    }
}

/// Serves a connection, in plain or over TLS.
async fn open(stream: TcpStream, peer: SocketAddr, tls: Option<Acceptor>, api: Arc<Api>, router: Router) {
    match tls {
        None => serve(stream, peer, api, router).await,
        // On the heap: a connection in plain has no room for it.
        Some(tls) => Box::pin(open_encrypted(stream, peer, tls, api, router)).await,
    }
}

/// Does the handshake and serves; a stop ends a handshake at once.
async fn open_encrypted(stream: TcpStream, peer: SocketAddr, tls: Acceptor, api: Arc<Api>, router: Router) {
    let stop = api.stop.clone();
    let accepted = tokio::select! {
        () = stop.cancelled() => return,
        accepted = tls.accept(stream) => accepted,
    };
    match accepted {
        Ok(stream) => serve(stream, peer, api, router).await,
        Err(error) => tracing::debug!(%peer, %error, "no HTTPS connection came of it"),
    }
}

async fn serve<S>(stream: S, peer: SocketAddr, api: Arc<Api>, router: Router)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let busy = Busy::default();
    let io = TokioIo::new(Deadlined::new(stream, busy.clone()));
    let stop = api.stop.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        let (api, router, guard) = (Arc::clone(&api), router.clone(), busy.begin());
        let request = request.map(|body| Body::new(RequestBody::new(body, busy.clone())));
        async move {
            let response = gate::answer(&api, router, request, peer).await;
            Ok::<_, Infallible>(response.map(|body| BusyBody { body, _guard: guard }))
        }
    });
    // The deadlines are those of `Deadlined`; hyper's own would run while a connection rests.
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(None)
        .max_header_size(HEAD_MAX)
        .max_buf_size(HEAD_MAX)
        .serve_connection(io, service);
    tokio::pin!(connection);
    let served = tokio::select! {
        served = connection.as_mut() => served,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = served {
        tracing::debug!(%peer, %error, "an HTTP connection broke");
    }
}

/// A body that tells its connection when it is not read to its end.
struct RequestBody {
    body: Incoming,
    busy: Busy,
    has_ended: bool,
}

impl RequestBody {
    fn new(body: Incoming, busy: Busy) -> Self {
        let has_ended = body.is_end_stream();
        Self { body, busy, has_ended }
    }
}

impl HttpBody for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        self.has_ended |= matches!(frame, Poll::Ready(None)) || self.body.is_end_stream();
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        if !self.has_ended {
            self.busy.leave_unread();
        }
    }
}

/// A body that keeps its connection busy until it is sent.
struct BusyBody {
    body: Body,
    _guard: BusyGuard,
}

impl HttpBody for BusyBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes of the future that a function of five arguments gives back.
    fn size<A, B, C, D, E, F: Future>(_: impl Fn(A, B, C, D, E) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn a_connection_in_plain_does_not_carry_the_state_of_tls() {
        let (plain, encrypted) = (size(open), size(open_encrypted));
        assert!(plain < encrypted, "{plain} bytes, {encrypted} over TLS");
    }
}
