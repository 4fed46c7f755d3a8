//! Messages and sessions from hell: never a panic, always a result that is fit to be shown.

use std::sync::LazyLock;

use proptest::prelude::*;
use restante_model::AuthResults;
use restante_model::auth::Verdict;
use restante_testkit::dkim::{DkimKey, Signer};
use restante_testkit::dns::DnsServer;
use tokio::runtime::Runtime;
use tokio::time::Instant;

use crate::bench::{Bench, TIMEOUT, assert_says, facts, fixtures, session};

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().expect("a runtime"));
static BENCH: LazyLock<Bench> = LazyLock::new(|| {
    let _inside = RUNTIME.enter();
    Bench::new()
});

fn check(raw: &[u8], helo: &str, reverse_path: &str) -> AuthResults {
    RUNTIME.block_on(BENCH.check(raw, &session("192.0.2.10", helo, reverse_path)))
}

fn texts(results: &AuthResults) -> Vec<&String> {
    let dkim = results.dkim.iter();
    let dkim = dkim.flat_map(|entry| [&entry.domain, &entry.selector, &entry.signature, &entry.details]);
    let (spf, dmarc, reverse) = (&results.spf, &results.dmarc, &results.reverse_dns);
    dkim.chain([&spf.domain, &spf.ip, &spf.details, &dmarc.domain, &dmarc.details])
        .chain([&reverse.ip, &reverse.hostname, &reverse.details])
        .flatten()
        .collect()
}

fn assert_fit_to_show(results: &AuthResults) {
    assert!(!results.dkim.is_empty());
    for text in texts(results) {
        assert!(!text.contains(|character: char| character.is_control()), "{text:?}");
    }
}

/// Bytes that matter to a header.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(&b"DKIM-Signature: v=1; a=rsa-sha256; d=dkim.test; s=revoked; h=from; bh=AA==; b=AA=="[..]),
        Just(&b"DKIM-Signature:"[..]),
        Just(&b"From: "[..]),
        Just(&b"joe@reject.test"[..]),
        Just(&b"; l=3; x=9999999999; t=1"[..]),
        Just(&b"\r\n"[..]),
        Just(&b"\r\n\r\n"[..]),
        Just(&b"\n"[..]),
        Just(&b"\r"[..]),
        Just(&b" "[..]),
        Just(&b"\t"[..]),
        Just(&b"\0"[..]),
        Just(&b"\xff\xfe"[..]),
        Just(&b"<>,;:=@\"()\\[]"[..]),
        Just(&b"=?utf-8?b?"[..]),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_get_results(raw in prop::collection::vec(any::<u8>(), 0..600)) {
        assert_fit_to_show(&check(&raw, "mail.reverse.test", "joe@pass.spf.test"));
    }

    #[test]
    fn any_header_gets_results(raw in pieces()) {
        assert_fit_to_show(&check(&raw, "mail.reverse.test", "joe@pass.spf.test"));
    }

    #[test]
    fn any_names_get_results(helo in "\\PC{0,40}", path in ".{0,80}", domain in "[a-z0-9.@\\[\\]%\\\\ -]{0,80}") {
        assert_fit_to_show(&check(b"From: joe@reject.test\r\n\r\n", &helo, &path));
        assert_fit_to_show(&check(b"From: joe@reject.test\r\n\r\n", &helo, &format!("joe@{domain}")));
        let raw = format!("From: joe@{domain}\r\nDKIM-Signature: v=1; d={domain}; s={helo}\r\n\r\n");
        assert_fit_to_show(&check(raw.as_bytes(), &domain, ""));
    }

    #[test]
    fn any_record_gets_a_result(record in "v=spf1 [a-z0-9:./%{}=_+~?-]{0,60}|v=DKIM1; [a-zA-Z0-9=;:/+ ]{0,60}|\\PC{0,60}", id in any::<u64>()) {
        let domain = format!("n{id}.test");
        BENCH.dns.add_txt(&domain, &record);
        BENCH.dns.add_txt(&format!("_dmarc.{domain}"), &record);
        BENCH.dns.add_txt(&format!("s._domainkey.{domain}"), &record);
        let raw = format!(
            "From: joe@{domain}\r\nDKIM-Signature: v=1; a=rsa-sha256; d={domain}; s=s; h=from; bh=AA==; b=AA==\r\n\r\n"
        );
        assert_fit_to_show(&check(raw.as_bytes(), &domain, &format!("joe@{domain}")));
    }
}

#[test]
fn messages_without_anything_have_no_signature_and_no_author() {
    let large = [b"X: ".to_vec(), b"word ".repeat(40_000), b"\r\n\r\nbody".to_vec()].concat();
    for raw in [
        &b""[..],
        b"\r\n",
        b"\0",
        b"body without header",
        b"\n\nbody",
        b"Subject: x",
        &large,
    ] {
        let results = check(raw, "mail.reverse.test", "joe@pass.spf.test");
        assert_eq!(results.dkim[0].result, Verdict::None);
        assert_eq!(results.dmarc.result, Verdict::None);
        assert_says(results.dmarc.details.as_ref(), "no From field");
    }
}

#[tokio::test]
async fn names_that_are_none_are_not_asked_for() {
    let bench = Bench::with(DnsServer::start(&fixtures("dns")), |settings| {
        settings.reverse_dns = false;
    });
    let raw = b"From: joe@evil\r\n\tname.test\r\n\
DKIM-Signature: v=1; a=rsa-sha256; d=evil\0.test; s=a b; h=from; bh=AA==; b=AA==\r\n\r\n";
    let results = bench.check(raw, &session("192.0.2.12", "a b", "")).await;
    assert_fit_to_show(&results);
    assert_eq!(results.dkim[0].result, Verdict::Fail);
    assert_eq!(results.dkim[0].domain.as_deref(), Some("evil?.test"));
    assert_says(
        results.dkim[0].details.as_ref(),
        "d= of the signature is not a domain name",
    );
    assert_eq!(bench.dns.all_queries(), 0);
}

#[tokio::test]
async fn the_worst_header_takes_no_long_time() {
    // 256 KiB of header: ten signatures that hold, each over 500 of almost a thousand fields.
    let (bench, key) = (Bench::new(), DkimKey::ed25519());
    bench.dns.add_txt("sel._domainkey.dkim.test", &key.record());
    let mut raw = b"From: joe@dkim.test\r\n".to_vec();
    for number in 0..980 {
        raw.extend_from_slice(format!("n{number}: {}\r\n", "a ".repeat(120)).as_bytes());
    }
    raw.extend_from_slice(b"\r\nbody\r\n");
    let numbered = (481..980).map(|number| format!("n{number}"));
    let signer = Signer {
        fields: ["From".to_owned()].into_iter().chain(numbered).collect(),
        ..Signer::new("dkim.test", "sel")
    };
    for _ in 0..10 {
        raw = signer.sign(&key, &raw);
    }
    assert!(raw.len() > 256 * 1024);
    let start = Instant::now();
    let results = bench.check(&raw, &facts()).await;
    assert!(start.elapsed() < TIMEOUT, "{:?}", start.elapsed());
    assert_eq!(results.dkim.len(), 10);
    assert!(results.dkim.iter().all(|result| result.result == Verdict::Pass));
}
