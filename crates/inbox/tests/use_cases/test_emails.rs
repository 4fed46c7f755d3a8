//! Test emails: composed so that every text comes back as it was given, with the results that were asked for.

use std::sync::Arc;

use futures_util::FutureExt as _;
use restante_envelope::WireProfile;
use restante_inbox::test_email::{Sender, Subject, forward_path};
use restante_inbox::{Content, DepositError, ForcedVerdicts, InboxPolicy, Inboxes, Source, TestEmail, TestEmailError};
use restante_model::auth::{SpfVerdict, Verdict};
use restante_model::{EmailId, Inbox};
use serde_json::{Value, json};

use crate::fixture::{Fixture, policy};
use crate::sealing::open;

const BOB: &str = "bob@restante.test";
const ANY_SIZE: usize = usize::MAX;

fn email(subject: &str, text: &str, html: Option<&str>) -> TestEmail {
    TestEmail {
        to: forward_path("Bob+Tag@Restante.test").unwrap(),
        from: Sender::parse("Ann <ann@Sender.test>").unwrap(),
        subject: Subject::parse(subject.to_owned()).unwrap(),
        text: text.to_owned(),
        html: html.map(str::to_owned),
        verdicts: ForcedVerdicts::default(),
    }
}

/// Deposits and announces it.
async fn deposited(inboxes: &Inboxes, inbox: &Arc<Inbox>, email: TestEmail) -> EmailId {
    let announcement = inboxes.deposit_test_email(Arc::clone(inbox), email, ANY_SIZE).await;
    announcement.unwrap().ids().next().unwrap()
}

/// Metadata and parsed content as a plain inbox shows them.
async fn shown(inboxes: &Inboxes, inbox: &Inbox, id: EmailId) -> [Value; 2] {
    let Content::Plain {
        metadata,
        parsed: Some(parsed),
    } = inboxes.email(inbox, id).await.unwrap().content
    else {
        panic!("a plain email")
    };
    [&metadata, &parsed].map(|document| serde_json::from_slice(document).unwrap())
}

async fn source(inboxes: &Inboxes, inbox: &Inbox, id: EmailId) -> String {
    let Source::Plain(source) = inboxes.raw(inbox, id).await.unwrap() else {
        panic!("a plain source")
    };
    String::from_utf8(source.to_vec()).unwrap()
}

#[tokio::test]
async fn texts_come_back_as_they_were_given() {
    let fixture = Fixture::new();
    let bob = fixture.create(BOB).await.unwrap();
    let long = "x".repeat(100_000);
    for (text, back) in [
        ("", ""),
        ("one line", "one line"),
        ("ends with a line\n", "ends with a line\n"),
        ("\n\n  spaces at ends  \n\n", "\n\n  spaces at ends  \n\n"),
        ("a\tb\u{1}\u{1b}[31m\u{7f}", "a\tb\u{1}\u{1b}[31m\u{7f}"),
        ("nul\0", "nul\0"),
        ("a lone\rstays", "a lone\rstays"),
        ("\u{feff}Grüße 😀 e\u{301}\u{2028}", "\u{feff}Grüße 😀 e\u{301}\u{2028}"),
        (".\r\n..\r\nFrom x\r\n--=_bodies--\r\n", ".\n..\nFrom x\n--=_bodies--\n"),
        ("=?utf-8?q?x?= =3D =\n", "=?utf-8?q?x?= =3D =\n"),
        (long.as_str(), long.as_str()),
    ] {
        for html in [None, Some(text), Some("")] {
            let id = deposited(&fixture.inboxes, &bob, email("s", text, html)).await;
            let [_, content] = shown(&fixture.inboxes, &bob, id).await;
            assert_eq!(content["text"], back);
            let html = html.map(|html| if html.is_empty() { "" } else { back });
            assert_eq!(content["html"], json!(html), "{text:?}");
            assert_eq!(content["attachments"], json!([]));
            assert_eq!(content["defects"], json!([]), "{text:?}");
        }
    }
}

