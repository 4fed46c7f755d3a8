//! What is switched off, and what comes too late.

use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

use restante_auth::AuthSettings;
use restante_model::AuthResults;
use restante_model::auth::{DmarcPolicy, SpfVerdict, Verdict};
use restante_testkit::dkim::{DkimKey, Signer};
use restante_testkit::dns::{DnsServer, Trouble};
use tokio::time::Instant;

use crate::bench::{Bench, assert_says, facts, fixtures, session};

/// Two queries that nobody answers take 3.2 s of it.
const TIMEOUT: Duration = Duration::from_secs(4);

const MESSAGE: &[u8] = b"From: joe@reject.test\r\n\r\nbody\r\n";

fn zones() -> DnsServer {
    DnsServer::start(&fixtures("dns"))
}

fn signed() -> Vec<u8> {
    Signer::new("dkim.test", "sel").sign(&DkimKey::ed25519(), MESSAGE)
}

#[tokio::test]
async fn each_check_can_be_switched_off() {
    type Switch = fn(&mut AuthSettings);
    type Shown = fn(&AuthResults) -> bool;
    let switches: [(Switch, Shown); 4] = [
        (
            |settings| settings.spf = false,
            |results| results.spf == AuthResults::skipped().spf,
        ),
        (
            |settings| settings.dkim = false,
            |results| results.dkim == AuthResults::skipped().dkim,
        ),
        (
            |settings| settings.dmarc = false,
            |results| results.dmarc == AuthResults::skipped().dmarc,
        ),
        (
            |settings| settings.reverse_dns = false,
            |results| results.reverse_dns == AuthResults::skipped().reverse_dns,
        ),
    ];
    for (off, (switch, _)) in switches.iter().enumerate() {
        let results = Bench::with(zones(), switch).check(MESSAGE, &facts()).await;
        for (other, (_, is_skipped)) in switches.iter().enumerate() {
            assert_eq!(is_skipped(&results), other == off, "{off} {other}: {results:?}");
        }
    }
}

#[tokio::test]
async fn without_spf_and_dkim_there_is_no_dmarc_and_without_any_check_no_query() {
    let bench = Bench::with(zones(), |settings| (settings.spf, settings.dkim) = (false, false));
    let results = bench.check(MESSAGE, &facts()).await;
    assert_eq!(results.dmarc, AuthResults::skipped().dmarc);
    assert_eq!(results.reverse_dns.result, Verdict::Pass);
    let bench = Bench::with(zones(), |settings| {
        (settings.spf, settings.dkim, settings.dmarc, settings.reverse_dns) = (false, false, false, false);
    });
    assert_eq!(bench.check(MESSAGE, &facts()).await, AuthResults::skipped());
    assert_eq!(bench.dns.all_queries(), 0);
}

#[tokio::test]
async fn dmarc_says_which_half_was_not_checked() {
    for (switch, details) in [
        ((false, true), "SPF was not checked; no DKIM signature passed"),
        (
            (true, false),
            "SPF passed for pass.spf.test, which is not aligned (relaxed) with reject.test; DKIM was not checked",
        ),
    ] {
        let bench = Bench::with(zones(), |settings| (settings.spf, settings.dkim) = switch);
        let dmarc = bench.check(MESSAGE, &facts()).await.dmarc;
        assert_eq!(dmarc.result, Verdict::Fail);
        assert_eq!(dmarc.details.as_deref(), Some(details));
    }
}

