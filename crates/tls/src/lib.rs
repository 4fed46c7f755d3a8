//! TLS of the listeners: one certificate for SMTP and HTTPS, read from files that may change while it is in use.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use restante_model::TlsFacts;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
pub use tokio_rustls::server::TlsStream;

/// Where a certificate and its key are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateFiles {
    /// PEM file of the chain, the server's certificate first.
    pub chain: PathBuf,
    /// PEM file of the private key.
    pub key: PathBuf,
}

/// Takes TLS connections with the certificate that holds when they begin.
#[derive(Debug, Clone)]
pub struct Acceptor {
    config: Arc<ServerConfig>,
}

impl Acceptor {
    /// Does the handshake.
    ///
    /// # Errors
    /// When the client does not speak TLS, or goes.
    pub async fn accept<S>(&self, stream: S) -> io::Result<TlsStream<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        tokio_rustls::TlsAcceptor::from(Arc::clone(&self.config))
            .accept(stream)
            .await
    }
}

/// How the connection is encrypted.
pub fn facts<S>(stream: &TlsStream<S>) -> TlsFacts {
    let (_, connection) = stream.get_ref();
    let version = connection.protocol_version().and_then(|version| version.as_str());
    let cipher = connection
        .negotiated_cipher_suite()
        .and_then(|suite| suite.suite().as_str());
    TlsFacts {
        version: version.unwrap_or("TLS").replace('_', "."),
        cipher: cipher.unwrap_or("unknown").to_owned(),
    }
}
