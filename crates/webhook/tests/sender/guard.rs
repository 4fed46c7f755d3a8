//! The guard at each connection: what was checked is what is connected to.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use restante_testkit::dns::DnsServer;
use restante_testkit::receiver::{Answer, Receiver};
use restante_webhook::{DnsLookup, Guard, Lookup, Outcome, Sender, SenderConfig, TargetUrl, Unresolved};

use super::bench::{ThisMachine, attempt, config, failure};

/// This machine's first address at first, another one of its addresses ever after.
#[derive(Debug, Default)]
struct Flipping(AtomicUsize);

#[async_trait]
impl Lookup for Flipping {
    async fn addresses(&self, _name: &str) -> Result<Vec<IpAddr>, Unresolved> {
        let before = self.0.fetch_add(1, Ordering::SeqCst);
        Ok(vec![if before == 0 {
            [127, 0, 0, 1].into()
        } else {
            [127, 0, 0, 2].into()
        }])
    }
}

fn sender(guard: Guard) -> Sender {
    Sender::new(SenderConfig { guard, ..config() }).unwrap()
}

fn guarded(lookup: impl Lookup + 'static) -> Sender {
    sender(Guard::new(false, Arc::new(lookup)))
}

fn refuses(outcome: &Outcome) {
    assert!(
        failure(outcome).starts_with("the target leads to an address that is not public (loopback)"),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn every_spelling_of_this_machine_is_refused_and_nothing_is_connected() {
    let receiver = Receiver::start();
    let sender = guarded(ThisMachine);
    for host in [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f.1",
        "localhost",
        "a.localhost",
        "name.example.com",
    ] {
        refuses(&sender.send(&attempt(&receiver.url_of(host, "/"))).await);
    }
    let mapped = sender.send(&attempt(&receiver.url_of("[::ffff:127.0.0.1]", "/"))).await;
    assert!(failure(&mapped).contains("(embedded IPv4)"));
    assert_eq!(receiver.connections(), 0);
}

#[tokio::test]
async fn a_name_that_flips_after_its_check_is_refused_at_the_connection() {
    let receiver = Receiver::start();
    let dns = DnsServer::of("hooks.example.test. 0 IN A 8.8.8.8\n");
    let guard = Guard::new(false, Arc::new(DnsLookup::new(dns.address(), Duration::from_secs(30))));
    let url = receiver.url_of("hooks.example.test", "/");
    assert_eq!(guard.check(&TargetUrl::parse(&url, true).unwrap()).await, Ok(()));

    dns.remove("hooks.example.test");
    dns.add("hooks.example.test. 0 IN A 127.0.0.1\n");
    refuses(&sender(guard).send(&attempt(&url)).await);
    assert_eq!(receiver.connections(), 0);
}

#[tokio::test]
async fn one_forbidden_address_beside_a_public_one_is_refused_at_the_connection() {
    let receiver = Receiver::start();
    let dns = DnsServer::of(
        "both.example.test. 60 IN A 8.8.8.8\nboth.example.test. 60 IN A 127.0.0.1\n\
         six.example.test. 60 IN A 8.8.8.8\nsix.example.test. 60 IN AAAA ::1\n",
    );
    let sender = guarded(DnsLookup::new(dns.address(), Duration::from_secs(30)));
    for name in ["both.example.test", "six.example.test"] {
        refuses(&sender.send(&attempt(&receiver.url_of(name, "/"))).await);
    }
    assert_eq!(receiver.connections(), 0);
}

/// A name is looked up once, and the address of that answer is the one that is connected to.
#[tokio::test]
async fn the_address_that_was_checked_is_connected_to() {
    let checked = Receiver::start();
    let other = Receiver::start_at(([127, 0, 0, 2], checked.address().port()).into());
    let lookup = Arc::new(Flipping::default());
    let sender = sender(Guard::new(true, Arc::clone(&lookup) as Arc<dyn Lookup>));
    let url = checked.url_of("hooks.example.test", "/");
    assert!(sender.send(&attempt(&url)).await.is_success());
    assert_eq!(lookup.0.load(Ordering::SeqCst), 1);
    assert_eq!((checked.connections(), other.connections()), (1, 0));
}

#[tokio::test]
async fn a_redirect_into_the_network_is_not_followed() {
    let inside = Receiver::start();
    let outside = Receiver::start();
    outside.always(Answer::redirect(&inside.url("/")));
    let sender = sender(Guard::new(true, Arc::new(ThisMachine)));
    assert_eq!(sender.send(&attempt(&outside.url("/"))).await.status, Some(307));
    assert_eq!(inside.connections(), 0);
}

#[tokio::test]
async fn a_name_that_does_not_resolve_is_a_failure_that_says_so() {
    let dns = DnsServer::of("example.test. 60 IN TXT \"no address\"\n");
    let sender = guarded(DnsLookup::new(dns.address(), Duration::from_secs(30)));
    for name in ["example.test", "none.example.test"] {
        let outcome = sender.send(&attempt(&format!("http://{name}/"))).await;
        assert_eq!(failure(&outcome), "the name of the target has no address");
    }
}
