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

/// Does the handshake; a client that fails it is closed.
///
/// What it sent in clear and was not read yet fails it, so that nothing of it is ever answered under TLS.
pub(crate) async fn shake<S>(stream: S, peer: SocketAddr, ingest: &Ingest) -> Option<TlsStream<S>>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let shaken = timeout(ingest.limits.handshake, accept(stream, peer, ingest)).await;
    shaken.unwrap_or_else(|_| {
        tracing::info!(%peer, "no TLS handshake in time after STARTTLS");
        None
    })
}

/// The same for a connection that has to begin with it (RFC 8314 section 3.3).
pub(crate) async fn shake_first(stream: TcpStream, peer: SocketAddr, ingest: &Ingest) -> Option<TlsStream<TcpStream>> {
    let shaken = timeout(ingest.limits.handshake, begin(stream, peer, ingest)).await;
    shaken.unwrap_or_else(|_| {
        tracing::info!(%peer, "no TLS handshake in time: a client that waits for a greeting wants the plain port");
        None
    })
}

async fn begin(stream: TcpStream, peer: SocketAddr, ingest: &Ingest) -> Option<TlsStream<TcpStream>> {
    if first_byte(&stream).await.ok()?? == TLS_HANDSHAKE {
        return accept(stream, peer, ingest).await;
    }
    tracing::warn!(%peer, "plain text on the port of implicit TLS: plain SMTP and STARTTLS have another port");
    None
}

async fn accept<S>(stream: S, peer: SocketAddr, ingest: &Ingest) -> Option<TlsStream<S>>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let acceptor = ingest.tls.as_ref()?;
    let accepted = acceptor.accept(stream).await;
    accepted
        .inspect_err(|error| tracing::info!(%peer, %error, "a TLS handshake failed"))
        .ok()
}

/// The first byte that the client sends, left where it is.
async fn first_byte(stream: &TcpStream) -> io::Result<Option<u8>> {
    let mut first = [0];
    let count = stream.peek(&mut first).await?;
    Ok((count > 0).then_some(first[0]))
}
