//! DKIM (RFC 6376): every verdict, and why, for messages that are signed here with keys that are made here.

use std::fmt::Write as _;

use restante_model::auth::{DkimResult, Verdict};
use restante_testkit::dkim::{DkimKey, Form, Signer};

use crate::bench::{Bench, assert_says};

const MESSAGE: &[u8] = b"From: Joe <joe@dkim.test>\r\nTo: a@restante.test,\r\n\tb@restante.test\r\n\
Subject:  two  words \r\nReceived: one\r\nReceived: two\r\n\r\nA line  with \t spaces \r\n\r\nThe end\r\n\r\n\r\n";

fn signer(selector: &str) -> Signer {
    Signer::new("dkim.test", selector)
}

/// A bench whose zone has the public half of a new key at `sel`.
fn bench_with(key: &DkimKey) -> Bench {
    let bench = Bench::new();
    bench.dns.add_txt("sel._domainkey.dkim.test", &key.record());
    bench
}

async fn only(bench: &Bench, raw: &[u8]) -> DkimResult {
    let mut results = bench.dkim(raw).await;
    assert_eq!(results.len(), 1, "{results:?}");
    results.remove(0)
}

fn replaced(raw: &[u8], from: &str, to: &str) -> Vec<u8> {
    let text = std::str::from_utf8(raw).expect("the message is text");
    assert!(text.contains(from), "nothing to replace");
    text.replacen(from, to, 1).into_bytes()
}

#[tokio::test]
async fn every_form_of_signature_passes() {
    for key in [DkimKey::rsa(), DkimKey::ed25519()] {
        let bench = bench_with(&key);
        for header in [Form::Simple, Form::Relaxed] {
            for body in [Form::Simple, Form::Relaxed] {
                let signed = Signer {
                    header,
                    body,
                    ..signer("sel")
                }
                .sign(&key, MESSAGE);
                let result = only(&bench, &signed).await;
                assert_eq!(result.result, Verdict::Pass, "{header:?} {body:?}: {result:?}");
                assert_eq!(result.domain.as_deref(), Some("dkim.test"));
                assert_eq!(result.selector.as_deref(), Some("sel"));
                assert_says(
                    result.details.as_ref(),
                    "signature verified with the key at sel._domainkey.dkim.test",
                );
                let value = result.signature.expect("it is always shown");
                assert!(std::str::from_utf8(&signed).expect("it is text").contains(&value));
            }
        }
    }
}

#[tokio::test]
async fn relaxed_forms_allow_what_relays_do_and_simple_forms_do_not() {
    let key = DkimKey::ed25519();
    let bench = bench_with(&key);
    for (change, to) in [
        ("Subject:  two  words \r\n", "subject : two\r\n\twords\r\n"),
        ("A line  with \t spaces \r\n", "A line with spaces\r\n"),
    ] {
        for (form, verdict) in [(Form::Relaxed, Verdict::Pass), (Form::Simple, Verdict::Fail)] {
            let signed = Signer {
                header: form,
                body: form,
                ..signer("sel")
            }
            .sign(&key, MESSAGE);
            let result = only(&bench, &replaced(&signed, change, to)).await;
            assert_eq!(result.result, verdict, "{form:?}: {result:?}");
        }
    }
}

#[tokio::test]
async fn empty_lines_at_the_end_do_not_count() {
    let key = DkimKey::ed25519();
    let bench = bench_with(&key);
    for form in [Form::Simple, Form::Relaxed] {
        for (message, received) in [
            ("From: joe@dkim.test\r\n\r\nbody\r\n", "body\r\n\r\n\r\n"),
            ("From: joe@dkim.test\r\n\r\n", ""),
            ("From: joe@dkim.test\r\n\r\n", "\r\n"),
        ] {
            let signed = Signer {
                header: form,
                body: form,
                ..signer("sel")
            }
            .sign(&key, message.as_bytes());
            let end = signed
                .windows(4)
                .position(|window| window == b"\r\n\r\n")
                .expect("an empty line")
                + 4;
            let result = only(&bench, &[&signed[..end], received.as_bytes()].concat()).await;
            assert_eq!(result.result, Verdict::Pass, "{form:?} {received:?}: {result:?}");
        }
    }
}

