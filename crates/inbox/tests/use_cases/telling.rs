//! What webhooks hear of an arrival: all that they may ask for, of each inbox its own, and nothing if nobody listens.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use restante_inbox::{DepositError, Parser, Recipient};
use restante_model::auth::{SpfVerdict, Verdict};
use restante_model::{ArrivalEvent, AuthResults, Clock as _, EmailId, SpamAnalysis};
use serde_json::{Value, json};

use crate::fixture::{Fixture, MAX_BODY_BYTES, SEALING_BYTES, Webhooks, policy};
use crate::hooked::{ARRIVALS, REMOVALS};

const MESSAGE: &str = "From: App <app@sender.test>\r\nSubject: hushhush\r\n\r\nwhispers\r\n";

/// What an event tells of the message itself.
fn of_message(event: &ArrivalEvent) -> Value {
    let mut value = serde_json::to_value(event).unwrap();
    let fields = value.as_object_mut().unwrap();
    for of_inbox in [
        "email",
        "inbox_hash",
        "inbox_address",
        "auth",
        "received_at",
        "stored_at",
    ] {
        assert!(fields.remove(of_inbox).is_some(), "{of_inbox}");
    }
    value
}

#[tokio::test]
async fn an_event_tells_what_the_message_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/use_cases/told");
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "eml") {
            continue;
        }
        let fixture = Fixture::new();
        let inbox = fixture.create("bob@restante.test").await.unwrap();
        fixture.hook(ARRIVALS).await;
        let raw = fs::read_to_string(&path).unwrap();
        fixture.deposit(&[&inbox], &raw).await;
        let told = fixture.all_told().await;
        assert_eq!(told.len(), 1, "{}", path.display());
        let expected: Value = serde_json::from_slice(&fs::read(path.with_extension("json")).unwrap()).unwrap();
        assert_eq!(of_message(&told[0]), expected, "{}", path.display());
        count += 1;
    }
    assert!(count >= 5, "only {count} messages");
}

#[tokio::test]
async fn each_inbox_hears_of_itself() {
    let fixture = Fixture::new();
    let (bob, (eve, _key)) = (
        fixture.create("bob@restante.test").await.unwrap(),
        fixture.create_encrypted("eve@restante.test").await,
    );
    let silent = fixture.create("silent@restante.test").await.unwrap();
    for inbox in [&bob, &eve] {
        fixture.hook_inbox(inbox, ARRIVALS).await;
    }
    let mut passed = AuthResults::skipped();
    passed.spf.result = SpfVerdict::Pass;
    passed.dkim[0].result = Verdict::Fail;
    let mut deposit = fixture.message(&[], MESSAGE);
    let to = |inbox, path: &str, auth| Recipient {
        spam: SpamAnalysis::default(),
        inbox,
        forward_path: path.into(),
        auth,
    };
    deposit.facts.reverse_path = String::new();
    deposit.recipients = vec![
        to(bob.clone(), "Bob+Tag@Restante.Test", AuthResults::skipped()),
        to(silent, "silent@restante.test", AuthResults::skipped()),
        to(eve.clone(), "eve@restante.test", passed),
        to(bob.clone(), "bob@restante.test", AuthResults::skipped()),
    ];
    fixture.clock.advance(std::time::Duration::from_secs(2));
    let prepared = fixture.inboxes.prepare(deposit.clone()).await.unwrap();
    let ids: Vec<EmailId> = fixture.inboxes.deposit(prepared).await.unwrap().ids().collect();

    let told = fixture.all_told().await;
    let told: Vec<_> = told.iter().collect();
    let [of_bob, of_eve] = told.as_slice() else {
        panic!("two of three listen: {told:?}")
    };
    assert_eq!([of_bob.email, of_eve.email], [ids[0], ids[2]]);
    for (event, inbox, to, auth) in [
        (of_bob, &bob, "bob+tag@restante.test", ["skipped", "skipped", "skipped"]),
        (of_eve, &eve, "eve@restante.test", ["pass", "fail", "skipped"]),
    ] {
        assert_eq!(event.inbox_hash, inbox.hash);
        assert_eq!(event.inbox_address, inbox.address.to_string());
        assert_eq!(serde_json::to_value(&event.to).unwrap(), json!([{ "address": to }]));
        let [spf, dkim, dmarc] = auth;
        assert_eq!(
            serde_json::to_value(event.auth).unwrap(),
            json!({ "spf": spf, "dkim": dkim, "dmarc": dmarc })
        );
        assert_eq!(event.received_at, deposit.facts.received_at);
        assert_eq!(event.stored_at, fixture.clock.now());
    }
}

