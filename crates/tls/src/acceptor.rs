//! Handshakes.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use restante_model::TlsFacts;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// What is spoken under TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// SMTP, which has no name in a handshake: clients that offer one are served all the same.
    Smtp,
    /// HTTP/1.1 (ALPN `http/1.1`, RFC 7301).
    Http,
}

impl Protocol {
    pub(crate) fn alpn(self) -> Vec<Vec<u8>> {
        match self {
            Self::Smtp => Vec::new(),
            Self::Http => vec![b"http/1.1".to_vec()],
        }
    }
}

/// Takes TLS connections with the certificate that holds when they begin.
#[derive(Debug, Clone)]
pub struct Acceptor {
    config: Arc<ServerConfig>,
    within: Duration,
}

impl Acceptor {
    pub(crate) fn new(config: ServerConfig, within: Duration) -> Self {
        Self {
            config: Arc::new(config),
            within,
        }
    }

    /// How long a handshake may take.
    pub fn within(&self) -> Duration {
        self.within
    }

    /// Does the handshake, within the time of the acceptor.
    ///
    /// # Errors
    /// `TimedOut` for a client that is too slow; else when it does not speak TLS, or goes.
    pub async fn accept<S>(&self, stream: S) -> io::Result<TlsStream<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let handshake = TlsAcceptor::from(Arc::clone(&self.config)).accept(stream);
        let done = tokio::time::timeout(self.within, handshake).await;
        done.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }
}

/// How the connection is encrypted: `TLSv1.3` and a cipher suite by its registered name (IANA, TLS Cipher Suites).
pub fn facts<S>(stream: &TlsStream<S>) -> TlsFacts {
    let (_, connection) = stream.get_ref();
    let version = connection.protocol_version().and_then(|version| version.as_str());
    let cipher = connection
        .negotiated_cipher_suite()
        .and_then(|suite| suite.suite().as_str());
    // rustls spells names as Rust does: `TLSv1_3`, and `TLS13_` where the registry has `TLS_`.
    TlsFacts {
        version: version.unwrap_or("TLS").replace('_', "."),
        cipher: cipher.unwrap_or("unknown").replacen("TLS13_", "TLS_", 1),
    }
}

#[cfg(test)]
mod tests {
    use rustls::version::{TLS12, TLS13};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;
    use crate::testing::{Pair, client, connect, shake, tls_of};

    const WITHIN: Duration = Duration::from_secs(10);

    #[tokio::test]
    async fn both_versions_are_spoken_and_told_by_their_registered_names() {
        let pair = Pair::new("a.test");
        let (_files, tls) = tls_of(&pair);
        let acceptor = tls.acceptor(Protocol::Smtp, WITHIN);
        for (version, told, cipher) in [
            (&TLS12, "TLSv1.2", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"),
            (&TLS13, "TLSv1.3", "TLS_AES_256_GCM_SHA384"),
        ] {
            let (mut at_client, mut at_server) = shake(&acceptor, client(&pair, &[version]), "a.test").await.unwrap();
            let facts = facts(&at_server);
            assert_eq!((facts.version.as_str(), facts.cipher.as_str()), (told, cipher));
            at_client.write_all(b"hello").await.unwrap();
            at_client.flush().await.unwrap();
            let mut heard = [0; 5];
            at_server.read_exact(&mut heard).await.unwrap();
            assert_eq!(&heard, b"hello");
        }
    }

    #[tokio::test]
    async fn http_has_a_name_in_the_handshake_and_smtp_has_none() {
        let pair = Pair::new("a.test");
        let (_files, tls) = tls_of(&pair);
        for (protocol, offered, expected) in [
            (Protocol::Http, vec!["h2", "http/1.1"], Some(Some("http/1.1"))),
            (Protocol::Http, vec![], Some(None)),
            (Protocol::Http, vec!["h2"], None),
            (Protocol::Smtp, vec!["smtp"], Some(None)),
        ] {
            let mut client = client(&pair, &[&TLS13]);
            client.alpn_protocols = offered.iter().map(|name| name.as_bytes().to_vec()).collect();
            let shaken = shake(&tls.acceptor(protocol, WITHIN), client, "a.test").await;
            let agreed = shaken
                .ok()
                .map(|(_, server)| server.get_ref().1.alpn_protocol().map(<[u8]>::to_vec));
            let expected = expected.map(|name| name.map(|name: &str| name.as_bytes().to_vec()));
            assert_eq!(agreed, expected, "{protocol:?} {offered:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_handshake_that_does_not_end_is_cut() {
        let (_files, tls) = tls_of(&Pair::new("a.test"));
        let acceptor = tls.acceptor(Protocol::Smtp, WITHIN);
        for sent in [&b""[..], b"\x16\x03\x01\x02\x00\x01"] {
            let (mut client, server) = duplex(1024);
            client.write_all(sent).await.unwrap();
            let began = tokio::time::Instant::now();
            let error = acceptor.accept(server).await.unwrap_err();
            assert_eq!(
                (error.kind(), began.elapsed()),
                (io::ErrorKind::TimedOut, WITHIN),
                "{sent:?}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_does_not_speak_tls_is_cut_at_once() {
        let (_files, tls) = tls_of(&Pair::new("a.test"));
        let acceptor = tls.acceptor(Protocol::Http, WITHIN);
        for sent in [&b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"[..], b"EHLO a.test\r\n"] {
            let (mut client, server) = duplex(1024);
            client.write_all(sent).await.unwrap();
            let began = tokio::time::Instant::now();
            acceptor.accept(server).await.unwrap_err();
            assert_eq!(began.elapsed(), Duration::ZERO, "{sent:?}");
        }
    }

    #[tokio::test]
    async fn a_client_that_trusts_somebody_else_goes() {
        let (_files, tls) = tls_of(&Pair::new("a.test"));
        let acceptor = tls.acceptor(Protocol::Smtp, WITHIN);
        let stranger = client(&Pair::new("a.test"), &[&TLS13]);
        let (near, far) = duplex(16 * 1024);
        let (connected, _accepted) = tokio::join!(connect(near, stranger, "a.test"), acceptor.accept(far));
        assert!(connected.is_err());
    }
}
