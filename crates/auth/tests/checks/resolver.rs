//! The resolver: its cache, and its ways to ask.

use std::time::Duration;

use futures_util::future::join_all;
use restante_model::auth::SpfVerdict;
use restante_testkit::dns::{DnsServer, Trouble};

use crate::bench::{Bench, facts, fixtures, session};

const MESSAGE: &[u8] = b"From: joe@reject.test\r\n\r\nbody\r\n";

#[tokio::test]
async fn answers_are_remembered_missing_ones_too() {
    let bench = Bench::new();
    let first = bench.check(MESSAGE, &facts()).await;
    let asked = bench.dns.all_queries();
    assert!(asked > 0);
    for _ in 0..3 {
        assert_eq!(bench.check(MESSAGE, &facts()).await, first);
    }
    assert_eq!(bench.dns.all_queries(), asked);
}

#[tokio::test]
async fn an_answer_is_remembered_for_as_long_as_it_says() {
    let bench = Bench::new();
    bench.dns.add("fresh.test. 0 IN TXT \"v=spf1 ip4:192.0.2.10 -all\"");
    let facts = session("192.0.2.10", "mail.reverse.test", "joe@fresh.test");
    assert_eq!(bench.check(MESSAGE, &facts).await.spf.result, SpfVerdict::Pass);
    bench.dns.remove("fresh.test");
    bench.dns.add("fresh.test. 0 IN TXT \"v=spf1 -all\"");
    assert_eq!(bench.check(MESSAGE, &facts).await.spf.result, SpfVerdict::Fail);
}

#[tokio::test]
async fn each_authenticator_has_its_own_cache() {
    let bench = Bench::new();
    bench.check(MESSAGE, &facts()).await;
    let other = Bench::new();
    other.dns.remove("pass.spf.test");
    assert_eq!(other.check(MESSAGE, &facts()).await.spf.result, SpfVerdict::None);
}

#[tokio::test]
async fn a_truncated_answer_is_asked_for_over_tcp() {
    let bench = Bench::new();
    let facts = session("192.0.2.10", "mail.reverse.test", "joe@long.spf.test");
    assert_eq!(bench.check(MESSAGE, &facts).await.spf.result, SpfVerdict::Pass);
    assert_eq!(bench.dns.tcp_queries(), 1);
}

#[tokio::test]
async fn names_are_asked_for_as_they_are() {
    // No search list of this machine, and no host file, adds to what the zones say.
    let bench = Bench::new();
    let facts = session("192.0.2.10", "mail.reverse.test", "joe@missing.spf.test");
    bench.check(MESSAGE, &facts).await;
    assert_eq!(bench.dns.queries("missing.spf.test"), 1);
}

#[tokio::test]
async fn a_server_that_comes_back_is_asked_again() {
    let zones = DnsServer::start(&fixtures("dns"));
    let bench = Bench::with(zones, |settings| settings.timeout = Duration::from_secs(2));
    for trouble in [Trouble::Silent, Trouble::Refused, Trouble::ServFail] {
        bench.dns.outage(Some(trouble));
        let domain = format!("after-{trouble:?}.test");
        bench.dns.add_txt(&domain, "v=spf1 ip4:192.0.2.10 -all");
        let facts = session("192.0.2.10", "mail.reverse.test", &format!("joe@{domain}"));
        assert_eq!(
            bench.check(MESSAGE, &facts).await.spf.result,
            SpfVerdict::Temperror,
            "{trouble:?}"
        );
        bench.dns.outage(None);
        assert_eq!(
            bench.check(MESSAGE, &facts).await.spf.result,
            SpfVerdict::Pass,
            "{trouble:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_messages_at_once_are_all_checked() {
    let bench = Bench::new();
    let sessions: Vec<_> = (0..300)
        .map(|number| {
            let domain = format!("many{number}.test");
            bench.dns.add_txt(&domain, "v=spf1 ip4:192.0.2.10 -all");
            session("192.0.2.10", "mail.reverse.test", &format!("joe@{domain}"))
        })
        .collect();
    let results = join_all(sessions.iter().map(|facts| bench.check(MESSAGE, facts))).await;
    for result in results {
        assert_eq!(result.spf.result, SpfVerdict::Pass, "{result:?}");
    }
}