#[tokio::test]
async fn a_bounce_without_a_header_is_from_unknown() {
    let fixture = Fixture::new();
    let inbox = fixture.create("bob@restante.test").await.unwrap();
    fixture.hook(ARRIVALS).await;
    let mut deposit = fixture.message(&[&inbox], "\r\n");
    deposit.facts.reverse_path = String::new();
    let prepared = fixture.inboxes.prepare(deposit).await.unwrap();
    drop(fixture.inboxes.deposit(prepared).await.unwrap());
    assert_eq!(fixture.all_told().await[0].from.address, "unknown");
}

#[tokio::test]
async fn bodies_are_cut_between_characters_and_headers_are_whole() {
    let fixture = Fixture::new();
    let inbox = fixture.create("bob@restante.test").await.unwrap();
    fixture.hook(ARRIVALS).await;
    let value = "v".repeat(900);
    let header = |n| format!("X-{n}: {value}\r\n {value}\r\n");
    let headers = (0..60).map(header).collect::<Vec<_>>().concat();
    // Three bytes a character, and one that shifts the last of them over the limit.
    let body = "€".repeat(4 * MAX_BODY_BYTES);
    for kind in ["plain", "html"] {
        let raw = format!("{headers}Content-Type: text/{kind}; charset=utf-8\r\n\r\n.{body}\r\n");
        fixture.deposit(&[&inbox], &raw).await;
    }
    let told = fixture.all_told().await;
    let cut = format!(".{}", &body[..MAX_BODY_BYTES / 3 * 3 - 3]);
    assert_eq!(cut.len(), MAX_BODY_BYTES - 2);
    assert_eq!(told[0].text.as_deref(), Some(cut.as_str()));
    assert_eq!(told[0].html, None);
    assert_eq!(told[1].text.as_deref(), Some(cut.as_str()));
    assert_eq!(told[1].html.as_deref(), Some(cut.as_str()));
    for event in &told {
        assert_eq!(event.headers.len(), 61);
        assert_eq!(event.headers[59], ("x-59".to_owned(), format!("{value} {value}")));
    }
}

static PARSED: AtomicUsize = AtomicUsize::new(0);

/// Counts for one test: others have other parsers.
const COUNTING: Parser = Parser {
    parse: |raw| {
        PARSED.fetch_add(1, Ordering::SeqCst);
        restante_message::parse(raw)
    },
    summary: restante_message::summary,
};

#[tokio::test]
async fn a_message_is_read_once_if_somebody_listens_and_never_for_nobody() {
    let fixture = Fixture::with_parser(COUNTING);
    let bob = fixture.create("bob@restante.test").await.unwrap();
    let eve = fixture.create("eve@restante.test").await.unwrap();
    let (sealed, _key) = fixture.create_encrypted("sealed@restante.test").await;
    let large = format!("{MESSAGE}{}\r\n", "x".repeat(100_000));
    let reads = async |to: &[_]| {
        let before = PARSED.load(Ordering::SeqCst);
        fixture.deposit(to, MESSAGE).await;
        let small = PARSED.load(Ordering::SeqCst) - before;
        fixture.deposit(to, &large).await;
        assert_eq!(PARSED.load(Ordering::SeqCst) - before, 2 * small);
        small
    };
    assert_eq!(reads(&[&bob, &eve]).await, 0);
    fixture.hook(REMOVALS).await;
    assert_eq!(reads(&[&bob, &eve]).await, 0, "nobody listens to arrivals");
    let of_bob = fixture.hook_inbox(&bob, ARRIVALS).await;
    assert_eq!(reads(&[&eve]).await, 0, "nobody listens to this inbox");
    assert_eq!(reads(&[&bob, &eve]).await, 1);
    fixture.unhook(of_bob).await;
    assert_eq!(reads(&[&bob, &eve]).await, 0, "who listened is disabled");
    fixture.hook(ARRIVALS).await;
    assert_eq!(reads(&[&bob, &eve]).await, 1);
    assert_eq!(reads(&[&sealed]).await, 1, "sealing reads it anyway");
    assert_eq!(fixture.raised().await.len(), 2 + 4 + 2);
}

