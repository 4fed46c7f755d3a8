//! What all connections share.

use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use restante_auth::Authenticator;
use restante_inbox::{Budget, Inboxes};
use restante_model::Clock;
use restante_monitor::Monitor;
use restante_smtp::{SessionConfig, StartTls};
use restante_spam::SpamFilter;
use restante_tls::Acceptor;
use tokio::sync::Semaphore;

use crate::chaos::{Chaos, ChaosRules};
use crate::limits::{Connections, IngestLimits};
use crate::rate::MailCounts;

/// What the SMTP side is made of.
#[derive(Debug)]
pub struct IngestParts {
    /// Where mail goes.
    pub inboxes: Inboxes,
    /// The time of arrival.
    pub clock: Arc<dyn Clock>,
    /// What sessions say and accept; whether they offer STARTTLS is decided by `tls`.
    pub session: SessionConfig,
    /// What a client may hold, and for how long.
    pub limits: IngestLimits,
    /// The certificate: with it STARTTLS is offered, and listeners may begin with TLS.
    pub tls: Option<Acceptor>,
    /// Checks mail for inboxes that ask for it; without it every result is `skipped`.
    pub authenticator: Option<Authenticator>,
    /// Asked about mail for inboxes that want it; without it every analysis is skipped.
    pub spam: Option<SpamFilter>,
    /// Whether inboxes may ask for faults, and what decides them.
    pub chaos: Option<ChaosRules>,
    /// Counts, and tells those who watch the console.
    pub monitor: Arc<Monitor>,
    /// Networks whose clients must begin with a PROXY protocol v2 header, which is believed.
    pub proxy_networks: Vec<IpNet>,
}

/// What all connections share: the inboxes, the settings, the memory, the places.
#[derive(Debug)]
pub struct Ingest {
    pub(crate) inboxes: Inboxes,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) session: Arc<SessionConfig>,
    pub(crate) limits: IngestLimits,
    pub(crate) budget: Budget,
    pub(crate) connections: Connections,
    /// Places for refused connections that are waited for.
    pub(crate) farewells: Semaphore,
    pub(crate) counts: MailCounts,
    pub(crate) tls: Option<Acceptor>,
    pub(crate) authenticator: Option<Authenticator>,
    pub(crate) spam: Option<SpamFilter>,
    pub(crate) chaos: Option<Chaos>,
    pub(crate) monitor: Arc<Monitor>,
    proxy_networks: Vec<IpNet>,
}

impl Ingest {
    /// Puts the SMTP side together.
    pub fn new(parts: IngestParts) -> Self {
        let starttls = match parts.tls {
            Some(_) => StartTls::Offered,
            None => StartTls::Off,
        };
        Self {
            inboxes: parts.inboxes,
            clock: parts.clock,
            session: Arc::new(SessionConfig {
                starttls,
                ..parts.session
            }),
            budget: Budget::new(parts.limits.max_inflight_bytes),
            counts: MailCounts::new(parts.limits.rate),
            farewells: Semaphore::new(parts.limits.max_farewells),
            limits: parts.limits,
            connections: Connections::default(),
            tls: parts.tls,
            authenticator: parts.authenticator,
            spam: parts.spam,
            chaos: parts.chaos.map(Chaos::new),
            monitor: parts.monitor,
            proxy_networks: parts.proxy_networks,
        }
    }

    /// Whether a proxy at this address says for whom it speaks.
    pub(crate) fn believes(&self, proxy: IpAddr) -> bool {
        self.proxy_networks.iter().any(|network| network.contains(&proxy))
    }
}