#[tokio::test]
async fn a_change_after_signing_fails() {
    let key = DkimKey::rsa();
    let bench = bench_with(&key);
    let signed = signer("sel").sign(&key, MESSAGE);
    let body = "body hash did not verify: the body was changed after signing";
    let header =
        "signature did not verify: a signed header field was changed after signing, or the key is not the signer's";
    for (from, to, details) in [
        ("The end", "The enD", body),
        ("The end\r\n", "The end\r\n-- \r\nfooter\r\n", body),
        ("A line", "A\r\nline", body),
        ("joe@dkim.test", "jim@dkim.test", header),
        ("two  words", "two words!", header),
        ("d=dkim.test", "d=dkim.test; i=@dkim.test", header),
        // A field above the signed one is the next that nobody signed; one below it is taken for the signed one.
        ("Received: one", "Subject: another\r\nReceived: one", header),
    ] {
        let result = only(&bench, &replaced(&signed, from, to)).await;
        assert_eq!(result.result, Verdict::Fail, "{to}: {result:?}");
        assert_eq!(result.details.as_deref(), Some(details), "{to}");
    }
}

#[tokio::test]
async fn a_key_of_someone_else_does_not_verify() {
    let bench = bench_with(&DkimKey::rsa());
    let result = only(&bench, &signer("sel").sign(&DkimKey::rsa(), MESSAGE)).await;
    assert_eq!(result.result, Verdict::Fail, "{result:?}");
    assert_says(result.details.as_ref(), "or the key is not the signer's");
}

#[tokio::test]
async fn unsigned_fields_may_change_and_repeated_ones_are_signed_from_the_bottom() {
    let key = DkimKey::ed25519();
    let bench = bench_with(&key);
    let fields = ["From", "Received", "Received", "Missing"].map(str::to_owned).into();
    let signed = Signer {
        fields,
        ..signer("sel")
    }
    .sign(&key, MESSAGE);
    for (from, to, verdict) in [
        ("Subject:  two", "Subject: other", Verdict::Pass),
        ("From: Joe", "Received: zero\r\nFrom: Joe", Verdict::Pass),
        ("Received: two", "Received: 2", Verdict::Fail),
        ("Received: one\r\n", "", Verdict::Fail),
        ("Subject:", "Missing: now there\r\nSubject:", Verdict::Fail),
    ] {
        let result = only(&bench, &replaced(&signed, from, to)).await;
        assert_eq!(result.result, verdict, "{to}: {result:?}");
    }
}

#[tokio::test]
async fn a_length_covers_that_much_of_the_canonical_body() {
    let key = DkimKey::ed25519();
    let bench = bench_with(&key);
    for (limit, end, verdict, details) in [
        (
            Some(5),
            "",
            Verdict::Pass,
            "covers only the first 5 bytes of the body (l=)",
        ),
        (
            Some(0),
            "",
            Verdict::Pass,
            "covers only the first 0 bytes of the body (l=)",
        ),
        (Some(5), "more\r\n", Verdict::Pass, "covers only the first 5 bytes"),
        (
            Some(31),
            "",
            Verdict::Pass,
            "signature verified with the key at sel._domainkey.dkim.test",
        ),
        (Some(31), "more\r\n", Verdict::Pass, "covers only the first 31 bytes"),
    ] {
        let signed = Signer { limit, ..signer("sel") }.sign(&key, MESSAGE);
        let result = only(&bench, &[&signed, end.as_bytes()].concat()).await;
        assert_eq!(result.result, verdict, "{limit:?} {end:?}: {result:?}");
        assert_says(result.details.as_ref(), details);
    }
    let signed = Signer {
        limit: Some(31),
        ..signer("sel")
    }
    .sign(&key, MESSAGE);
    let result = only(&bench, &replaced(&signed, "The end", "The")).await;
    assert_eq!(result.result, Verdict::Fail, "{result:?}");
    assert_says(
        result.details.as_ref(),
        "the body has 27 bytes, and the signature (l=) covers 31",
    );
}

