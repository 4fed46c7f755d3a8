//! The resolver below all checks: which servers it asks, and how long it waits.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use mail_auth::hickory_resolver::TokioResolver;
use mail_auth::hickory_resolver::config::{
    ConnectionConfig, LookupIpStrategy, NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts,
};
use mail_auth::hickory_resolver::net::NetError;
use mail_auth::hickory_resolver::net::runtime::TokioRuntimeProvider;
use mail_auth::hickory_resolver::system_conf::read_system_conf;

/// Where DNS servers listen.
const DNS_PORT: u16 = 53;
/// Answers that are remembered, each for as long as its record says.
///
/// The cache counts answers and not their bytes, and one answer may have 64 KiB, which is twice that in memory:
/// all of them together stay under 32 MiB.
const CACHED_ANSWERS: u64 = 256;
/// Longest time that an answer is remembered, whatever its record says: a test that changes a zone waits no longer.
const LONGEST_MEMORY: Duration = Duration::from_hours(1);

/// Why there is no authenticator.
#[derive(Debug, thiserror::Error)]
pub enum ResolverError {
    /// The system's resolver configuration cannot be read.
    #[error("the system's DNS configuration cannot be read: {0}; SVC_DNS_RESOLVER names a server")]
    System(String),
}

/// A resolver that asks `server`, or the system's servers, and gives up on a query within two fifths of `timeout`.
///
/// One query of a first check and one of DMARC thus fail by themselves within the time of a message,
/// so that each result can say which server or name did not answer.
pub(crate) fn build(server: Option<SocketAddr>, timeout: Duration) -> Result<TokioResolver, ResolverError> {
    let config = match server {
        Some(server) => ResolverConfig::from_parts(None, vec![], vec![name_server(server)]),
        None => system_servers()?,
    };
    TokioResolver::builder_with_config(config, TokioRuntimeProvider::default())
        .with_options(options(timeout))
        .with_tls_config(no_tls())
        .build()
        .map_err(|error| ResolverError::System(error.to_string()))
}

/// The system's servers, without its search list: every name here is absolute.
fn system_servers() -> Result<ResolverConfig, ResolverError> {
    let servers = match read_system_conf() {
        Ok((config, _)) => config.name_servers().to_vec(),
        Err(error) if names_no_server(&error) => vec![name_server(SocketAddr::from((Ipv4Addr::LOCALHOST, DNS_PORT)))],
        Err(error) => return Err(ResolverError::System(error.to_string())),
    };
    Ok(ResolverConfig::from_parts(None, vec![], servers))
}

/// Without a file, or without a server in it, the system's own resolver asks this machine (`resolv.conf(5)`);
/// a server that is started without a network must start all the same.
fn names_no_server(error: &NetError) -> bool {
    matches!(error, NetError::Io(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::Other))
}

fn name_server(server: SocketAddr) -> NameServerConfig {
    let mut config = NameServerConfig::udp_and_tcp(server.ip());
    config.connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()]
        .map(|mut connection| {
            connection.port = server.port();
            connection
        })
        .into();
    config
}

fn options(timeout: Duration) -> ResolverOpts {
    let mut options = ResolverOpts::default();
    options.ndots = 0;
    options.timeout = timeout * 2 / 5;
    // A lost packet is sent again within the time-out; starting over would only spend the time of the other checks.
    options.attempts = 0;
    options.edns0 = true;
    // RFC 7208 section 5.7: `exists` asks for A records only, whatever the client's address family.
    options.ip_strategy = LookupIpStrategy::Ipv4Only;
    options.cache_size = CACHED_ANSWERS;
    options.positive_max_ttl = Some(LONGEST_MEMORY);
    options.negative_max_ttl = Some(LONGEST_MEMORY);
    // Results say what DNS says, which is what another receiver would see.
    options.use_hosts_file = ResolveHosts::Never;
    options
}

/// A TLS configuration that trusts nobody.
///
/// No query is sent over TLS, but the builder would otherwise read the system's certificates, and fail where it has none.
fn no_tls() -> rustls::ClientConfig {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider has the cipher suites of TLS 1.2 and 1.3")
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_configuration_that_cannot_be_read_is_an_error() {
        let error = |kind: io::ErrorKind| NetError::from(io::Error::from(kind));
        assert!(names_no_server(&error(io::ErrorKind::NotFound)));
        assert!(names_no_server(&NetError::from(io::Error::other(
            "no nameservers found in config"
        ))));
        assert!(!names_no_server(&error(io::ErrorKind::PermissionDenied)));
        assert!(!names_no_server(&NetError::Timeout));
    }
}
