//! The HTTP clients below the sender.

use std::sync::Arc;
use std::time::Duration;

use reqwest::{Client, ClientBuilder, redirect};
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};

use super::{SenderConfig, SenderError};
use crate::resolver::GuardedResolver;

/// How long a connection is kept that nobody uses: less than the five seconds after which many servers close theirs.
pub(super) const LONGEST_IDLE: Duration = Duration::from_secs(4);
/// Connections to one host that are kept: as many as deliveries are made at once (docs/spec/interface.md, "Limits").
const MOST_IDLE: usize = 100;

/// The same client twice, with the same rules for connections.
#[derive(Debug, Clone)]
pub(super) struct Clients {
    /// Keeps connections.
    pub(super) pooled: Client,
    /// Makes a connection for each request.
    pub(super) fresh: Client,
}

impl Clients {
    pub(super) fn new(config: &SenderConfig) -> Result<Self, SenderError> {
        let tls = tls(config)?;
        let pooled = builder(config, tls.clone()).pool_max_idle_per_host(MOST_IDLE);
        let fresh = builder(config, tls).pool_max_idle_per_host(0);
        Ok(Self {
            pooled: pooled.build()?,
            fresh: fresh.build()?,
        })
    }
}

fn builder(config: &SenderConfig, tls: ClientConfig) -> ClientBuilder {
    Client::builder()
        .tls_backend_preconfigured(tls)
        .dns_resolver(GuardedResolver::new(config.guard.clone()))
        // A redirect leads where nobody has checked.
        .redirect(redirect::Policy::none())
        // A proxy of the environment would look the name up again.
        .no_proxy()
        // The deadline is the sender's; with this one, several addresses of a name share it.
        .connect_timeout(config.timeout)
        .pool_idle_timeout(LONGEST_IDLE)
        // As the interface writes them, for receivers that take names to the letter.
        .http1_title_case_headers()
        .user_agent(&config.user_agent)
}

/// TLS that trusts the system's authorities and the extra ones.
fn tls(config: &SenderConfig) -> Result<ClientConfig, SenderError> {
    let mut roots = RootCertStore::empty();
    let system = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(system.certs);
    if roots.is_empty() {
        // Targets without TLS, and the extra authorities, work all the same.
        tracing::warn!("the system has no certificate authorities: webhooks to https:// will fail");
    }
    for root in &config.extra_roots {
        roots
            .add(CertificateDer::from(root.clone()))
            .map_err(SenderError::Root)?;
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider has the cipher suites of TLS 1.2 and 1.3")
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(tls)
}
