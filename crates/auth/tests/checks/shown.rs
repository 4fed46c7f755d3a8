//! What passes speaks for what is shown: nothing put into a signed message is shown with a `pass`.

use std::sync::LazyLock;

use proptest::prelude::*;
use restante_model::AuthResults;
use restante_model::auth::Verdict;
use restante_testkit::dkim::{DkimKey, Form, Signer};
use tokio::runtime::Runtime;

use crate::bench::{Bench, assert_says, session};

const MESSAGE: &[u8] =
    b"From: Joe <joe@shown.test>\r\nTo: a@restante.test,\r\n\tb@restante.test\r\nSubject: hi\r\n\r\nhello\r\n";

/// A domain that asks to be rejected, and signs.
struct Domain {
    runtime: Runtime,
    bench: Bench,
    signed: Vec<u8>,
}

static DOMAIN: LazyLock<Domain> = LazyLock::new(|| {
    let runtime = Runtime::new().expect("a runtime");
    let bench = {
        let _inside = runtime.enter();
        Bench::new()
    };
    let key = DkimKey::ed25519();
    bench.dns.add_txt("sel._domainkey.shown.test", &key.record());
    bench.dns.add_txt("_dmarc.shown.test", "v=DMARC1; p=reject");
    let signer = Signer {
        header: Form::Simple,
        body: Form::Simple,
        ..Signer::new("shown.test", "sel")
    };
    let signed = signer.sign(&key, MESSAGE);
    Domain { runtime, bench, signed }
});

fn check(raw: &[u8]) -> AuthResults {
    let facts = session("192.0.2.10", "mail.reverse.test", "joe@other.test");
    DOMAIN.runtime.block_on(DOMAIN.bench.check(raw, &facts))
}

/// The signed message with `text` before its line number `line`.
fn with_inserted(line: usize, text: &[u8]) -> Vec<u8> {
    let lines: Vec<&[u8]> = DOMAIN.signed.split_inclusive(|&byte| byte == b'\n').collect();
    let (before, after) = lines.split_at(line.min(lines.len()));
    [&before.concat(), text, &after.concat()].concat()
}

/// The line after the signature and From.
fn after_from() -> usize {
    let lines = DOMAIN.signed.split(|&byte| byte == b'\n');
    lines.take_while(|line| !line.starts_with(b"To:")).count()
}

#[test]
fn text_among_the_header_fields_of_a_signed_message_breaks_it() {
    let unchanged = check(&DOMAIN.signed);
    assert_eq!(unchanged.dkim[0].result, Verdict::Pass, "{unchanged:?}");
    assert_eq!(unchanged.dmarc.result, Verdict::Pass, "{unchanged:?}");
    for (line, text) in [
        (
            after_from(),
            &b"Please pay at http://evil.test/ now\r\nthank you\r\n"[..],
        ),
        (after_from(), b"\rX: 1\r\n"),
        (after_from(), b"X\0: 1\r\n"),
        (0, b" From: evil@other.test\r\n"),
        (0, b"Fr\0om: evil@other.test\r\n"),
        (0, b"\r\n"),
    ] {
        let results = check(&with_inserted(line, text));
        assert_ne!(results.dkim[0].result, Verdict::Pass, "{text:?}: {results:?}");
        assert_ne!(results.dmarc.result, Verdict::Pass, "{text:?}: {results:?}");
    }
}

#[test]
fn a_header_that_is_not_read_to_its_end_is_not_judged() {
    let fields = b"X: 1\r\n".repeat(1000);
    for line in [0, after_from(), after_from() + 2] {
        let results = check(&with_inserted(line, &fields));
        assert_eq!(results.dkim[0].result, Verdict::None, "{results:?}");
        assert_eq!(results.dmarc.result, Verdict::None, "{results:?}");
        assert_says(results.dmarc.details.as_ref(), "more header fields than are read");
    }
}

fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(&b"From: "[..]),
        Just(&b"From "[..]),
        Just(&b"evil@other.test"[..]),
        Just(&b"<joe@shown.test>"[..]),
        Just(&b"X: "[..]),
        Just(&b": "[..]),
        Just(&b"text"[..]),
        Just(&b"\r\n"[..]),
        Just(&b"\n"[..]),
        Just(&b"\r"[..]),
        Just(&b" "[..]),
        Just(&b"\t"[..]),
        Just(&b"\0"[..]),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn what_passes_is_what_is_shown(line in 0..20_usize, text in pieces()) {
        let raw = with_inserted(line, &text);
        let (results, shown) = (check(&raw), restante_message::parse(&raw));
        let signed = restante_message::parse(MESSAGE);
        if results.dkim[0].result == Verdict::Pass {
            // Empty lines at the end are not signed.
            let text = |message: &restante_message::ParsedMessage| message.text.as_ref().map(|text| text.trim_end().to_owned());
            prop_assert_eq!(text(&shown), text(&signed));
            prop_assert!(shown.headers.iter().any(|(name, value)| name == "from" && value.contains("joe@shown.test")));
        }
        if results.dmarc.result == Verdict::Pass {
            prop_assert_eq!(shown.from_mailbox, signed.from_mailbox);
        }
    }
}
