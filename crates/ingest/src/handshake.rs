//! TLS handshakes: within their time, and told in the log when they fail.

use std::io;
use std::net::SocketAddr;

use restante_tls::{Acceptor, TlsStream};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use crate::connection;
use crate::ingest::Ingest;

/// The first byte of a TLS record that carries a handshake (RFC 8446 section 5.1).
const TLS_HANDSHAKE: u8 = 0x16;

/// Why a handshake failed, for whoever reads the log.
#[derive(Debug, thiserror::Error)]
enum HandshakeError {
    #[error("a client went before its TLS handshake")]
    Gone,
    #[error("plain text on the port of implicit TLS: plain SMTP and STARTTLS have another port")]
    PlainText,
    #[error("no TLS handshake in time: a client that waits for a greeting wants the port of plain SMTP")]
    Late,
    #[error("a TLS handshake failed: {0}")]
    Failed(io::Error),
}

/// Does the handshake; a client that fails it is closed.
///
/// What it sent in clear and was not read yet fails it, so that nothing of it is ever answered under TLS.
pub(crate) async fn shake<S>(stream: S, peer: SocketAddr, ingest: &Ingest) -> Option<TlsStream<S>>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let shaken = accept(stream, acceptor(ingest)).await;
    shaken.inspect_err(|error| tell(peer, error)).ok()
}

/// The same for a connection that has to begin with it (RFC 8314 section 3.3); both have one deadline.
pub(crate) async fn shake_first(
    mut stream: TcpStream,
    peer: SocketAddr,
    ingest: &Ingest,
) -> Option<TlsStream<TcpStream>> {
    let acceptor = acceptor(ingest);
    let deadline = Instant::now() + acceptor.within();
    let begun = timeout_at(deadline, begin(&stream)).await;
    if let Err(error) = begun.unwrap_or(Err(HandshakeError::Late)) {
        tell(peer, &error);
        let _ = connection::close(&mut stream).await;
        return None;
    }
    let shaken = timeout_at(deadline, accept(stream, acceptor)).await;
    let shaken = shaken.unwrap_or(Err(HandshakeError::Late));
    shaken.inspect_err(|error| tell(peer, error)).ok()
}

/// Waits for the first byte, and leaves it.
async fn begin(stream: &TcpStream) -> Result<(), HandshakeError> {
    let mut first = [0];
    match stream.peek(&mut first).await.map_err(HandshakeError::Failed)? {
        0 => Err(HandshakeError::Gone),
        _ if first == [TLS_HANDSHAKE] => Ok(()),
        _ => Err(HandshakeError::PlainText),
    }
}

async fn accept<S>(stream: S, acceptor: &Acceptor) -> Result<TlsStream<S>, HandshakeError>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    acceptor.accept(stream).await.map_err(|error| match error.kind() {
        io::ErrorKind::TimedOut => HandshakeError::Late,
        _ => HandshakeError::Failed(error),
    })
}

fn acceptor(ingest: &Ingest) -> &Acceptor {
    ingest.tls.as_ref().expect("TLS is offered only with a certificate")
}

fn tell(peer: SocketAddr, error: &HandshakeError) {
    match error {
        // Health checks connect and leave.
        HandshakeError::Gone => tracing::debug!(%peer, "{error}"),
        HandshakeError::PlainText => tracing::warn!(%peer, "{error}"),
        HandshakeError::Late | HandshakeError::Failed(_) => tracing::info!(%peer, "{error}"),
    }
}
