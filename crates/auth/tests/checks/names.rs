//! Names that are asked for, and answers that are kept.

use restante_model::auth::Verdict;
use restante_testkit::dkim::{DkimKey, Signer};
use restante_testkit::dns::DnsServer;

use crate::bench::{Bench, facts, fixtures};

#[tokio::test]
async fn names_with_underscores_anywhere_are_asked_for() {
    let (bench, key) = (Bench::new(), DkimKey::ed25519());
    for (selector, domain) in [
        ("s_1", "dkim.test"),
        ("_s", "dkim.test"),
        ("s-", "dkim.test"),
        ("a--b", "dkim.test"),
        ("a__b", "dkim.test"),
        ("sel", "d_x.test"),
    ] {
        bench
            .dns
            .add_txt(&format!("{selector}._domainkey.{domain}"), &key.record());
        bench.dns.add_txt(&format!("_dmarc.{domain}"), "v=DMARC1; p=reject");
        let message = format!("From: joe@{domain}\r\n\r\nbody\r\n");
        let signed = Signer::new(domain, selector).sign(&key, message.as_bytes());
        let results = bench.check(&signed, &facts()).await;
        assert_eq!(
            results.dkim[0].result,
            Verdict::Pass,
            "{selector} {domain}: {results:?}"
        );
        assert_eq!(results.dmarc.result, Verdict::Pass, "{selector} {domain}: {results:?}");
        bench.dns.remove(&format!("_dmarc.{domain}"));
    }
}

#[tokio::test]
async fn large_answers_are_not_kept_in_any_number() {
    const ASKED: usize = 400;
    let bench = Bench::with(DnsServer::start(&fixtures("dns")), |settings| {
        settings.spf = false;
        settings.dmarc = false;
        settings.reverse_dns = false;
    });
    let record = format!("v=DKIM1; p=; n={}", "x".repeat(3000));
    let name = |number: usize| format!("s{number}._domainkey.dkim.test");
    (0..ASKED).for_each(|number| bench.dns.add_txt(&name(number), &record));
    for number in (0..ASKED).chain((0..ASKED).rev()) {
        let raw =
            format!("DKIM-Signature: v=1; a=ed25519-sha256; d=dkim.test; s=s{number}; h=from; bh=AA==; b=AA==\r\n\r\n");
        bench.dkim(raw.as_bytes()).await;
    }
    // A large answer is asked for over UDP, and again over TCP.
    let most = (0..ASKED).map(|number| bench.dns.queries(&name(number))).max();
    let kept = (0..ASKED)
        .filter(|number| Some(bench.dns.queries(&name(*number))) < most)
        .count();
    // The cache makes room a little later than it is full.
    assert!((1..=300).contains(&kept), "{kept} of {ASKED} answers were kept");
}
