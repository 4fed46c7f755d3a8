//! DMARC (RFC 9989): alignment, the policy that holds, and why.

use restante_model::auth::DmarcPolicy::{self, None as Monitor, Quarantine, Reject};
use restante_model::auth::DmarcResult;
use restante_model::auth::Verdict::{self, Fail, None, Pass};
use restante_testkit::dkim::{DkimKey, Signer};

use crate::bench::{Bench, assert_says, session};

/// The result for a message with these From fields, sent for the domain of `reverse_path`, and signed for `signer` if it is not empty.
async fn dmarc(bench: &Bench, key: &DkimKey, header: &str, reverse_path: &str, signer: &str) -> DmarcResult {
    let mut message = format!("{header}Subject: x\r\n\r\nbody\r\n").into_bytes();
    if !signer.is_empty() {
        let place = format!("sel._domainkey.{}", signer.trim_end_matches('.'));
        bench.dns.remove(&place);
        bench.dns.add_txt(&place, &key.record());
        message = Signer::new(signer, "sel").sign(key, &message);
    }
    bench
        .check(&message, &session("192.0.2.10", "mail.reverse.test", reverse_path))
        .await
        .dmarc
}

/// Author, domain of the reverse-path, domain of the signature, and the result.
type Case = (
    &'static str,
    &'static str,
    &'static str,
    Verdict,
    DmarcPolicy,
    &'static str,
);