#[tokio::test]
async fn a_silent_server_leaves_reasons_within_the_deadline() {
    let bench = Bench::with(DnsServer::silent(), |settings| settings.timeout = TIMEOUT);
    let start = Instant::now();
    let results = bench.check(&signed(), &facts()).await;
    assert!(start.elapsed() < TIMEOUT, "{:?}", start.elapsed());
    let reason = "the DNS server did not answer in time";
    assert_eq!(results.spf.result, SpfVerdict::Temperror);
    assert_says(
        results.spf.details.as_ref(),
        &format!("looking up the SPF record of pass.spf.test: {reason}"),
    );
    assert_eq!(results.dkim[0].result, Verdict::None);
    assert_says(
        results.dkim[0].details.as_ref(),
        &format!("looking up the key at sel._domainkey.dkim.test: {reason}"),
    );
    assert_eq!(results.dkim[0].domain.as_deref(), Some("dkim.test"));
    assert_eq!(results.reverse_dns.result, Verdict::None);
    assert_says(
        results.reverse_dns.details.as_ref(),
        &format!("looking up the name of 192.0.2.10: {reason}"),
    );
    assert_eq!(results.dmarc.result, Verdict::None);
    assert_says(
        results.dmarc.details.as_ref(),
        &format!("looking up the DMARC record of reject.test: {reason}"),
    );
    assert_eq!(results.dmarc.domain.as_deref(), Some("reject.test"));
}

#[tokio::test]
async fn a_port_where_nobody_listens_is_trouble_too() {
    let nobody = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|socket| socket.local_addr())
        .expect("a port");
    let bench = Bench::with(zones(), |settings| settings.resolver = Some(nobody));
    let results = bench.check(MESSAGE, &facts()).await;
    assert_eq!(results.spf.result, SpfVerdict::Temperror);
    assert_eq!(results.reverse_dns.result, Verdict::None);
    assert_eq!(results.dmarc.result, Verdict::None);
}

#[tokio::test]
async fn what_came_in_time_is_kept() {
    let key = DkimKey::ed25519();
    let bench = Bench::new();
    bench.dns.add_txt("sel._domainkey.reject.test", &key.record());
    bench.dns.trouble("pass.spf.test", Trouble::Silent);
    let message = Signer::new("silent.test", "sel").sign(&key, &Signer::new("reject.test", "sel").sign(&key, MESSAGE));
    bench.dns.trouble("sel._domainkey.silent.test", Trouble::Silent);
    let results = bench.check(&message, &facts()).await;
    assert_eq!(results.spf.result, SpfVerdict::Temperror);
    assert_eq!(results.dkim[0].result, Verdict::None);
    assert_eq!(results.dkim[1].result, Verdict::Pass);
    assert_eq!(results.reverse_dns.result, Verdict::Pass);
    assert_eq!(results.dmarc.result, Verdict::Pass, "{:?}", results.dmarc);
}

#[tokio::test]
async fn a_chain_of_slow_answers_ends_at_the_deadline() {
    // Each lookup of this record ends well by itself; all of them together take longer than there is.
    let timeout = Duration::from_secs(2);
    let bench = Bench::with(zones(), |settings| settings.timeout = timeout);
    let record: Vec<String> = (0..10).map(|number| format!("a:n{number}.slow.test")).collect();
    bench
        .dns
        .add_txt("slow.test", &format!("v=spf1 {} -all", record.join(" ")));
    bench.dns.add("_dmarc.slow.test. 60 IN TXT \"v=DMARC1; p=reject\"");
    for number in 0..10 {
        bench.dns.add(&format!("n{number}.slow.test. 60 IN A 198.51.100.1"));
        bench.dns.trouble(&format!("n{number}.slow.test"), Trouble::Slow);
    }
    let start = Instant::now();
    let results = bench
        .check(
            b"From: joe@slow.test\r\n\r\n",
            &session("192.0.2.10", "slow.test", "joe@slow.test"),
        )
        .await;
    assert!(
        start.elapsed() < timeout + Duration::from_millis(200),
        "{:?}",
        start.elapsed()
    );
    assert_eq!(results.spf.result, SpfVerdict::Temperror, "{results:?}");
    assert_says(
        results.spf.details.as_ref(),
        "not finished in the time for all checks of a message",
    );
    assert_eq!(results.dmarc.result, Verdict::None, "{results:?}");
    assert_eq!(
        results.dmarc.policy,
        Some(DmarcPolicy::Reject),
        "the rest of the time is for DMARC"
    );
    assert!(
        bench.dns.queries("n9.slow.test") == 0,
        "nothing goes on behind the deadline"
    );
}
