//! A certificate for a test server, and clients that trust its authority.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use restante_ingest::IngestParts;
use restante_model::{Clock as _, SystemClock};
use restante_tls::{LocalAuthority, Protocol, Tls};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::fixture::{Client, Fixture};

/// What clients trust.
pub(crate) struct Authority {
    connector: TlsConnector,
}

/// A server with a certificate, and its authority.
pub(crate) async fn encrypted(change: impl FnOnce(&mut IngestParts)) -> (Fixture, Authority) {
    let directory = tempfile::tempdir().unwrap();
    let authority = LocalAuthority::new(directory.path().join("tls"), [], []);
    authority.renew(SystemClock.now()).unwrap();
    let tls = Tls::load(authority.files()).unwrap();
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_file(authority.certificate_path()).unwrap())
        .unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let authority = Authority {
        connector: TlsConnector::from(Arc::new(config)),
    };
    let fixture = Fixture::with(|parts| {
        parts.tls = Some(tls.acceptor(Protocol::Smtp, Duration::from_secs(10)));
        change(parts);
    });
    (fixture.await, authority)
}

impl Authority {
    /// The client goes on under TLS.
    pub(crate) async fn encrypt(&self, client: Client) -> io::Result<Client> {
        let name = ServerName::try_from("localhost").unwrap();
        let stream = self.connector.connect(name, client.into_stream()).await?;
        Ok(Client::over(stream))
    }

    /// The client greets, asks for TLS and goes on under it.
    pub(crate) async fn start_tls(&self, mut client: Client) -> Client {
        client.greet().await;
        client.say("STARTTLS", "220 2.0.0 ").await;
        self.encrypt(client).await.unwrap()
    }
}
