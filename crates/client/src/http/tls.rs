//! The HTTP client, and whom it trusts.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::redirect;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use url::{Host, Url};

use crate::Error;

/// How long a connection is kept for the next request.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_mins(1);

/// A client for one server: it follows no redirect, and asks no proxy for a server of this machine.
pub(super) fn client(base: &Url, certificates: &[Vec<u8>]) -> Result<reqwest::Client, Error> {
    let mut builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls(base, certificates)?)
        .redirect(redirect::Policy::none())
        // Less than the server keeps an idle connection, so that none is used just when it ends.
        .pool_idle_timeout(POOL_IDLE_TIMEOUT)
        .user_agent(concat!("restante-client/", env!("CARGO_PKG_VERSION")));
    if is_local(base) {
        builder = builder.no_proxy();
    }
    builder
        .build()
        .map_err(|error| Error::Configuration(format!("the HTTP client cannot be made: {error}")))
}

/// Whether a URL names this machine: by loopback, by the address that stands for all, or by `localhost` (RFC 6761).
pub(crate) fn is_local(base: &Url) -> bool {
    let is_local_v4 = |address: Ipv4Addr| address.is_loopback() || address.is_unspecified();
    match base.host() {
        Some(Host::Ipv4(address)) => is_local_v4(address),
        Some(Host::Ipv6(address)) => {
            address.is_loopback() || address.is_unspecified() || address.to_ipv4_mapped().is_some_and(is_local_v4)
        }
        Some(Host::Domain(name)) => {
            let name = name.strip_suffix('.').unwrap_or(name);
            name == "localhost" || name.ends_with(".localhost")
        }
        None => false,
    }
}

/// TLS that trusts the system's authorities and the given ones.
fn tls(base: &Url, certificates: &[Vec<u8>]) -> Result<ClientConfig, Error> {
    let mut roots = RootCertStore::empty();
    // Without TLS nobody asks for them, and reading them is most of what making a client takes.
    if base.scheme() == "https" {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
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
    let mut found = 0;
    for certificate in CertificateDer::pem_slice_iter(pem) {
        found += 1;
        let damaged = |error: String| fault(format!("certificate {found} in its PEM is damaged: {error}"));
        let certificate = certificate.map_err(|error| damaged(error.to_string()))?;
        roots.add(certificate).map_err(|error| damaged(error.to_string()))?;
    }
    if found > 0 {
        return Ok(());
    }
    let expected = "expected PEM with -----BEGIN CERTIFICATE-----";
    Err(fault(if pem.is_empty() {
        format!("{expected}, got nothing")
    } else {
        format!("{expected}, and there is none in it")
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_of_this_machine_are_told_apart() {
        for (url, expected) in [
            ("http://127.0.0.1:8080", true),
            ("http://127.9.9.9", true),
            ("http://0.0.0.0:8080", true),
            ("http://[::1]:8080", true),
            ("http://[::]:8080", true),
            ("http://[::ffff:127.0.0.1]", true),
            ("http://localhost:8080", true),
            ("http://LOCALHOST.", true),
            ("http://mail.localhost", true),
            ("http://10.0.0.1", false),
            ("http://[::ffff:10.0.0.1]", false),
            ("http://[fe80::1]", false),
            ("http://localhost.example", false),
            ("http://notlocalhost", false),
        ] {
            assert_eq!(is_local(&Url::parse(url).unwrap()), expected, "{url}");
        }
    }

    #[test]
    fn what_is_no_certificate_is_refused() {
        let base = Url::parse("http://127.0.0.1").unwrap();
        let broken = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n";
        for (pem, fault) in [
            ("", "expected PEM with -----BEGIN CERTIFICATE-----, got nothing"),
            (
                "not PEM",
                "expected PEM with -----BEGIN CERTIFICATE-----, and there is none in it",
            ),
            (
                "-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n",
                "expected PEM with -----BEGIN CERTIFICATE-----, and there is none in it",
            ),
            (broken, "certificate 1 in its PEM is damaged: "),
        ] {
            let error = tls(&base, &[pem.into()]).unwrap_err().to_string();
            let expected = format!("the CA certificate cannot be used: {fault}");
            assert!(error.starts_with(&expected), "{error}");
        }
    }
}
