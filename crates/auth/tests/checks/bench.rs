//! A DNS server, an authenticator that asks it, and a session that brought a message.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use restante_auth::{AuthSettings, Authenticator};
use restante_model::auth::DkimResult;
use restante_model::{AuthResults, SessionFacts, Timestamp};
use restante_testkit::dns::DnsServer;

/// When every message of these tests arrives: 2026-11-15T00:00:00Z.
pub(crate) const NOW: Timestamp = Timestamp::from_unix_ms(1_794_700_800_000);

/// The default of the server; a query that nobody answers ends after two fifths of it.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(5);

/// An authenticator with its own DNS server.
pub(crate) struct Bench {
    pub(crate) dns: DnsServer,
    pub(crate) authenticator: Authenticator,
}

impl Bench {
    /// With all zones.
    pub(crate) fn new() -> Self {
        Self::with(DnsServer::start(&fixtures("dns")), |_| ())
    }

    /// With settings changed.
    pub(crate) fn with(dns: DnsServer, change: impl FnOnce(&mut AuthSettings)) -> Self {
        let mut settings = AuthSettings {
            spf: true,
            dkim: true,
            dmarc: true,
            reverse_dns: true,
            timeout: TIMEOUT,
            resolver: Some(dns.address()),
        };
        change(&mut settings);
        let authenticator = Authenticator::new(settings).expect("a server is named");
        Self { dns, authenticator }
    }

    pub(crate) async fn check(&self, raw: &[u8], facts: &SessionFacts) -> AuthResults {
        self.authenticator.check(&Bytes::copy_from_slice(raw), facts).await
    }

    /// The DKIM results of a message.
    pub(crate) async fn dkim(&self, raw: &[u8]) -> Vec<DkimResult> {
        self.check(raw, &facts()).await.dkim
    }
}

/// A session with 192.0.2.10, whose mail is from <joe@pass.spf.test>.
pub(crate) fn facts() -> SessionFacts {
    session("192.0.2.10", "mail.reverse.test", "joe@pass.spf.test")
}

/// A session.
pub(crate) fn session(ip: &str, helo: &str, reverse_path: &str) -> SessionFacts {
    SessionFacts {
        peer: (ip.parse::<std::net::IpAddr>().expect("an address"), 40_000).into(),
        helo: helo.to_owned(),
        protocol: "ESMTP".to_owned(),
        tls: None,
        reverse_path: reverse_path.to_owned(),
        forward_path: "someone@restante.test".to_owned(),
        received_at: NOW,
    }
}

/// A folder of `tests/fixtures`.
pub(crate) fn fixtures(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/fixtures")
        .join(folder)
}

/// Fails unless the details say `expected`.
#[track_caller]
pub(crate) fn assert_says(details: Option<&String>, expected: &str) {
    let details = details.map(String::as_str).unwrap_or_default();
    assert!(details.contains(expected), "{details:?} does not say {expected:?}");
}
