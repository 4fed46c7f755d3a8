//! The HTTP client, and whom it trusts.

use std::sync::Arc;

use reqwest::redirect;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use url::{Host, Url};

use crate::Error;

/// A client for one server: it follows no redirect, and asks no proxy for a server of this machine.
pub(super) fn client(base: &Url, certificates: &[Vec<u8>]) -> Result<reqwest::Client, Error> {
    let mut builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls(certificates)?)
        .redirect(redirect::Policy::none())
        .user_agent(concat!("restante-client/", env!("CARGO_PKG_VERSION")));
    if is_local(base) {
        builder = builder.no_proxy();
    }
    builder
        .build()
        .map_err(|error| Error::Configuration(format!("the HTTP client cannot be made: {error}")))
}

fn is_local(base: &Url) -> bool {
    match base.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
        None => false,
    }
}

/// TLS that trusts the system's authorities and the given ones.
fn tls(certificates: &[Vec<u8>]) -> Result<ClientConfig, Error> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    for pem in certificates {
        add(&mut roots, pem)?;
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider has the cipher suites of TLS 1.2 and 1.3")
        .with_root_certificates(roots)
        .with_no_client_auth())
}

fn add(roots: &mut RootCertStore, pem: &[u8]) -> Result<(), Error> {
    let fault = |text: String| Error::Configuration(format!("the CA certificate cannot be used: {text}"));
    let mut found = false;
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| fault(error.to_string()))?;
        roots.add(certificate).map_err(|error| fault(error.to_string()))?;
        found = true;
    }
    found
        .then_some(())
        .ok_or_else(|| fault("expected PEM with -----BEGIN CERTIFICATE-----".to_owned()))
}