#[tokio::test]
async fn dates_of_a_signature_are_compared_with_the_arrival() {
    let key = DkimKey::ed25519();
    let bench = bench_with(&key);
    for (dates, verdict, details) in [
        ("t=1794000000; x=1794700801", Verdict::Pass, "verified"),
        (
            "t=1794000000; x=1794700799",
            Verdict::Fail,
            "signature expired 2026-11-14T23:59:59.000Z",
        ),
        ("x=1", Verdict::Fail, "signature expired 1970-01-01T00:00:01.000Z"),
        ("t=5; x=4", Verdict::Fail, "expires before it was made"),
    ] {
        let signed = Signer {
            more: dates.to_owned(),
            ..signer("sel")
        }
        .sign(&key, MESSAGE);
        let result = only(&bench, &signed).await;
        assert_eq!(result.result, verdict, "{dates}: {result:?}");
        assert_says(result.details.as_ref(), details);
    }
    assert_eq!(
        bench.dns.queries("sel._domainkey.dkim.test"),
        1,
        "an expired signature needs no key"
    );
}

#[tokio::test]
async fn each_way_to_lack_a_key_is_told_apart() {
    let bench = Bench::new();
    let key = DkimKey::rsa();
    for (selector, verdict, details) in [
        ("missing", Verdict::Fail, "no key at missing._domainkey.dkim.test"),
        ("empty", Verdict::Fail, "no key at empty._domainkey.dkim.test"),
        (
            "revoked",
            Verdict::Fail,
            "key revoked: p= of revoked._domainkey.dkim.test is empty",
        ),
        (
            "notakey",
            Verdict::Fail,
            "the TXT record at notakey._domainkey.dkim.test is not a DKIM key",
        ),
        ("nokeydata", Verdict::Fail, "is not a DKIM key"),
        ("version", Verdict::Fail, "is not a DKIM key"),
        ("garbage", Verdict::Fail, "is not a DKIM key"),
        ("nobase64", Verdict::Fail, "is not a DKIM key"),
        (
            "short",
            Verdict::Fail,
            "the RSA key at short._domainkey.dkim.test has 512 bits, and 1024 are the least",
        ),
        (
            "servfail",
            Verdict::None,
            "looking up the key at servfail._domainkey.dkim.test: the DNS server answered",
        ),
        (
            "silent",
            Verdict::None,
            "looking up the key at silent._domainkey.dkim.test: the DNS server did not answer in time",
        ),
    ] {
        let result = only(&bench, &signer(selector).sign(&key, MESSAGE)).await;
        assert_eq!(result.result, verdict, "{selector}: {result:?}");
        assert_eq!(result.selector.as_deref(), Some(selector));
        assert_says(result.details.as_ref(), details);
    }
}

#[tokio::test]
async fn a_key_is_used_only_for_what_it_is_for() {
    let key = DkimKey::rsa();
    let public = key.public();
    for (record, more, verdict, details) in [
        (format!("p={public}"), "", Verdict::Pass, "verified"),
        (
            format!("v=DKIM1; k=rsa; h=sha1:sha256; s=*; t=y; n=notes; p={public}"),
            "",
            Verdict::Pass,
            "the domain is testing DKIM (t=y)",
        ),
        (
            format!("v=DKIM1; s=tlsrpt:email; p={public};"),
            "",
            Verdict::Pass,
            "verified",
        ),
        (
            format!("k=rsa; v=DKIM1; p={public}"),
            "",
            Verdict::Fail,
            "is not a DKIM key",
        ),
        (
            format!("v=DKIM1; k=ed25519; p={public}"),
            "",
            Verdict::Fail,
            "is not of the type that the signature names",
        ),
        (
            format!("v=DKIM1; h=sha1; p={public}"),
            "",
            Verdict::Fail,
            "is not for sha256",
        ),
        (
            format!("v=DKIM1; s=tlsrpt; p={public}"),
            "",
            Verdict::Fail,
            "is not for email",
        ),
        (
            format!("v=DKIM1; t=s; p={public}"),
            "i=joe@dkim.test",
            Verdict::Pass,
            "verified",
        ),
        (
            format!("v=DKIM1; t=y:s; p={public}"),
            "i=joe@mail.dkim.test",
            Verdict::Fail,
            "for its own domain only (t=s)",
        ),
        (
            format!("v=DKIM1; p={public}"),
            "i=joe@mail.dkim.test",
            Verdict::Pass,
            "verified",
        ),
        (
            format!("v=DKIM1; p={public}"),
            "i=joe@example.org",
            Verdict::Fail,
            "the identity (i=) is not in the signing domain",
        ),
    ] {
        let bench = Bench::new();
        bench.dns.add_txt("sel._domainkey.dkim.test", &record);
        let signed = Signer {
            more: more.to_owned(),
            ..signer("sel")
        }
        .sign(&key, MESSAGE);
        let result = only(&bench, &signed).await;
        assert_eq!(result.result, verdict, "{record} {more}: {result:?}");
        assert_says(result.details.as_ref(), details);
    }
}

