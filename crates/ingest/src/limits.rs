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
    /// Refused connections that are waited for, so that they hear why.
    pub max_farewells: usize,
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
            max_farewells: 256,
            max_inflight_bytes: 268_435_456,
            first_command: Duration::from_secs(30),
            idle: Duration::from_mins(5),
            data_block: Duration::from_mins(3),
            session: Duration::from_mins(20),
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
    /// Whose it is, once that is known.
    ip: Option<IpAddr>,
}

impl Connections {
    /// A place for a connection, unless the limit of all is reached; its client may not be known yet.
    pub(crate) fn enter(&self, limits: &IngestLimits) -> Option<Place> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.all >= limits.max_connections {
            return None;
        }
        open.all += 1;
        Some(Place {
            open: Arc::clone(&self.open),
            ip: None,
        })
    }
}

impl Place {
    /// Counts the connection to its client, unless that has reached its limit.
    pub(crate) fn belongs_to(&mut self, ip: IpAddr, limits: &IngestLimits) -> bool {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let from_ip = open.by_ip.get(&ip).copied().unwrap_or(0);
        if limits.max_connections_per_ip > 0 && from_ip >= limits.max_connections_per_ip {
            return false;
        }
        open.by_ip.insert(ip, from_ip + 1);
        self.ip = Some(ip);
        true
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.all -= 1;
        let Some(ip) = self.ip else { return };
        match open.by_ip.get_mut(&ip) {
            Some(count) if *count > 1 => *count -= 1,
            _ => {
                open.by_ip.remove(&ip);
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
        let enter = |ip| {
            let mut place = connections.enter(&limits)?;
            place.belongs_to(ip, &limits).then_some(place)
        };
        let first = enter(one).unwrap();
        let _second = enter(one).unwrap();
        assert!(enter(one).is_none());
        let third = enter(two).unwrap();
        assert!(connections.enter(&limits).is_none());
        drop(first);
        drop(third);
        let unknown = connections.enter(&limits).unwrap();
        assert!(enter(one).is_some());
        drop(unknown);
        let open = connections.open.lock().unwrap();
        assert_eq!((open.all, open.by_ip.len()), (1, 1));
    }
}
