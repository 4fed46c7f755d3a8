//! Certificates for tests.

use std::path::Path;
use std::sync::Arc;
use std::{fs, io};

use rcgen::{CertificateParams, KeyPair};
use restante_model::Timestamp;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use time::OffsetDateTime;
use tokio::io::{DuplexStream, duplex};
use tokio_rustls::server::TlsStream;
use tokio_rustls::{TlsConnector, client};

use crate::acceptor::Acceptor;
use crate::certificate::CertificateFiles;
use crate::provider::provider;
use crate::tls::Tls;

/// Looks at what should change soon, on paused time; a test that looks so often has failed.
pub(crate) const LOOKS_MAX: usize = 100;

/// A certificate that signs itself, and its key.
pub(crate) struct Pair {
    pub(crate) chain: String,
    pub(crate) key: String,
    pub(crate) der: Vec<u8>,
}

impl Pair {
    pub(crate) fn new(name: &str) -> Self {
        Self::ending(name, Timestamp::parse("2040-01-01T00:00:00Z").unwrap())
    }

    pub(crate) fn ending(name: &str, end: Timestamp) -> Self {
        Self::between(name, Timestamp::parse("2000-01-01T00:00:00Z").unwrap(), end)
    }

    pub(crate) fn between(name: &str, begin: Timestamp, end: Timestamp) -> Self {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        let date = |moment: Timestamp| i64::try_from(moment.unix_secs()).map(OffsetDateTime::from_unix_timestamp);
        params.not_before = date(begin).unwrap().unwrap();
        params.not_after = date(end).unwrap().unwrap();
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        Self {
            chain: certificate.pem(),
            key: key.serialize_pem(),
            der: certificate.der().to_vec(),
        }
    }

    pub(crate) fn write(&self, files: &CertificateFiles) {
        fs::write(&files.chain, &self.chain).unwrap();
        fs::write(&files.key, &self.key).unwrap();
    }
}

pub(crate) fn files_in(directory: &Path) -> CertificateFiles {
    CertificateFiles {
        chain: directory.join("chain.pem"),
        key: directory.join("key.pem"),
    }
}

/// The certificate in files, and what serves it; the files go with the first of the two.
pub(crate) fn tls_of(pair: &Pair) -> (tempfile::TempDir, Tls) {
    let directory = tempfile::tempdir().unwrap();
    let files = files_in(directory.path());
    pair.write(&files);
    let tls = Tls::load(files).unwrap();
    (directory, tls)
}

/// A client that trusts this certificate alone and speaks these versions.
pub(crate) fn client(trusted: &Pair, versions: &[&'static SupportedProtocolVersion]) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.der.clone().into()).unwrap();
    ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth()
}

pub(crate) async fn connect(
    stream: DuplexStream,
    client: ClientConfig,
    name: &str,
) -> io::Result<client::TlsStream<DuplexStream>> {
    let name = ServerName::try_from(name.to_owned()).unwrap();
    TlsConnector::from(Arc::new(client)).connect(name, stream).await
}

/// Both ends of a handshake that both think is done.
pub(crate) async fn shake(
    acceptor: &Acceptor,
    client: ClientConfig,
    name: &str,
) -> io::Result<(client::TlsStream<DuplexStream>, TlsStream<DuplexStream>)> {
    let (near, far) = duplex(16 * 1024);
    let (connected, accepted) = tokio::join!(connect(near, client, name), acceptor.accept(far));
    Ok((connected?, accepted?))
}