const CASES: &[Case] = &[
    // Either is enough, and both are told.
    (
        "reject.test",
        "reject.test",
        "",
        Pass,
        Reject,
        "SPF for reject.test passed and is aligned with reject.test",
    ),
    (
        "reject.test",
        "fail.spf.test",
        "reject.test",
        Pass,
        Reject,
        "DKIM passed and is aligned with reject.test",
    ),
    (
        "reject.test",
        "reject.test",
        "reject.test",
        Pass,
        Reject,
        "SPF for reject.test and DKIM passed and are aligned with reject.test",
    ),
    ("Reject.TEST", "REJECT.test", "", Pass, Reject, "passed"),
    // Nothing passed, or for someone else.
    (
        "reject.test",
        "fail.spf.test",
        "",
        Fail,
        Reject,
        "SPF did not pass; no DKIM signature passed",
    ),
    (
        "reject.test",
        "pass.spf.test",
        "",
        Fail,
        Reject,
        "SPF passed for pass.spf.test, which is not aligned (relaxed) with reject.test",
    ),
    (
        "reject.test",
        "fail.spf.test",
        "monitor.test",
        Fail,
        Reject,
        "DKIM passed for monitor.test, which is not aligned (relaxed) with reject.test",
    ),
    // Relaxed: the same organisation.
    (
        "reject.test",
        "sub.reject.test",
        "",
        Pass,
        Reject,
        "SPF for sub.reject.test passed",
    ),
    (
        "sub.reject.test",
        "reject.test",
        "",
        Pass,
        Quarantine,
        "SPF for reject.test passed",
    ),
    (
        "sub.reject.test",
        "fail.spf.test",
        "other-sub.reject.test",
        Pass,
        Quarantine,
        "DKIM passed",
    ),
    // Strict: the same domain.
    ("strict.test", "strict.test", "", Pass, Quarantine, "passed"),
    (
        "strict.test",
        "sub.strict.test",
        "",
        Fail,
        Quarantine,
        "SPF passed for sub.strict.test, which is not aligned (strict) with strict.test",
    ),
    (
        "strict.test",
        "fail.spf.test",
        "sub.strict.test",
        Fail,
        Quarantine,
        "DKIM passed for sub.strict.test, which is not aligned (strict)",
    ),
    (
        "strict.test",
        "fail.spf.test",
        "strict.test",
        Pass,
        Quarantine,
        "passed",
    ),
    // The policy that holds: sp of the organisation, np for a name that does not exist, the domain's own.
    ("sub.reject.test", "fail.spf.test", "", Fail, Quarantine, "did not pass"),
    (
        "nowhere.reject.test",
        "fail.spf.test",
        "",
        Fail,
        Monitor,
        "did not pass",
    ),
    ("own.reject.test", "fail.spf.test", "", Fail, Monitor, "did not pass"),
    ("monitor.test", "fail.spf.test", "", Fail, Monitor, "did not pass"),
    ("testing.test", "fail.spf.test", "", Fail, Quarantine, "did not pass"),
    // A registry's customers are not aligned with each other.
    (
        "one.registry.test",
        "two.registry.test",
        "",
        Fail,
        Reject,
        "not aligned",
    ),
    ("one.registry.test", "one.registry.test", "", Pass, Reject, "passed"),
    // No record, or none that can be used.
    (
        "norecord.test",
        "norecord.test",
        "",
        None,
        Monitor,
        "no DMARC record found for norecord.test or a domain above it",
    ),
    (
        "a.b.norecord.test",
        "norecord.test",
        "",
        None,
        Monitor,
        "no DMARC record found",
    ),
    ("other.test", "other.test", "", None, Monitor, "no DMARC record found"),
    (
        "two.test",
        "two.test",
        "",
        None,
        Monitor,
        "two.test has several DMARC records",
    ),
    (
        "malformed.test",
        "malformed.test",
        "",
        None,
        Monitor,
        "the DMARC record of malformed.test is malformed: p= is missing or unknown",
    ),
    ("twice.test", "twice.test", "", None, Monitor, "twice.test is malformed"),
    (
        "sub.two.test",
        "sub.two.test",
        "",
        None,
        Monitor,
        "two.test has several DMARC records",
    ),
    // A flaw leaves the rest of a record alone, and a bad record those of other domains.
    ("flaws.test", "flaws.test", "", Pass, Reject, "passed"),
    ("sub.flaws.test", "fail.spf.test", "", Fail, Reject, "did not pass"),
    ("reports.test", "reports.test", "", Pass, Monitor, "passed"),
    (
        "good.malformed.test",
        "good.malformed.test",
        "",
        Pass,
        Quarantine,
        "passed",
    ),
    // A final dot names the same domain.
    ("reject.test.", "reject.test", "", Pass, Reject, "passed"),
    (
        "reject.test",
        "fail.spf.test",
        "reject.test.",
        Pass,
        Reject,
        "DKIM passed",
    ),
    ("localhost", "localhost", "", None, Monitor, "no DMARC record found"),
    // Trouble that may pass.
    (
        "refused.test",
        "refused.test",
        "",
        None,
        Monitor,
        "looking up the DMARC record of refused.test: the DNS server answered",
    ),
    (
        "reject.test",
        "refused.reject.test",
        "",
        None,
        Reject,
        "the DNS did not answer",
    ),
];

#[tokio::test]
async fn each_combination_has_its_verdict() {
    let (bench, key) = (Bench::new(), DkimKey::ed25519());
    for (author, sender, signer, verdict, policy, details) in CASES {
        let header = format!("From: Joe <joe@{author}>\r\n");
        if *sender == "refused.reject.test" {
            bench.dns.trouble(sender, restante_testkit::dns::Trouble::Refused);
        }
        let result = dmarc(&bench, &key, &header, &format!("joe@{sender}"), signer).await;
        let case = format!("From {author}, sent for {sender}, signed for {signer:?}: {result:?}");
        assert_eq!(result.result, *verdict, "{case}");
        assert_eq!(result.policy, Some(*policy), "{case}");
        // SPF that passes for the very domain is aligned, whether the domain asks for DMARC or not.
        let is_aligned = *verdict == Pass || (*verdict == None && author == sender && *author != "localhost");
        assert_eq!(result.aligned, Some(is_aligned), "{case}");
        assert_eq!(
            result.domain.as_deref(),
            Some(author.to_lowercase().trim_end_matches('.')),
            "{case}"
        );
        assert_says(result.details.as_ref(), details);
    }
}

