//! TLS handshakes: within their time, and told in the log when they fail.

use std::io;
use std::net::SocketAddr;

use restante_tls::TlsStream;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::ingest::Ingest;

/// The first byte of a TLS record that carries a handshake (RFC 8446 section 5.1).
const TLS_HANDSHAKE: u8 = 0x16;

/// Why a handshake failed, for whoever reads the log.
#[derive(Debug, thiserror::Error)]
enum HandshakeError {
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
    let shaken = timeout(ingest.limits.handshake, accept(stream, ingest)).await;
    told(peer, shaken.unwrap_or(Err(HandshakeError::Late)))
}

/// The same for a connection that has to begin with it (RFC 8314 section 3.3).
pub(crate) async fn shake_first(stream: TcpStream, peer: SocketAddr, ingest: &Ingest) -> Option<TlsStream<TcpStream>> {
    let shaken = timeout(ingest.limits.handshake, begin(stream, ingest)).await;
    told(peer, shaken.unwrap_or(Err(HandshakeError::Late)))
}

async fn begin(stream: TcpStream, ingest: &Ingest) -> Result<TlsStream<TcpStream>, HandshakeError> {
    let mut first = [0];
    let count = stream.peek(&mut first).await.map_err(HandshakeError::Failed)?;
    if count > 0 && first != [TLS_HANDSHAKE] {
        return Err(HandshakeError::PlainText);
    }
    accept(stream, ingest).await
}

async fn accept<S>(stream: S, ingest: &Ingest) -> Result<TlsStream<S>, HandshakeError>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let acceptor = ingest.tls.as_ref().expect("TLS is offered only with a certificate");
    acceptor.accept(stream).await.map_err(|error| match error.kind() {
        io::ErrorKind::TimedOut => HandshakeError::Late,
        _ => HandshakeError::Failed(error),
    })
}

fn told<S>(peer: SocketAddr, shaken: Result<S, HandshakeError>) -> Option<S> {
    shaken
        .inspect_err(|error| match error {
            HandshakeError::PlainText => tracing::warn!(%peer, "{error}"),
            HandshakeError::Late | HandshakeError::Failed(_) => tracing::info!(%peer, "{error}"),
        })
        .ok()
}