#[tokio::test]
async fn subjects_come_back_as_they_were_given() {
    let fixture = Fixture::new();
    let bob = fixture.create(BOB).await.unwrap();
    for subject in [
        "Test Email".to_owned(),
        "x".repeat(998),
        "two  spaces ".repeat(80) + "end",
        "😀".repeat(998),
        "Grüße und =?utf-8?q?x?=".to_owned(),
        "=?utf-8?q?x?=".to_owned(),
        "a: b, <c@d> \"e\" (f)".to_owned(),
        "\u{feff}e\u{301}\u{200b}\u{202e}x".to_owned(),
    ] {
        let id = deposited(&fixture.inboxes, &bob, email(&subject, "", None)).await;
        let [metadata, content] = shown(&fixture.inboxes, &bob, id).await;
        assert_eq!(metadata["subject"], subject);
        assert_eq!(content["subject"], subject);
        assert_eq!(content["defects"], json!([]));
    }
    for (given, metadata_subject, subject) in [("", "(no subject)", ""), (" \u{a0}a ", "a", "a")] {
        let id = deposited(&fixture.inboxes, &bob, email(given, "", None)).await;
        let [metadata, content] = shown(&fixture.inboxes, &bob, id).await;
        assert_eq!(metadata["subject"], metadata_subject);
        assert_eq!(content["subject"], subject);
    }
}

#[tokio::test]
async fn a_test_email_is_a_whole_message_from_this_machine() {
    let fixture = Fixture::new();
    let bob = fixture.create(BOB).await.unwrap();
    let ids = [
        deposited(&fixture.inboxes, &bob, email("Hi", "a", Some("<p>b</p>"))).await,
        deposited(&fixture.inboxes, &bob, email("Hi", "a", None)).await,
    ];
    let [metadata, content] = shown(&fixture.inboxes, &bob, ids[0]).await;
    assert_eq!(metadata["from"], "Ann <ann@Sender.test>");
    assert_eq!(metadata["to"], json!(["bob+tag@restante.test"]));
    assert_eq!(content["to"], json!(["Bob+Tag@Restante.test"]));
    assert_eq!(content["date"], metadata["receivedAt"]);
    let info = "Not analysed: this is a test email";
    assert_eq!(content["spamAnalysis"], json!({ "status": "skipped", "info": info }));
    let [_, other] = shown(&fixture.inboxes, &bob, ids[1]).await;
    assert_ne!(content["messageId"], other["messageId"]);
    assert_eq!(other["html"], Value::Null);
    let source = source(&fixture.inboxes, &bob, ids[0]).await;
    let trace = "Received: from localhost ([127.0.0.1])\r\n\tby mx.restante.test with HTTP\r\n";
    assert!(source.starts_with(trace), "{source}");
    assert!(source.contains("(envelope-from <ann@Sender.test>)"), "{source}");
    assert!(source.contains("for <Bob+Tag@Restante.test>\r\n"), "{source}");
    assert!(source.contains("\r\nFrom: Ann <ann@Sender.test>\r\nTo: Bob+Tag@Restante.test\r\nSubject: Hi\r\nDate: "));
    assert!(
        !source.replace("\r\n", "").contains(['\r', '\n']),
        "every line ends with CRLF: {source:?}"
    );
}