#[tokio::test]
async fn what_is_kept_of_sealed_mail_opens_with_the_key_of_events_only() {
    let fixture = Fixture::new();
    let (inbox, _key) = fixture.create_encrypted("bob@restante.test").await;
    fixture.hook(ARRIVALS).await;
    fixture.deposit(&[&inbox], MESSAGE).await;
    let event = &fixture.raised().await[0];
    let sealed = fixture.sealed_event(event).await;
    for word in ["hushhush", "whispers", "app@sender.test"] {
        assert!(
            !sealed.windows(word.len()).any(|window| window == word.as_bytes()),
            "{word}"
        );
    }
    let of_another = [b"webhook event".as_slice(), &[0; 16]].concat();
    assert!(
        fixture.event_key.open(&of_another, &sealed).is_none(),
        "it is bound to its email"
    );
    let told = fixture.told(event).await;
    assert_eq!(
        (told.subject.as_str(), told.text.as_deref()),
        ("hushhush", Some("whispers\n"))
    );
}

/// A webhook is created when the message is prepared already: nothing is stored twice, and nothing goes untold.
#[tokio::test]
async fn a_webhook_that_comes_while_mail_is_under_way_hears_of_it() {
    let large = format!("{MESSAGE}{}\r\n", "x".repeat(100_000));
    for raw in [MESSAGE, &large] {
        let fixture = Fixture::new();
        let plain = fixture.create("alice@restante.test").await.unwrap();
        let (sealed, _key) = fixture.create_encrypted("bob@restante.test").await;
        for inbox in [&plain, &sealed] {
            let prepared = fixture.inboxes.prepare(fixture.message(&[inbox], raw)).await.unwrap();
            let hook = fixture.hook(ARRIVALS).await;
            let announcement = fixture.inboxes.deposit(prepared).await.unwrap();
            let ids: Vec<_> = announcement.ids().collect();
            assert!(!fixture.was_woken().await, "before the 250 is on the wire");
            drop(announcement);
            assert!(fixture.was_woken().await);
            let told = fixture.all_told().await;
            let last = told.last().unwrap();
            assert_eq!(
                (ids.as_slice(), last.subject.as_str()),
                ([last.email].as_slice(), "hushhush")
            );
            assert!(fixture.inboxes.email(inbox, ids[0]).await.is_ok());
            assert_eq!(fixture.inboxes.sync_status(inbox).await.unwrap().email_count, 1);
            fixture.unhook(hook).await;
        }
        assert_eq!(fixture.raised().await.len(), 2);
    }
}

#[tokio::test]
async fn a_webhook_that_is_gone_when_mail_is_stored_hears_nothing_of_it() {
    let fixture = Fixture::new();
    let inbox = fixture.create("bob@restante.test").await.unwrap();
    let hook = fixture.hook(ARRIVALS).await;
    let prepared = fixture
        .inboxes
        .prepare(fixture.message(&[&inbox], MESSAGE))
        .await
        .unwrap();
    fixture.unhook(hook).await;
    drop(fixture.inboxes.deposit(prepared).await.unwrap());
    assert_eq!(fixture.raised().await, []);
}