#[tokio::test]
async fn a_null_reverse_path_is_aligned_by_the_helo_name() {
    let bench = Bench::new();
    for (helo, verdict) in [("reject.test", Pass), ("pass.spf.test", Fail)] {
        let facts = session("192.0.2.10", helo, "");
        let result = bench.check(b"From: joe@reject.test\r\n\r\n", &facts).await.dmarc;
        assert_eq!(result.result, verdict, "{helo}: {result:?}");
    }
}

#[tokio::test]
async fn without_one_author_there_is_no_result() {
    let (bench, key) = (Bench::new(), DkimKey::ed25519());
    for (header, details) in [
        ("", "the message has no From field"),
        (
            "From: joe@reject.test\r\nFrom: joe@reject.test\r\n",
            "the message has several From fields",
        ),
        (
            "From: joe@reject.test, jim@strict.test\r\n",
            "the From field names several domains",
        ),
        ("From: joe\r\n", "the From field has no address with a domain"),
        (
            "From: a<x@strict.test>b<joe@reject.test>\r\n",
            "can be read in several ways",
        ),
        ("From: joe@[192.0.2.10]\r\n", "not a domain name: [192.0.2.10]"),
    ] {
        let result = dmarc(&bench, &key, header, "joe@reject.test", "").await;
        assert_eq!(result.result, None, "{header}: {result:?}");
        assert_eq!(result.policy, Some(Monitor));
        assert_eq!(result.aligned, Some(false));
        assert_eq!(result.domain.as_deref(), Some(""));
        assert_says(result.details.as_ref(), details);
    }
    let result = dmarc(
        &bench,
        &key,
        "From: joe@reject.test, jim@Reject.test\r\n",
        "joe@reject.test",
        "",
    )
    .await;
    assert_eq!(result.result, Pass, "authors of one domain: {result:?}");
}

#[tokio::test]
async fn a_signature_that_may_still_pass_leaves_the_verdict_open() {
    let (bench, key) = (Bench::new(), DkimKey::ed25519());
    bench
        .dns
        .trouble("sel._domainkey.reject.test", restante_testkit::dns::Trouble::ServFail);
    let result = dmarc(
        &bench,
        &key,
        "From: joe@reject.test\r\n",
        "joe@fail.spf.test",
        "reject.test",
    )
    .await;
    assert_eq!(result.result, None, "{result:?}");
    assert_eq!(result.policy, Some(Reject));
}

#[tokio::test]
async fn trouble_above_a_domain_leaves_its_own_record_alone() {
    let bench = Bench::new();
    bench
        .dns
        .trouble("_dmarc.test", restante_testkit::dns::Trouble::ServFail);
    for (author, verdict) in [("reject.test", Pass), ("norecord.test", None)] {
        let raw = format!("From: joe@{author}\r\n\r\n");
        let facts = session("192.0.2.10", "mail.reverse.test", &format!("joe@{author}"));
        let result = bench.check(raw.as_bytes(), &facts).await.dmarc;
        assert_eq!(result.result, verdict, "{result:?}");
        if verdict == None {
            assert_says(result.details.as_ref(), "looking up the DMARC record of test: ");
        }
    }
}

#[tokio::test]
async fn a_signature_that_was_not_verified_leaves_the_verdict_open() {
    let (bench, key) = (Bench::new(), DkimKey::ed25519());
    bench.dns.add_txt("sel._domainkey.reject.test", &key.record());
    let signed = Signer::new("reject.test", "sel").sign(&key, b"From: joe@reject.test\r\n\r\nbody\r\n");
    let other = b"DKIM-Signature: v=1; a=ed25519-sha256; d=other.test; s=none; h=from; bh=AA==; b=AA==\r\n";
    let facts = session("192.0.2.10", "mail.reverse.test", "joe@fail.spf.test");
    for (others, verdict) in [(9, Pass), (10, None)] {
        let raw = [other.repeat(others), signed.clone()].concat();
        let result = bench.check(&raw, &facts).await.dmarc;
        assert_eq!(result.result, verdict, "{others} others: {result:?}");
    }
}
