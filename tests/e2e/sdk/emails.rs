//! Emails through the SDK: content, source, read flag, removal, lists.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use restante_client::auth::{SpfVerdict, Verdict};
use restante_client::{Email, EmailId, Encryption, Error, Inbox, Strategy};
use serde_json::{Value, json};

use super::meddler::Meddler;
use super::{MODES, PROFILES, bob, builder, client, run};
use crate::harness::TestServer;
use crate::harness::mail::RICH;
use crate::peer::without_trace;

#[test]
fn everything_of_an_email_is_there() {
    for profile in PROFILES {
        for mode in MODES {
            let server = TestServer::start(profile);
            run(async {
                let inbox = bob(&client(&server), mode).await;
                let id: EmailId = server.send_raw("Bob+Tag@restante.test", RICH).parse().unwrap();
                let email = inbox.email(id).await.unwrap();
                is_rich(&email);
                assert_eq!(email.id(), id);
                assert_eq!(email.summary.inbox_id, inbox.hash());
                assert_eq!(inbox.emails().await.unwrap(), std::slice::from_ref(&email));
                assert_eq!(inbox.summaries().await.unwrap(), [email.summary]);
                let raw = inbox.raw(id).await.unwrap();
                assert_eq!(without_trace(&raw), RICH.as_bytes());
            });
        }
    }
}

/// Whether an email is [`RICH`], sent to `Bob+Tag@restante.test`.
fn is_rich(email: &Email) {
    assert_eq!(email.from(), "Jürgen <juergen@sender.test>");
    assert_eq!(email.to(), ["bob+tag@restante.test"]);
    assert_eq!(email.subject(), "Grüße");
    assert_eq!(email.text(), Some("See https://example.test/text."));
    assert!(email.html().unwrap().contains("<a href="), "{:?}", email.html());
    assert_eq!(
        email.links(),
        ["https://example.test/?a=1&b=2", "https://example.test/text"]
    );
    assert_eq!(email.header("X-TWICE"), Some("one\ntwo"));
    let attachment = email.attachment("data.bin").unwrap();
    assert_eq!(email.attachments(), std::slice::from_ref(attachment));
    assert_eq!(&attachment.content.0[..], [0, 1, 2, 255]);
    assert_eq!(attachment.content_type, "application/octet-stream");
    assert_eq!(restante_client::checksum_matches(attachment), Some(true));
    let results = email.auth_results();
    assert_eq!(
        (results.spf.result, results.dkim[0].result, results.dmarc.policy),
        (SpfVerdict::Skipped, Verdict::Skipped, None)
    );
    let summary = email.auth_summary();
    assert!(
        !summary.passed && !summary.spf_passed,
        "a check that was skipped has not passed"
    );
    assert_eq!(summary.failures.len(), 4, "{summary:?}");
    assert!(!email.is_read());
}

/// The names of headers in the order of the JSON: those of the message.
#[test]
fn headers_stay_in_the_order_of_the_message() {
    let server = TestServer::start(&[]);
    run(async {
        let inbox = bob(&client(&server), Encryption::Plain).await;
        server.send_raw(inbox.address(), "X-Z: 1\r\nX-A: 2\r\nX-M: 3\r\nSubject: x\r\n\r\n");
        let email = inbox.emails().await.unwrap().remove(0);
        let names: Vec<_> = email.content.headers.0.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["x-z", "x-a", "x-m", "subject"]);
    });
}

#[test]
fn an_email_is_serialised_as_the_api_answers_it_with_its_documents_opened() {
    for profile in PROFILES {
        let server = TestServer::start(profile);
        run(async {
            let inbox = bob(&client(&server), Encryption::Plain).await;
            for message in [RICH, "\r\n"] {
                let id = server.send_raw(inbox.address(), message);
                let path = format!("/api/inboxes/bob@restante.test/emails/{id}");
                let mut expected = server.get(&path).expect_status(200).json();
                for name in ["metadata", "parsed"] {
                    expected[name] = document(&expected[name]);
                }
                let email = inbox.email(id.parse().unwrap()).await.unwrap();
                assert_eq!(serde_json::to_value(&email).unwrap(), expected);
                let shape = if profile.is_empty() { "array" } else { "string" };
                let to = &expected["metadata"]["to"];
                assert_eq!(if to.is_array() { "array" } else { "string" }, shape);
            }
        });
    }
}

fn document(field: &Value) -> Value {
    serde_json::from_slice(&STANDARD.decode(field.as_str().unwrap()).unwrap()).unwrap()
}