#[tokio::test]
async fn of_several_records_the_usable_one_counts() {
    let key = DkimKey::ed25519();
    let bench = Bench::new();
    for record in ["some text", "v=DKIM1; p=", &key.record()] {
        bench.dns.add_txt("sel._domainkey.dkim.test", record);
    }
    assert_eq!(
        only(&bench, &signer("sel").sign(&key, MESSAGE)).await.result,
        Verdict::Pass
    );
}

#[tokio::test]
async fn a_malformed_signature_fails_and_shows_what_can_be_read() {
    let key = DkimKey::ed25519();
    let bench = bench_with(&key);
    let signed = signer("sel").sign(&key, MESSAGE);
    for (from, to, details) in [
        ("v=1", "v=2", "v= of the signature is not 1"),
        ("a=ed25519-sha256", "a=rsa-sha1", "rsa-sha1 is too weak to be accepted"),
        ("a=ed25519-sha256", "a=rot13", "neither rsa-sha256 nor ed25519-sha256"),
        ("a=ed25519-sha256; ", "", "has no a= tag"),
        ("c=relaxed/relaxed", "c=tidy", "is not made of simple and relaxed"),
        ("h=From:To", "h=To", "does not cover the From field"),
        ("v=1", "v=1; l=some", "l= of the signature is not a number"),
        ("v=1", "v=1; v=1", "a tag stands twice"),
        ("v=1", "v=1; junk", "a tag has no name or no value"),
    ] {
        let result = only(&bench, &replaced(&signed, from, to)).await;
        assert_eq!(result.result, Verdict::Fail, "{to}: {result:?}");
        assert_says(result.details.as_ref(), details);
        assert_eq!(result.domain.as_deref(), Some("dkim.test"), "{to}");
        assert_eq!(result.selector.as_deref(), Some("sel"), "{to}");
        assert!(result.signature.is_some_and(|value| !value.is_empty()), "{to}");
    }
    assert_eq!(bench.dns.queries("sel._domainkey.dkim.test"), 0);
    let result = only(&bench, b"DKIM-Signature: nonsense\r\nFrom: joe@dkim.test\r\n\r\n").await;
    assert_eq!(result.result, Verdict::Fail);
    assert_eq!(
        (result.domain.as_deref(), result.signature.as_deref()),
        (Some(""), Some(""))
    );
}

#[tokio::test]
async fn the_signature_is_shown_without_white_space() {
    let bench = Bench::new();
    let raw =
        b"DKIM-Signature: v=1; a=rsa-sha256; d=dkim.test; s=missing; h=from; bh=AA==;\r\n b=ab\r\n\tcd ef\x01==\r\n\
From: joe@dkim.test\r\n\r\n";
    let result = only(&bench, raw).await;
    assert_eq!(result.signature.as_deref(), Some("abcdef?=="));
}

#[tokio::test]
async fn a_message_without_a_signature_has_one_entry() {
    let result = only(&Bench::new(), MESSAGE).await;
    assert_eq!(result.result, Verdict::None);
    for text in [result.domain, result.selector, result.signature] {
        assert_eq!(text.as_deref(), Some(""));
    }
    assert_says(result.details.as_ref(), "no DKIM signature");
}

