//! Reverse DNS with forward confirmation.

use restante_model::auth::Verdict;

use crate::bench::{Bench, assert_says, session};

#[tokio::test]
async fn each_kind_of_address_has_its_verdict() {
    let bench = Bench::new();
    for (ip, verdict, hostname, details) in [
        (
            "192.0.2.10",
            Verdict::Pass,
            Some("mail.reverse.test"),
            "192.0.2.10 points to mail.reverse.test, and mail.reverse.test to 192.0.2.10",
        ),
        (
            "2001:db8::10",
            Verdict::Pass,
            Some("mail.reverse.test"),
            "2001:db8::10 points to",
        ),
        (
            "::ffff:192.0.2.10",
            Verdict::Pass,
            Some("mail.reverse.test"),
            "192.0.2.10 points to",
        ),
        (
            "192.0.2.15",
            Verdict::Pass,
            Some("second.reverse.test"),
            "192.0.2.15 points to second.reverse.test",
        ),
        (
            "192.0.2.11",
            Verdict::Fail,
            Some("liar.reverse.test"),
            "liar.reverse.test does not point back to 192.0.2.11",
        ),
        (
            "192.0.2.18",
            Verdict::Fail,
            Some("nowhere.reverse.test"),
            "does not point back",
        ),
        (
            "192.0.2.17",
            Verdict::Fail,
            Some("n1.reverse.test"),
            "192.0.2.17 points to 10 names, and none of them points back",
        ),
        ("192.0.2.12", Verdict::Fail, None, "no PTR record for 192.0.2.12"),
        ("192.0.2.19", Verdict::Fail, None, "no PTR record for 192.0.2.19"),
        ("192.0.2.20", Verdict::Fail, None, "no PTR record for 192.0.2.20"),
        (
            "192.0.2.13",
            Verdict::None,
            None,
            "looking up the name of 192.0.2.13: the DNS server answered Server Failure",
        ),
        (
            "192.0.2.14",
            Verdict::None,
            None,
            "looking up the name of 192.0.2.14: the DNS server did not answer in time",
        ),
        (
            "192.0.2.16",
            Verdict::None,
            Some("silent.reverse.test"),
            "looking up the address of silent.reverse.test: the DNS server did not answer in time",
        ),
    ] {
        let facts = session(ip, "mail.reverse.test", "joe@pass.spf.test");
        let result = bench
            .check(b"From: joe@pass.spf.test\r\n\r\n", &facts)
            .await
            .reverse_dns;
        assert_eq!(result.result, verdict, "{ip}: {result:?}");
        assert_eq!(result.hostname.as_deref(), hostname, "{ip}");
        assert_eq!(result.ip.as_deref(), Some(ip.trim_start_matches("::ffff:")));
        assert_says(result.details.as_ref(), details);
    }
    assert_eq!(
        bench.dns.queries("eleventh.reverse.test"),
        0,
        "only ten names are tried"
    );
}

#[tokio::test]
async fn the_loopback_address_is_localhost_without_a_question() {
    let bench = Bench::new();
    let facts = session("127.0.0.1", "laptop", "joe@localhost");
    let result = bench.check(b"From: joe@localhost\r\n\r\n", &facts).await.reverse_dns;
    assert_eq!(result.result, Verdict::Pass, "{result:?}");
    assert_eq!(result.hostname.as_deref(), Some("localhost"));
    assert_eq!(bench.dns.queries("1.0.0.127.in-addr.arpa"), 0);
}
