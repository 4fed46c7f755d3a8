//! Clients over TLS that trust one certificate and nothing else, and certificates for servers.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rcgen::{CertificateParams, KeyPair};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned, SupportedProtocolVersion};

/// Longer than anything takes; a test that waits so long has failed.
const PATIENCE: Duration = Duration::from_secs(10);

/// Both versions that a server must speak.
pub(crate) const VERSIONS: &[&SupportedProtocolVersion] = &[&rustls::version::TLS12, &rustls::version::TLS13];

/// A connection after its handshake.
pub(crate) type TlsSocket = StreamOwned<ClientConnection, TcpStream>;

/// A certificate that signs itself, and its key, in PEM form.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) chain: String,
    pub(crate) key: String,
}

impl Pair {
    /// A pair for these names.
    pub(crate) fn new(names: &[&str]) -> Self {
        let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(names).unwrap().self_signed(&key).unwrap();
        Self {
            chain: certificate.pem(),
            key: key.serialize_pem(),
        }
    }

    /// Writes both files and says where they are.
    pub(crate) fn write(&self, directory: &Path) -> [PathBuf; 2] {
        [("chain.pem", &self.chain), ("key.pem", &self.key)].map(|(name, text)| {
            let path = directory.join(name);
            replace(&path, text);
            path
        })
    }
}

/// Writes a file whole or not at all.
pub(crate) fn replace(path: &Path, text: &str) {
    let unfinished = path.with_extension("unfinished");
    fs::write(&unfinished, text).unwrap();
    fs::rename(&unfinished, path).unwrap();
}

/// Connects as `localhost`, trusting the certificate (PEM) alone, and does the handshake.
pub(crate) fn connect(address: SocketAddr, trusted: &str) -> io::Result<TlsSocket> {
    connect_with(address, trusted, "localhost", VERSIONS)
}

/// The same under another name, or with other versions.
pub(crate) fn connect_with(
    address: SocketAddr,
    trusted: &str,
    name: &str,
    versions: &[&'static SupportedProtocolVersion],
) -> io::Result<TlsSocket> {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(trusted.as_bytes()).unwrap())
        .unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let mut connection = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut socket = TcpStream::connect(address)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.set_write_timeout(Some(PATIENCE))?;
    while connection.is_handshaking() {
        connection.complete_io(&mut socket)?;
    }
    Ok(StreamOwned::new(connection, socket))
}

/// Sends a head (lines without line ends) and reads the answer until the server closes.
pub(crate) fn exchange(mut socket: TlsSocket, head: &[&str]) -> String {
    let request = [head.join("\r\n").as_bytes(), b"\r\nConnection: close\r\n\r\n"].concat();
    socket.write_all(&request).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    answer
}