#[tokio::test]
async fn signatures_are_reported_in_header_order() {
    let (rsa, ed25519) = (DkimKey::rsa(), DkimKey::ed25519());
    let bench = bench_with(&rsa);
    bench.dns.add_txt("ed._domainkey.other.test", &ed25519.record());
    let signed = signer("sel").sign(&rsa, MESSAGE);
    let signed = Signer::new("other.test", "ed").sign(&ed25519, &signed);
    let signed = signer("missing").sign(&rsa, &signed);
    let results = bench.dkim(&[b"DKIM-Signature: b=x\r\n", &signed[..]].concat()).await;
    let seen: Vec<_> = results
        .iter()
        .map(|result| (result.result, result.domain.as_deref().unwrap_or_default()))
        .collect();
    assert_eq!(
        seen,
        [
            (Verdict::Fail, ""),
            (Verdict::Fail, "dkim.test"),
            (Verdict::Pass, "other.test"),
            (Verdict::Pass, "dkim.test"),
        ]
    );
}

#[tokio::test]
async fn ten_signatures_are_verified_and_the_others_only_reported() {
    let key = DkimKey::ed25519();
    let bench = bench_with(&key);
    let mut raw = String::new();
    for number in 0..150 {
        let _ = write!(
            raw,
            "DKIM-Signature: v=1; a=ed25519-sha256; d=dkim.test; s=n{number}; h=from; bh=AA==; b=AA==\r\n"
        );
    }
    let results = bench.dkim(&[raw.as_bytes(), MESSAGE].concat()).await;
    assert_eq!(results.len(), 100);
    assert_says(results[9].details.as_ref(), "no key at n9._domainkey.dkim.test");
    assert_says(
        results[10].details.as_ref(),
        "not verified: the message has more than 10 signatures",
    );
    assert!(results[..10].iter().all(|result| result.result == Verdict::Fail));
    // Nobody looked at the others, which may well hold.
    assert!(results[10..].iter().all(|result| result.result == Verdict::None));
    assert_eq!(bench.dns.queries("n9._domainkey.dkim.test"), 1);
    assert_eq!(bench.dns.queries("n10._domainkey.dkim.test"), 0);
}

#[tokio::test]
async fn a_large_message_is_verified_whole() {
    let key = DkimKey::rsa();
    let bench = bench_with(&key);
    let line = b"A line with some words, and  two spaces\t and a tab. \r\n";
    let message = [b"From: joe@dkim.test\r\n\r\n".to_vec(), line.repeat(5000)].concat();
    let mut signed = signer("sel").sign(&key, &message);
    assert_eq!(only(&bench, &signed).await.result, Verdict::Pass);
    let last = signed.len() - 10;
    signed[last] ^= 1;
    assert_says(only(&bench, &signed).await.details.as_ref(), "body hash did not verify");
}

#[tokio::test]
async fn bare_line_feeds_are_read_as_the_line_ends_they_were() {
    let key = DkimKey::ed25519();
    let bench = bench_with(&key);
    for header in [Form::Simple, Form::Relaxed] {
        let signed = Signer {
            header,
            ..signer("sel")
        }
        .sign(&key, MESSAGE);
        let relayed = String::from_utf8(signed).expect("it is text").replace("\r\n", "\n");
        let result = only(&bench, relayed.as_bytes()).await;
        assert_eq!(result.result, Verdict::Pass, "{header:?}: {result:?}");
    }
}

#[tokio::test]
async fn the_body_is_hashed_in_four_ways_at_most() {
    let key = DkimKey::ed25519();
    let bench = bench_with(&key);
    let mut raw = MESSAGE.to_vec();
    for limit in 0..6 {
        let limited = Signer {
            limit: Some(limit),
            ..signer("sel")
        };
        raw = limited.sign(&key, &raw);
    }
    let results = bench.dkim(&raw).await;
    let verdicts: Vec<Verdict> = results.iter().map(|result| result.result).collect();
    assert_eq!(verdicts[..4], [Verdict::Pass; 4], "{results:?}");
    assert_eq!(verdicts[4..], [Verdict::None; 2], "{results:?}");
    assert_says(results[4].details.as_ref(), "in more than 4 ways");
}
