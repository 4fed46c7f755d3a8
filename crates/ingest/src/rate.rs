//! How much mail one client may bring in a span of time.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::limits::MailRate;

/// Clients that are remembered; beyond that, those whose first mail is longest ago begin anew.
const CLIENTS_MAX: usize = 65_536;

/// Counts mails by client, each in windows that begin with its first mail.
///
/// A client is an IPv4 address, or an IPv6 network of 64 bits, of which one host may use any address.
#[derive(Debug)]
pub(crate) struct MailCounts {
    rate: Option<MailRate>,
    clients: Mutex<HashMap<IpAddr, Window>>,
}

#[derive(Debug, Clone, Copy)]
struct Window {
    began: Instant,
    mails: u32,
}

/// A mail that counts; dropped before [`Counted::keep`], it has not.
#[derive(Debug)]
pub(crate) struct Counted<'a> {
    counts: &'a MailCounts,
    /// None once it is kept, or when nothing is counted.
    counted: Option<(IpAddr, Instant)>,
}

impl MailCounts {
    pub(crate) fn new(rate: Option<MailRate>) -> Self {
        Self {
            rate,
            clients: Mutex::new(HashMap::new()),
        }
    }

    /// Whether the client may begin another mail.
    ///
    /// # Errors
    /// How long to wait.
    pub(crate) fn check(&self, ip: IpAddr) -> Result<(), Duration> {
        let Some(rate) = self.rate else { return Ok(()) };
        let now = Instant::now();
        match self.lock().get(&client(ip)) {
            Some(window) => window.room(rate, now),
            None => Ok(()),
        }
    }

    /// Counts a mail that is complete. No two can take the last place of a window.
    ///
    /// # Errors
    /// How long to wait.
    pub(crate) fn count(&self, ip: IpAddr) -> Result<Counted<'_>, Duration> {
        let Some(rate) = self.rate else {
            return Ok(Counted {
                counts: self,
                counted: None,
            });
        };
        let (now, client) = (Instant::now(), client(ip));
        let mut clients = self.lock();
        if clients.len() >= CLIENTS_MAX && !clients.contains_key(&client) {
            forget(&mut clients, rate, now);
        }
        let window = clients.entry(client).or_insert(Window { began: now, mails: 0 });
        if window.is_over(rate, now) {
            *window = Window { began: now, mails: 0 };
        }
        window.room(rate, now)?;
        window.mails += 1;
        Ok(Counted {
            counts: self,
            counted: Some((client, window.began)),
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, Window>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Window {
    fn is_over(&self, rate: MailRate, now: Instant) -> bool {
        now.duration_since(self.began) >= rate.per
    }

    fn room(&self, rate: MailRate, now: Instant) -> Result<(), Duration> {
        if self.mails < rate.max || self.is_over(rate, now) {
            return Ok(());
        }
        Err(rate.per.saturating_sub(now.duration_since(self.began)))
    }
}

impl Counted<'_> {
    /// The mail is stored.
    pub(crate) fn keep(mut self) {
        self.counted = None;
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        let Some((client, began)) = self.counted else { return };
        if let Some(window) = self
            .counts
            .lock()
            .get_mut(&client)
            .filter(|window| window.began == began)
        {
            window.mails = window.mails.saturating_sub(1);
        }
    }
}

fn client(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V4(ip) => ip.into(),
        IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() & !u128::from(u64::MAX)).into(),
    }
}

/// Makes room: windows that are over go, and if that is not enough the older half of the others.
fn forget(clients: &mut HashMap<IpAddr, Window>, rate: MailRate, now: Instant) {
    clients.retain(|_, window| !window.is_over(rate, now));
    if clients.len() > CLIENTS_MAX / 2 {
        let mut beginnings: Vec<_> = clients.values().map(|window| window.began).collect();
        let (_, &mut median, _) = beginnings.select_nth_unstable(CLIENTS_MAX / 2);
        clients.retain(|_, window| window.began > median);
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const MINUTE: Duration = Duration::from_mins(1);

    fn counts(max: u32) -> MailCounts {
        MailCounts::new(Some(MailRate { max, per: MINUTE }))
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_window_fills_and_passes() {
        let (counts, one, two) = (counts(2), ip("192.0.2.1"), ip("192.0.2.2"));
        counts.count(one).unwrap().keep();
        advance(Duration::from_secs(20)).await;
        assert_eq!(counts.check(one), Ok(()));
        counts.count(one).unwrap().keep();
        assert_eq!(counts.check(one), Err(Duration::from_secs(40)));
        assert_eq!(counts.count(one).unwrap_err(), Duration::from_secs(40));
        counts.count(two).unwrap().keep();
        advance(Duration::from_millis(39_999)).await;
        assert_eq!(counts.check(one), Err(Duration::from_millis(1)));
        advance(Duration::from_millis(1)).await;
        assert_eq!(counts.check(one), Ok(()));
        counts.count(one).unwrap().keep();
        counts.count(one).unwrap().keep();
        assert_eq!(counts.count(one).unwrap_err(), MINUTE);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_not_stored_does_not_count_not_even_in_a_later_window() {
        let (counts, one) = (counts(1), ip("192.0.2.1"));
        drop(counts.count(one).unwrap());
        let late = counts.count(one).unwrap();
        assert_eq!(counts.check(one), Err(MINUTE));
        advance(MINUTE).await;
        counts.count(one).unwrap().keep();
        drop(late);
        assert_eq!(counts.check(one), Err(MINUTE));
    }

    #[tokio::test(start_paused = true)]
    async fn a_network_of_64_bits_is_one_client_and_a_mapped_address_is_its_own() {
        let counts = counts(1);
        counts.count(ip("2001:db8:0:1::1")).unwrap().keep();
        assert!(counts.check(ip("2001:db8:0:1:ffff::2")).is_err());
        assert!(counts.check(ip("2001:db8:0:2::1")).is_ok());
        counts.count(ip("::ffff:192.0.2.1")).unwrap().keep();
        assert!(counts.check(ip("192.0.2.1")).is_err());
        assert!(counts.check(ip("192.0.2.2")).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_rate_nothing_is_counted() {
        let (counts, one) = (MailCounts::new(None), ip("192.0.2.1"));
        for _ in 0..10 {
            counts.count(one).unwrap().keep();
        }
        assert_eq!(counts.check(one), Ok(()));
        assert!(counts.lock().is_empty());
    }

    #[test]
    fn no_two_take_the_last_place() {
        let (counts, one) = (counts(100), ip("192.0.2.1"));
        let taken: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| (0..50).filter(|_| counts.count(one).map(Counted::keep).is_ok()).count()))
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(taken, 100);
    }

    #[tokio::test(start_paused = true)]
    async fn many_clients_take_no_more_memory_than_the_limit() {
        let counts = counts(1);
        let clients = u32::try_from(CLIENTS_MAX).unwrap();
        for n in 0..=clients {
            if n == clients / 2 + 1 {
                advance(Duration::from_secs(1)).await;
            }
            counts.count(std::net::Ipv4Addr::from_bits(n).into()).unwrap().keep();
            assert!(counts.lock().len() <= CLIENTS_MAX);
        }
        assert!(counts.check(ip("0.0.0.0")).is_ok(), "the first is forgotten");
        assert!(counts.check(std::net::Ipv4Addr::from_bits(clients - 1).into()).is_err());
        for n in 0..clients {
            counts
                .count(std::net::Ipv4Addr::from_bits(n | 1 << 31).into())
                .unwrap()
                .keep();
            assert!(counts.lock().len() <= CLIENTS_MAX);
        }
    }
}