#[test]
fn a_sealed_email_is_what_a_plain_one_is() {
    let server = TestServer::start(&[]);
    run(async {
        let client = client(&server);
        let sealed = bob(&client, Encryption::Encrypted).await;
        let wish = restante_client::NewInbox::new().plain().address("eve@restante.test");
        let plain = client.create_inbox(wish).await.unwrap();
        server.send_to(&[sealed.address(), plain.address()], RICH);
        let only = async |inbox: Inbox| inbox.emails().await.unwrap().remove(0);
        let (sealed, plain) = (only(sealed).await, only(plain).await);
        assert_eq!(sealed.content, plain.content);
        let mut value = json!(sealed.summary.metadata);
        value["id"] = json!(plain.id());
        value["to"] = json!(["eve@restante.test"]);
        assert_eq!(value, json!(plain.summary.metadata));
    });
}

#[test]
fn an_email_is_marked_as_read_and_deleted() {
    for mode in MODES {
        let server = TestServer::start(&[]);
        run(async {
            let inbox = bob(&client(&server), mode).await;
            let ids = server.send_many(inbox.address(), 3);
            let ids: Vec<EmailId> = ids.iter().map(|id| id.parse().unwrap()).collect();
            inbox.mark_read(ids[1]).await.unwrap();
            let read = |email: restante_client::EmailSummary| (email.id, email.is_read);
            let listed: Vec<_> = inbox.summaries().await.unwrap().into_iter().map(read).collect();
            assert_eq!(listed, [(ids[2], false), (ids[1], true), (ids[0], false)]);
            assert!(inbox.email(ids[1]).await.unwrap().is_read());

            inbox.delete_email(ids[1]).await.unwrap();
            let listed: Vec<_> = inbox.emails().await.unwrap().iter().map(Email::id).collect();
            assert_eq!(listed, [ids[2], ids[0]]);
            let refusals = [
                inbox.email(ids[1]).await.err(),
                inbox.raw(ids[1]).await.err(),
                inbox.mark_read(ids[1]).await.err(),
                inbox.delete_email(ids[1]).await.err(),
            ];
            for refusal in refusals {
                assert!(matches!(refusal, Some(Error::EmailNotFound(_))), "{refusal:?}");
            }
        });
    }
}

#[test]
fn a_list_of_several_pages_is_whole() {
    let server = TestServer::start(&[]);
    run(async {
        let inbox = bob(&client(&server), Encryption::Plain).await;
        let mut sent = server.send_many(inbox.address(), 1001);
        sent.reverse();
        assert_eq!(listed(&inbox).await, sent);
        let whole: Vec<_> = inbox
            .emails()
            .await
            .unwrap()
            .iter()
            .map(|email| email.id().to_string())
            .collect();
        assert_eq!(whole, sent);
    });
}

#[test]
fn a_list_of_a_server_without_paging_is_whole_too() {
    let server = TestServer::start(&[]);
    let meddler = Meddler::before(&server);
    meddler.forget_paging();
    run(async {
        let client = builder(&meddler.url(), Strategy::Polling).build().unwrap();
        let inbox = bob(&client, Encryption::Plain).await;
        // With their content emails are listed in pages of 100.
        let mut sent = server.send_many(inbox.address(), 250);
        sent.reverse();
        let emails = inbox.emails().await.unwrap();
        let whole: Vec<_> = emails.iter().map(|email| email.id().to_string()).collect();
        assert_eq!(whole, sent);
    });
}

/// The ids of the summaries as listed.
async fn listed(inbox: &Inbox) -> Vec<String> {
    let summaries = inbox.summaries().await.unwrap();
    summaries.iter().map(|email| email.id.to_string()).collect()
}

#[test]
fn arrivals_and_removals_move_no_other_email_in_or_out_of_a_list() {
    let server = TestServer::start(&[]);
    run(async {
        let inbox = bob(&client(&server), Encryption::Plain).await;
        // Every second one stays; with their content they are listed in pages of 100.
        let ids = server.send_many(inbox.address(), 350);
        let (go, stay): (Vec<_>, Vec<_>) = ids.iter().enumerate().partition(|(at, _)| at % 2 == 0);
        let stay: BTreeSet<_> = stay.into_iter().map(|(_, id)| id.clone()).collect();
        let lists = std::thread::scope(|scope| {
            let changing = scope.spawn(|| {
                for (_, id) in &go {
                    server.send_raw("bob@restante.test", "\r\n");
                    let path = format!("/api/inboxes/bob@restante.test/emails/{id}");
                    server.delete(&path).expect_status(204);
                }
            });
            let mut lists = Vec::new();
            while lists.len() < 3 || !changing.is_finished() {
                let list =
                    tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(inbox.emails()).unwrap());
                lists.push(list);
            }
            lists
        });
        for list in lists {
            let ids: Vec<_> = list.iter().map(|email| email.id().to_string()).collect();
            assert!(
                ids.is_sorted_by(|newer, older| newer > older),
                "newest first, each once"
            );
            let ids: BTreeSet<_> = ids.into_iter().collect();
            assert!(
                stay.is_subset(&ids),
                "{} of {}",
                stay.intersection(&ids).count(),
                stay.len()
            );
        }
    });
}