#[tokio::test]
async fn the_results_are_those_that_were_asked_for() {
    const SPF: [SpfVerdict; 7] = [
        SpfVerdict::Pass,
        SpfVerdict::Fail,
        SpfVerdict::Softfail,
        SpfVerdict::Neutral,
        SpfVerdict::None,
        SpfVerdict::Temperror,
        SpfVerdict::Permerror,
    ];
    for (profile, name, shows_verified) in [
        (WireProfile::Service, "test.restante.local", false),
        (WireProfile::VaultSandbox, "test.vaultsandbox.local", true),
    ] {
        let fixture = Fixture::with(InboxPolicy { profile, ..policy() });
        let bob = fixture.create(BOB).await.unwrap();
        let others = [Verdict::Pass, Verdict::Fail, Verdict::None];
        let each = SPF.into_iter().zip(others.into_iter().cycle());
        for (spf, other) in each {
            let verdicts = ForcedVerdicts {
                spf,
                dkim: other,
                dmarc: other,
                reverse_dns: other,
            };
            let email = TestEmail {
                verdicts,
                ..email("s", "t", None)
            };
            let id = deposited(&fixture.inboxes, &bob, email).await;
            let [_, content] = shown(&fixture.inboxes, &bob, id).await;
            let (spf, other, passes) = (spf.as_str(), other.as_str(), other == Verdict::Pass);
            let mut reverse_dns = json!({
                "result": other,
                "ip": "127.0.0.1",
                "hostname": if passes { name } else { "" },
            });
            if shows_verified {
                reverse_dns["verified"] = passes.into();
            }
            let expected = json!({
                "spf": {
                    "result": spf,
                    "domain": "sender.test",
                    "ip": "127.0.0.1",
                    "details": format!("spf={spf} (test email)"),
                },
                "dkim": [{
                    "result": other,
                    "domain": "sender.test",
                    "selector": "test",
                    "signature": format!("dkim={other} (test email)"),
                }],
                "dmarc": { "result": other, "policy": "none", "aligned": true, "domain": "sender.test" },
                "reverseDns": reverse_dns,
            });
            assert_eq!(content["authResults"], expected);
        }
    }
}

#[tokio::test]
async fn an_encrypted_inbox_gets_it_sealed() {
    let fixture = Fixture::new();
    let (bob, key) = fixture.create_encrypted(BOB).await;
    let id = deposited(&fixture.inboxes, &bob, email("Grüße", "text\n", Some(""))).await;
    let Content::Sealed {
        parsed: Some(parsed), ..
    } = fixture.inboxes.email(&bob, id).await.unwrap().content
    else {
        panic!("a sealed email")
    };
    let content: Value = serde_json::from_slice(&open(&fixture, &parsed, &key)).unwrap();
    assert_eq!(
        [&content["subject"], &content["text"], &content["html"]],
        ["Grüße", "text\n", ""]
    );
    assert_eq!(content["authResults"]["reverseDns"]["hostname"], "test.restante.local");
    assert_eq!(content["authResults"]["reverseDns"].get("verified"), None);
}

#[tokio::test]
async fn a_message_may_have_so_many_bytes_and_no_more() {
    let fixture = Fixture::new();
    let bob = fixture.create(BOB).await.unwrap();
    let made = || email("s", "text", Some("html"));
    let id = deposited(&fixture.inboxes, &bob, made()).await;
    let source = source(&fixture.inboxes, &bob, id).await;
    let size = source.len() - source.find("From: ").unwrap();
    let limited = |max| fixture.inboxes.deposit_test_email(Arc::clone(&bob), made(), max);
    assert_eq!(limited(size - 1).await.unwrap_err(), TestEmailError::TooLarge(size - 1));
    assert!(limited(size).await.is_ok());
    assert_eq!(fixture.inboxes.sync_status(&bob).await.unwrap().email_count, 2);
}

#[tokio::test]
async fn it_is_told_when_its_announcement_is_dropped() {
    let fixture = Fixture::new();
    let bob = fixture.create(BOB).await.unwrap();
    let mut watch = fixture.inboxes.watch(&[bob.hash], None).await.unwrap();
    let deposit = fixture
        .inboxes
        .deposit_test_email(Arc::clone(&bob), email("s", "t", None), ANY_SIZE);
    let announcement = deposit.await.unwrap();
    let id = announcement.ids().next().unwrap();
    assert!(watch.next().now_or_never().is_none(), "nobody was told yet");
    assert!(fixture.inboxes.email(&bob, id).await.is_ok(), "though it is stored");
    drop(announcement);
    assert_eq!(watch.next().await.unwrap().email, id);
}

#[tokio::test]
async fn an_inbox_that_is_gone_meanwhile_gets_nothing() {
    let fixture = Fixture::new();
    let bob = fixture.create(BOB).await.unwrap();
    fixture.inboxes.delete(BOB).await.unwrap();
    let deposit = fixture.inboxes.deposit_test_email(bob, email("s", "t", None), ANY_SIZE);
    assert_eq!(deposit.await.unwrap_err(), TestEmailError::Deposit(DepositError::Gone));
}
