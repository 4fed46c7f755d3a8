//! What a client may hold, and for how long.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The limits of the SMTP side.
#[derive(Debug, Clone)]
pub struct IngestLimits {
    /// Connections in all.
    pub max_connections: usize,
    /// Connections from one address; 0 is no limit.
    pub max_connections_per_ip: usize,
    /// Memory for messages being received, over all connections.
    pub max_inflight_bytes: usize,
    /// Wait for the first command.
    pub first_command: Duration,
    /// Wait between commands.
    pub idle: Duration,
    /// Wait for the next block of a message.
    pub data_block: Duration,
    /// A whole session.
    pub session: Duration,
    /// A TLS handshake.
    pub handshake: Duration,
    /// Mails from one address; no limit without it.
    pub rate: Option<MailRate>,
}

/// A number of mails in a span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MailRate {
    /// The mails.
    pub max: u32,
    /// The span.
    pub per: Duration,
}

impl Default for IngestLimits {
    fn default() -> Self {
        Self {
            max_connections: 4000,
            max_connections_per_ip: 0,
            max_inflight_bytes: 268_435_456,
            first_command: Duration::from_secs(30),
            idle: Duration::from_mins(5),
            data_block: Duration::from_mins(3),
            session: Duration::from_mins(20),
            handshake: Duration::from_secs(10),
            rate: None,
        }
    }
}

/// Counts open connections, in all and by address.
#[derive(Debug, Clone, Default)]
pub(crate) struct Connections {
    open: Arc<Mutex<Open>>,
}

#[derive(Debug, Default)]
struct Open {
    all: usize,
    by_ip: HashMap<IpAddr, usize>,
}

/// One open connection; dropping it frees its place.
#[derive(Debug)]
pub(crate) struct Place {
    open: Arc<Mutex<Open>>,
    ip: IpAddr,
}

impl Connections {
    /// A place for a connection, unless a limit is reached.
    pub(crate) fn enter(&self, ip: IpAddr, limits: &IngestLimits) -> Option<Place> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let from_ip = open.by_ip.get(&ip).copied().unwrap_or(0);
        let ip_is_full = limits.max_connections_per_ip > 0 && from_ip >= limits.max_connections_per_ip;
        if open.all >= limits.max_connections || ip_is_full {
            return None;
        }
        open.all += 1;
        open.by_ip.insert(ip, from_ip + 1);
        Some(Place {
            open: Arc::clone(&self.open),
            ip,
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.all -= 1;
        match open.by_ip.get_mut(&self.ip) {
            Some(count) if *count > 1 => *count -= 1,
            _ => {
                open.by_ip.remove(&self.ip);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_limited_in_all_and_by_address_and_come_back() {
        let limits = IngestLimits {
            max_connections: 3,
            max_connections_per_ip: 2,
            ..IngestLimits::default()
        };
        let connections = Connections::default();
        let (one, two): (IpAddr, IpAddr) = ("127.0.0.1".parse().unwrap(), "127.0.0.2".parse().unwrap());
        let first = connections.enter(one, &limits).unwrap();
        let _second = connections.enter(one, &limits).unwrap();
        assert!(connections.enter(one, &limits).is_none());
        let third = connections.enter(two, &limits).unwrap();
        assert!(connections.enter(two, &limits).is_none());
        drop(first);
        drop(third);
        assert!(connections.enter(one, &limits).is_some());
        assert_eq!(connections.open.lock().unwrap().by_ip.len(), 1);
    }
}
