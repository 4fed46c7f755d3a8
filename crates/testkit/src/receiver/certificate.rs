//! The certificate of a receiver with TLS.

use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};

/// A self-signed certificate for these names or addresses, and what serves it, HTTP/1.1 only.
pub(super) fn serving(names: &[&str]) -> (CertificateDer<'static>, Arc<ServerConfig>) {
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    let made = rcgen::generate_simple_self_signed(names).expect("the names are names");
    let certificate = made.cert.der().clone();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider has the cipher suites of TLS 1.2 and 1.3")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key.into())
        .expect("the key is the certificate's");
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    (certificate, Arc::new(config))
}
