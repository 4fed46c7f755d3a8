//! Look-ups by a DNS server that the operator named.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use hickory_resolver::TokioResolver;
use hickory_resolver::config::{
    ConnectionConfig, LookupIpStrategy, NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts,
};
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::rr::Name;

use super::{Lookup, Unresolved, found};

/// One DNS server, asked anew for each connection: a name that moves is followed at once, and guarded at each step.
#[derive(Clone)]
pub struct DnsLookup {
    server: SocketAddr,
    resolver: TokioResolver,
}

impl DnsLookup {
    /// Look-ups by the server at this address, for attempts that may take as long as `timeout`.
    ///
    /// A query is given up after two fifths of it: where only one of the two kinds of address is answered for, the
    /// attempt goes on with the other.
    ///
    /// # Panics
    /// Never: nothing is read or connected to yet.
    pub fn new(server: SocketAddr, timeout: Duration) -> Self {
        let config = ResolverConfig::from_parts(None, vec![], vec![name_server(server)]);
        let resolver = TokioResolver::builder_with_config(config, TokioRuntimeProvider::default())
            .with_options(options(timeout))
            .with_tls_config(no_tls())
            .build()
            .expect("a resolver that reads no file of the system can be built");
        Self { server, resolver }
    }
}

impl std::fmt::Debug for DnsLookup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("DnsLookup").field(&self.server).finish()
    }
}

#[async_trait]
impl Lookup for DnsLookup {
    async fn addresses(&self, name: &str) -> Result<Vec<IpAddr>, Unresolved> {
        // The URL has made it ASCII; the other ways to read a name refuse underscores.
        let mut name = Name::from_ascii(name).map_err(|_| Unresolved::NoAddress)?;
        name.set_fqdn(true);
        let answer = self.resolver.lookup_ip(name).await.map_err(|error| reason(&error))?;
        found(answer.iter().collect())
    }
}

fn reason(error: &NetError) -> Unresolved {
    match error {
        NetError::Timeout => Unresolved::Timeout,
        error if error.is_no_records_found() || error.is_nx_domain() => Unresolved::NoAddress,
        _ => Unresolved::Failed,
    }
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
    options.timeout = timeout * 2 / 5;
    // A lost packet is sent again within the time-out.
    options.attempts = 0;
    options.edns0 = true;
    options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
    options.cache_size = 0;
    options.use_hosts_file = ResolveHosts::Never;
    options
}

/// A TLS configuration that trusts nobody: no query is sent over TLS, but the builder would read the system's
/// certificates, and fail where there are none.
fn no_tls() -> rustls::ClientConfig {
    rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider has the cipher suites of TLS 1.2 and 1.3")
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth()
}

#[cfg(test)]
mod tests {
    use restante_testkit::dns::{DnsServer, Trouble};

    use super::*;

    const ZONE: &str = "\
example.test. 60 IN SOA ns.example.test. root.example.test. 1 60 60 60 60
example.test. 60 IN A 192.0.2.1
example.test. 60 IN AAAA 2001:db8::1
old.example.test. 60 IN A 192.0.2.2
alias.example.test. 60 IN CNAME old.example.test.
text.example.test. 60 IN TXT \"no address\"
";

    fn lookup(zone: &str) -> (DnsServer, DnsLookup) {
        let server = DnsServer::of(zone);
        let lookup = DnsLookup::new(server.address(), Duration::from_secs(5));
        (server, lookup)
    }

    #[tokio::test]
    async fn all_addresses_of_both_kinds_are_found_through_aliases_too() {
        let (_server, lookup) = lookup(ZONE);
        let mut both = lookup.addresses("example.test").await.unwrap();
        both.sort();
        assert_eq!(
            both,
            ["192.0.2.1".parse::<IpAddr>().unwrap(), "2001:db8::1".parse().unwrap()]
        );
        let through = lookup.addresses("alias.example.test.").await.unwrap();
        assert_eq!(through, ["192.0.2.2".parse::<IpAddr>().unwrap()]);
    }

    #[tokio::test]
    async fn no_address_and_no_answer_are_told_apart() {
        let (server, lookup) = lookup(ZONE);
        server.trouble("broken.example.test", Trouble::ServFail);
        for (name, why) in [
            ("text.example.test", Unresolved::NoAddress),
            ("none.example.test", Unresolved::NoAddress),
            ("broken.example.test", Unresolved::Failed),
        ] {
            assert_eq!(lookup.addresses(name).await, Err(why), "{name}");
        }
    }

    #[tokio::test]
    async fn a_name_with_an_underscore_is_asked_for() {
        let (server, lookup) = lookup(ZONE);
        let answer = lookup.addresses("my_host.example.test").await;
        assert_eq!(answer, Err(Unresolved::NoAddress));
        assert_eq!(server.all_queries(), 2);
    }

    #[tokio::test]
    async fn a_server_that_does_not_answer_is_given_up() {
        let server = DnsServer::silent();
        let lookup = DnsLookup::new(server.address(), Duration::from_millis(200));
        assert_eq!(lookup.addresses("example.test").await, Err(Unresolved::Timeout));
    }

    #[tokio::test]
    async fn a_name_that_moves_is_followed_at_once() {
        let (server, lookup) = lookup(ZONE);
        for address in ["192.0.2.2", "192.0.2.3"] {
            server.remove("old.example.test");
            server.add(&format!("old.example.test. 3600 IN A {address}\n"));
            let found = lookup.addresses("old.example.test").await.unwrap();
            assert_eq!(found, [address.parse::<IpAddr>().unwrap()]);
        }
    }
}
