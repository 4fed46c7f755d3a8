//! SPF (RFC 7208): every verdict, and why.

mod cases;
mod rfc7208;

use restante_model::auth::{SpfResult, SpfVerdict};

use crate::bench::{Bench, assert_says, session};

const MESSAGE: &[u8] = b"From: joe@pass.spf.test\r\n\r\nbody\r\n";

async fn spf(bench: &Bench, ip: &str, helo: &str, reverse_path: &str) -> SpfResult {
    bench.check(MESSAGE, &session(ip, helo, reverse_path)).await.spf
}

#[tokio::test]
async fn each_kind_of_record_has_its_verdict() {
    use SpfVerdict::{Fail, Neutral, None, Pass, Permerror, Softfail, Temperror};
    let bench = Bench::new();
    for (domain, verdict, details) in [
        (
            "pass",
            Pass,
            "192.0.2.10 is allowed to send for pass.spf.test: v=spf1 ip4:192.0.2.10 -all",
        ),
        (
            "fail",
            Fail,
            "192.0.2.10 is not allowed to send for fail.spf.test: v=spf1 ip4:198.51.100.1 -all",
        ),
        (
            "softfail",
            Softfail,
            "192.0.2.10 is probably not allowed to send for softfail.spf.test",
        ),
        (
            "neutral",
            Neutral,
            "neutral.spf.test does not say whether 192.0.2.10 may send for it: v=spf1 ?all",
        ),
        ("silence", Neutral, "does not say"),
        ("other", None, "no SPF record found for other.spf.test"),
        ("nothing", None, "no SPF record found for nothing.spf.test"),
        (
            "missing",
            None,
            "no SPF record found for missing.spf.test: the domain does not exist",
        ),
        ("beside", Pass, "is allowed"),
        ("pieces", Pass, "v=spf1 ip4:192.0.2.10 -all"),
        ("long", Pass, "is allowed"),
        ("lost", Pass, "is allowed"),
        ("two", Permerror, "two.spf.test has several SPF records"),
        (
            "malformed",
            Permerror,
            "the SPF record of malformed.spf.test is malformed at ip4:192.0.2.999",
        ),
        ("unknown", Permerror, "is malformed at postcard:example"),
        ("a", Pass, "is allowed"),
        ("mx", Pass, "is allowed"),
        ("exists", Pass, "is allowed"),
        ("ptr", Pass, "is allowed"),
        ("macro", Pass, "is allowed"),
        ("include", Pass, "is allowed"),
        ("include-fail", Softfail, "is probably not allowed"),
        (
            "include-missing",
            Permerror,
            "the SPF record of include-missing.spf.test includes missing.spf.test, which has no SPF record; \
             include-missing.spf.test publishes v=spf1 include:missing.spf.test -all",
        ),
        (
            "include-servfail",
            Temperror,
            "looking up the SPF record of servfail.spf.test: the DNS server answered Server Failure; \
             include-servfail.spf.test publishes",
        ),
        ("redirect", Pass, "is allowed"),
        (
            "redirect-missing",
            Permerror,
            "redirects to missing.spf.test, which has no SPF record",
        ),
        ("loop", Permerror, "more than 10 lookups"),
        ("lookups", Permerror, "more than 2 lookups found nothing"),
        (
            "explain",
            Fail,
            "the domain says: 192.0.2.10 is not one of explain.spf.test's mail servers",
        ),
        (
            "servfail",
            Temperror,
            "looking up the SPF record of servfail.spf.test: the DNS server answered Server Failure",
        ),
        (
            "refused",
            Temperror,
            "looking up the SPF record of refused.spf.test: the DNS server answered",
        ),
        (
            "silent",
            Temperror,
            "looking up the SPF record of silent.spf.test: the DNS server did not answer in time",
        ),
    ] {
        let domain = format!("{domain}.spf.test");
        let result = spf(&bench, "192.0.2.10", "mail.reverse.test", &format!("joe@{domain}")).await;
        assert_eq!(result.result, verdict, "{domain}: {result:?}");
        assert_eq!(result.domain.as_deref(), Some(domain.as_str()));
        assert_eq!(result.ip.as_deref(), Some("192.0.2.10"));
        assert_says(result.details.as_ref(), details);
    }
}

#[tokio::test]
async fn both_families_of_addresses_are_checked() {
    let bench = Bench::new();
    for (ip, domain, shown) in [
        ("2001:db8::10", "pass6.spf.test", "2001:db8::10"),
        ("2001:db8::10", "a6.spf.test", "2001:db8::10"),
        // A socket that takes both families shows IPv4 peers like this.
        ("::ffff:192.0.2.10", "pass.spf.test", "192.0.2.10"),
        ("::ffff:192.0.2.10", "a.spf.test", "192.0.2.10"),
    ] {
        let result = spf(&bench, ip, "mail.reverse.test", &format!("joe@{domain}")).await;
        assert_eq!(result.result, SpfVerdict::Pass, "{result:?}");
        assert_eq!(result.ip.as_deref(), Some(shown));
    }
}

#[tokio::test]
async fn a_null_reverse_path_is_checked_by_the_helo_name() {
    let bench = Bench::new();
    for (helo, reverse_path, verdict) in [
        ("Pass.SPF.test", "", SpfVerdict::Pass),
        ("fail.spf.test", "", SpfVerdict::Fail),
        ("pass.spf.test", "postmaster", SpfVerdict::Pass),
        ("pass.spf.test", "joe@fail.spf.test", SpfVerdict::Fail),
        ("fail.spf.test", "joe@pass.spf.test", SpfVerdict::Pass),
    ] {
        let result = spf(&bench, "192.0.2.10", helo, reverse_path).await;
        assert_eq!(result.result, verdict, "{helo} {reverse_path}: {result:?}");
    }
    let result = spf(&bench, "192.0.2.10", "Pass.SPF.test", "").await;
    assert_eq!(result.domain.as_deref(), Some("Pass.SPF.test"));
}

#[tokio::test]
async fn what_is_no_public_name_has_no_policy_and_is_not_asked_for() {
    let bench = Bench::new();
    for (helo, reverse_path, shown) in [
        ("[192.0.2.10]", "", "[192.0.2.10]"),
        ("laptop", "", "laptop"),
        ("", "", ""),
        ("mail.reverse.test", "joe@[192.0.2.10]", "[192.0.2.10]"),
        ("mail.reverse.test", "joe@localhost", "localhost"),
        ("mail.reverse.test", "joe@a\u{1}b.test", "a?b.test"),
        ("mail.reverse.test", "joe@a b.test", "a b.test"),
    ] {
        let result = spf(&bench, "192.0.2.10", helo, reverse_path).await;
        assert_eq!(result.result, SpfVerdict::None, "{helo} {reverse_path}: {result:?}");
        assert_eq!(result.domain.as_deref(), Some(shown));
        assert_says(
            result.details.as_ref(),
            "is not a domain name that can have an SPF record",
        );
    }
    assert_eq!(bench.dns.queries("laptop"), 0);
}

#[tokio::test]
async fn a_domain_in_another_script_is_asked_for_by_its_a_labels() {
    let bench = Bench::new();
    bench.dns.add_txt("xn--bcher-kva.test", "v=spf1 ip4:192.0.2.10 -all");
    let result = spf(&bench, "192.0.2.10", "mail.reverse.test", "jörg@bücher.test").await;
    assert_eq!(result.result, SpfVerdict::Pass, "{result:?}");
    assert_eq!(result.domain.as_deref(), Some("bücher.test"));
}