#[tokio::test]
async fn where_webhooks_are_off_nothing_is_told_and_mail_is_taken() {
    fn unread(_: &[u8]) -> restante_message::ParsedMessage {
        panic!("nobody may read it")
    }
    let parser = Parser {
        parse: unread,
        ..Parser::default()
    };
    let fixture = Fixture::of(policy(), parser, Webhooks::Off);
    let inbox = fixture.create("bob@restante.test").await.unwrap();
    fixture.hook(ARRIVALS).await;
    fixture.deposit(&[&inbox], MESSAGE).await;
    assert_eq!(fixture.inboxes.parser_panics(), 0);
    assert_eq!(fixture.inboxes.sync_status(&inbox).await.unwrap().email_count, 1);
    let raised = fixture.raised().await;
    assert_eq!(raised.len(), 1, "who sends nothing passes it by");
    assert_eq!(fixture.sealed_event(&raised[0]).await, b"");
}

#[tokio::test]
async fn a_message_that_cannot_be_parsed_is_told_by_its_envelope() {
    let parser = Parser {
        parse: |_| panic!("a bug"),
        ..Parser::default()
    };
    let fixture = Fixture::with_parser(parser);
    let inbox = fixture.create("bob@restante.test").await.unwrap();
    fixture.hook(ARRIVALS).await;
    fixture.deposit(&[&inbox], MESSAGE).await;
    let told = &fixture.all_told().await[0];
    assert_eq!(
        (told.from.address.as_str(), told.subject.as_str()),
        ("alice@sender.test", "(no subject)")
    );
    assert_eq!(told.to[0].address, "bob@restante.test");
}

#[tokio::test]
async fn reading_for_webhooks_takes_memory_of_the_budget() {
    let fixture = Fixture::new();
    let mut inboxes = Vec::new();
    for name in ["a", "b", "c", "d", "e"] {
        inboxes.push(fixture.create(&format!("{name}@restante.test")).await.unwrap());
    }
    let all: Vec<_> = inboxes.iter().collect();
    let large = format!("{MESSAGE}{}\r\n", "x".repeat(80_000));
    let prepare = async |to: &[_]| fixture.inboxes.prepare(fixture.message(to, &large)).await;
    assert!(prepare(&all).await.is_ok(), "nobody listens");
    fixture.hook(ARRIVALS).await;
    assert_eq!(prepare(&all).await.unwrap_err(), DepositError::TooLarge);
    // What is read goes when the event is made, and the event stays until it is stored.
    let one = prepare(&all[..1]).await.unwrap();
    let other = prepare(&all[1..2]).await.unwrap();
    for prepared in [one, other] {
        drop(fixture.inboxes.deposit(prepared).await.unwrap());
    }
    // For one inbox a message of any size fits, if nothing else is under way.
    let larger = format!("{MESSAGE}{}\r\n", "x".repeat(4 * SEALING_BYTES));
    fixture.deposit(&all[..1], &larger).await;
    assert_eq!(fixture.all_told().await.len(), 3);
}

/// In JSON a control character takes six bytes: more than a message of its size usually needs.
#[tokio::test]
async fn events_take_the_memory_that_they_have() {
    let fixture = Fixture::new();
    let mut inboxes = Vec::new();
    for number in 0..20 {
        let address = format!("b{number}@restante.test");
        inboxes.push(fixture.create(&address).await.unwrap());
    }
    let all: Vec<_> = inboxes.iter().collect();
    fixture.hook(ARRIVALS).await;
    let prepare = async |to: &[_], body: &str| {
        let raw = format!("{MESSAGE}{}\r\n", body.repeat(5_000));
        fixture.inboxes.prepare(fixture.message(to, &raw)).await
    };
    assert!(prepare(&all, "a").await.is_ok());
    assert_eq!(prepare(&all, "\u{1}").await.unwrap_err(), DepositError::TooLarge);
    assert!(prepare(&all[..2], "\u{1}").await.is_ok());
    assert!(prepare(&all, "a").await.is_ok(), "what a refused one had is free again");
}
