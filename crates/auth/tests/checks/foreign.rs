//! Messages that another implementation signed: dkimpy, see `tests/fixtures/dkim/README.md`.

use restante_model::auth::{SpfVerdict, Verdict};

use crate::bench::{Bench, assert_says, fixtures, session};

fn message(name: &str) -> Vec<u8> {
    std::fs::read(fixtures("dkim").join(name).with_extension("eml")).expect("the fixture is there")
}

#[tokio::test]
async fn each_message_has_its_verdict() {
    let bench = Bench::new();
    let expected = [
        (
            "rsa-relaxed-simple",
            &[(Verdict::Pass, "verified with the key at rsa._domainkey.signed.test")][..],
        ),
        ("rsa-relaxed-relaxed", &[(Verdict::Pass, "verified")]),
        ("rsa-simple-simple", &[(Verdict::Pass, "verified")]),
        ("rsa-simple-relaxed", &[(Verdict::Pass, "verified")]),
        ("rsa-1024", &[(Verdict::Pass, "rsa1024._domainkey.signed.test")]),
        (
            "ed25519-relaxed-relaxed",
            &[(Verdict::Pass, "ed._domainkey.signed.test")],
        ),
        (
            "rsa-and-ed25519",
            &[(Verdict::Pass, "rsa._domainkey"), (Verdict::Pass, "ed._domainkey")],
        ),
        ("identity-below", &[(Verdict::Pass, "verified")]),
        ("length-with-footer", &[(Verdict::Pass, "covers only the first")]),
        ("footer-without-length", &[(Verdict::Fail, "body hash did not verify")]),
        (
            "expired",
            &[(Verdict::Fail, "signature expired 2020-09-13T13:26:40.000Z")],
        ),
        ("key-changed", &[(Verdict::Fail, "signature did not verify")]),
    ];
    let folder = std::fs::read_dir(fixtures("dkim")).expect("the folder is there");
    let files = folder.filter(|file| {
        file.as_ref()
            .is_ok_and(|file| file.path().extension().is_some_and(|kind| kind == "eml"))
    });
    assert_eq!(files.count(), expected.len(), "each file has its verdict here");
    for (name, verdicts) in expected {
        let results = bench.dkim(&message(name)).await;
        assert_eq!(results.len(), verdicts.len(), "{name}: {results:?}");
        for (result, (verdict, details)) in results.iter().zip(verdicts) {
            assert_eq!(result.result, *verdict, "{name}: {result:?}");
            assert_says(result.details.as_ref(), details);
        }
    }
}

#[tokio::test]
async fn all_checks_agree_on_a_good_message() {
    let facts = session("127.0.0.1", "mail.signed.test", "joerg@signed.test");
    let results = Bench::new().check(&message("rsa-and-ed25519"), &facts).await;
    assert_eq!(results.spf.result, SpfVerdict::Pass);
    assert_eq!(results.dmarc.result, Verdict::Pass, "{:?}", results.dmarc);
    assert_says(
        results.dmarc.details.as_ref(),
        "SPF for signed.test and DKIM passed and are aligned with signed.test",
    );
    assert_eq!(results.reverse_dns.result, Verdict::Pass);
}

#[tokio::test]
async fn every_flipped_byte_of_the_body_is_noticed() {
    let bench = Bench::new();
    let good = message("rsa-simple-simple");
    let body = good
        .windows(4)
        .position(|window| window == b"\r\n\r\n")
        .expect("an empty line")
        + 4;
    for index in (body..good.len()).filter(|&index| !good[index].is_ascii_whitespace()) {
        let mut changed = good.clone();
        changed[index] ^= 0x40;
        let results = bench.dkim(&changed).await;
        assert_eq!(results[0].result, Verdict::Fail, "byte {index}");
    }
}
