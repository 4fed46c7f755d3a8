//! The blocking facade end to end: every operation without a runtime of the test's.

use std::sync::Arc;
use std::time::Duration;

use restante_client::blocking::{Client, Inbox, Webhooks};
use restante_client::chaos::Chaos;
use restante_client::webhooks::{DeliveryWord, EventType};
use restante_client::{
    DeliveryId, EmailMatcher, Error, Existing, ExportedInbox, IfKnown, NewInbox, NewWebhook, Strategy, TestEmail,
    WebhookId, WebhookUpdate,
};
use restante_testkit::receiver::Receiver;
use tokio::time::Instant;

use crate::harness::{API_KEY, TestServer};

const BOB: &str = "bob@restante.test";
const EVE: &str = "eve@restante.test";
/// Longer than anything takes; a test that waits so long has failed.
const PATIENCE: Duration = Duration::from_secs(20);

fn client(server: &TestServer) -> Client {
    Client::new(format!("http://{}", server.http), API_KEY).unwrap()
}

fn inbox(client: &Client, address: &str) -> Inbox {
    client.create_inbox(NewInbox::new().address(address)).unwrap()
}

#[test]
fn inboxes_and_their_mail() {
    let server = TestServer::start(&[]);
    let client = client(&server);
    client.check_key().unwrap();
    client.health().unwrap();
    let info = client.server_info().unwrap();
    assert!(Arc::ptr_eq(&info, &client.server_info().unwrap()));
    assert_eq!(client.url(), format!("http://{}", server.http));

    for wanted in [
        NewInbox::new().address(BOB).plain(),
        NewInbox::new().address(EVE).encrypted(),
    ] {
        let inbox = client.create_inbox(wanted).unwrap();
        server.send(inbox.address(), "One", "first");
        server.send(inbox.address(), "Two", "second");

        assert_eq!(inbox.client().inbox(inbox.address()).unwrap().hash(), inbox.hash());
        let two = inbox.wait_for(EmailMatcher::new().subject("two")).timeout(PATIENCE);
        let two = two.wait().unwrap();
        assert_eq!(two.text().map(str::trim_end), Some("second"));
        let both = inbox.wait_for_many(2, EmailMatcher::new()).timeout(PATIENCE);
        let both = both.wait().unwrap();
        assert_eq!((both[0].subject(), both[1].id()), ("One", two.id()));
        let none = inbox.wait_for_none(EmailMatcher::new().subject("three"));
        none.window(Duration::from_millis(50)).wait().unwrap();

        assert_eq!(inbox.emails().unwrap().len(), 2);
        assert_eq!(inbox.summaries().unwrap()[0].subject(), "Two");
        assert!(inbox.each_email().unwrap().iter().all(Result::is_ok));
        assert!(inbox.each_summary().unwrap().iter().all(Result::is_ok));
        let raw = inbox.raw(two.id()).unwrap();
        assert!(
            raw.windows(13).any(|line| line == b"Subject: Two\r"),
            "{} bytes",
            raw.len()
        );
        inbox.mark_read(two.id()).unwrap();
        assert!(inbox.email(two.id()).unwrap().is_read());
        inbox.delete_email(two.id()).unwrap();
        assert_eq!(inbox.sync_status().unwrap().email_count, 1);
    }

    assert_eq!(client.list_inboxes().unwrap().len(), 2);
    assert_eq!(client.known_inboxes().len(), 2);
    client.inbox(BOB).unwrap().delete().unwrap();
    client.delete_inbox(BOB).unwrap();
    assert!(matches!(client.inbox(BOB), Err(Error::InboxNotFound(_))));
    assert_eq!(client.delete_all_inboxes().unwrap(), 1);
}

#[test]
fn an_export_goes_from_one_client_to_another() {
    let server = TestServer::start(&[]);
    let (one, other) = (client(&server), client(&server));
    let created = one.create_inbox(NewInbox::new().encrypted()).unwrap();
    server.send(created.address(), "Sealed", "x");
    let export = || ExportedInbox::parse(created.export().to_json().as_bytes()).unwrap();
    let imported = other.import_inbox(export(), IfKnown::Refuse).unwrap();
    assert!(imported.is_encrypted());
    assert_eq!(
        (imported.hash(), imported.expires_at()),
        (created.hash(), created.expires_at())
    );
    assert_eq!((created.email_auth().is_some(), imported.email_auth()), (true, None));
    assert_eq!(imported.emails().unwrap()[0].subject(), "Sealed");
    let again = other.import_inbox(export(), IfKnown::Refuse);
    assert!(matches!(again, Err(Error::InboxAlreadyExists { .. })));
}

#[test]
fn faults_and_made_emails() {
    let server = TestServer::start(&[("CHAOS_ENABLED", "true"), ("SDK_DEVELOPMENT", "true")]);
    let client = client(&server);
    let inbox = client.create_inbox(NewInbox::new().address(BOB).ephemeral()).unwrap();
    assert_eq!(
        (inbox.is_persistent(), inbox.spam_analysis()),
        (Some(false), Some(false))
    );
    let set = inbox.set_chaos(&Chaos::new().blackhole()).unwrap();
    assert_eq!(inbox.chaos().unwrap(), set);
    inbox.clear_chaos().unwrap();
    assert!(!inbox.chaos().unwrap().enabled);
    let id = client.send_test_email(TestEmail::to(BOB).subject("Made")).unwrap();
    let email = inbox.email(id).unwrap();
    assert_eq!((email.subject(), email.is_spam()), ("Made", None));
}

#[test]
fn the_server_says_what_it_counts() {
    let server = TestServer::start(&[]);
    let client = client(&server);
    let inbox = inbox(&client, BOB);
    server.send(BOB, "Hello", "x");
    let work = client.metrics().unwrap();
    assert_eq!(
        (work.inboxes.created, work.inboxes.active, work.emails.received),
        (1, 1, 1)
    );
    let storage = client.storage_metrics().unwrap();
    assert_eq!((storage.stored_emails, storage.evicted_emails), (1, 0));
    assert!(storage.used_bytes > 0 && storage.available_bytes > 0);
    inbox.delete().unwrap();
    assert_eq!(client.metrics().unwrap().inboxes.active, 0);
}

#[test]
fn a_watch_is_an_iterator() {
    let server = TestServer::start(&[]);
    let client = client(&server);
    let (bob, eve) = (inbox(&client, BOB), inbox(&client, EVE));
    server.send(BOB, "Early", "x");
    let mut watch = client
        .watch(std::slice::from_ref(&bob), Existing::Deliver)
        .unwrap()
        .timeout(PATIENCE);
    watch.add(&eve).unwrap();
    server.send(EVE, "Late", "x");
    for (address, subject) in [(BOB, "Early"), (EVE, "Late")] {
        let arrival = watch.next().unwrap().unwrap();
        assert_eq!((arrival.inbox.address(), arrival.email.subject()), (address, subject));
        assert_eq!(arrival.fetch().unwrap().subject(), subject);
    }

    // The time-out ends the iterator, not the subscription.
    let mut watch = watch.timeout(Duration::from_millis(20));
    assert!(watch.next().is_none());
    watch.remove(&eve).unwrap();
    server.send(EVE, "Unheard", "x");
    server.send(BOB, "Heard", "x");
    let mut watch = watch.timeout(PATIENCE);
    assert_eq!(watch.next().unwrap().unwrap().email.subject(), "Heard");

    // A subscription may outlive the client that began it.
    let mut watch = bob.watch(Existing::Skip).unwrap();
    drop((client, bob, eve));
    server.send(BOB, "Last", "x");
    assert_eq!(watch.next().unwrap().unwrap().email.subject(), "Last");
}

#[test]
fn webhooks_in_both_scopes() {
    let server = TestServer::start(&[("WEBHOOK_ALLOW_HTTP", "true")]);
    let client = client(&server);
    let receiver = Receiver::start();
    let scopes = [client.webhooks(), inbox(&client, BOB).webhooks()];
    for webhooks in &scopes {
        let wanted = NewWebhook::new(receiver.url("/hook"), [EventType::EmailDeleted]);
        let id = webhooks.create(wanted).unwrap().id;
        assert_eq!(webhooks.list().unwrap()[0].id, id);
        let update = WebhookUpdate::new()
            .events([EventType::EmailStored])
            .description("stored");
        assert_eq!(
            webhooks.update(id, update).unwrap().description.as_deref(),
            Some("stored")
        );
        let rotated = webhooks.rotate_secret(id).unwrap();
        assert_eq!(webhooks.find(id).unwrap().secret, Some(rotated.secret));
        assert!(webhooks.test(id).unwrap().success);
    }
    assert_eq!(client.webhook_metrics().unwrap().webhooks.total, 2);
    assert_eq!(client.webhook_templates().unwrap().len(), 7);

    // Two tests, and a delivery for each webhook.
    server.send(BOB, "Hello", "x");
    receiver.block_for(4);
    for (redelivered, webhooks) in scopes.iter().enumerate() {
        let id = webhooks.list().unwrap()[0].id;
        let delivery = taken(webhooks, id);
        assert_eq!(webhooks.redeliver(id, delivery).unwrap().id, delivery);
        receiver.block_for(5 + redelivered);
        webhooks.delete(id).unwrap();
        assert!(webhooks.list().unwrap().is_empty());
    }
}

/// The delivery of a webhook, once it is in the log that it was taken.
fn taken(webhooks: &Webhooks, id: WebhookId) -> DeliveryId {
    let began = Instant::now();
    loop {
        let log = webhooks.deliveries(id, Some(1), None).unwrap();
        if log.deliveries[0].status == DeliveryWord::Success {
            return log.deliveries[0].id;
        }
        assert!(began.elapsed() < PATIENCE, "{:?}", log.deliveries[0]);
    }
}

#[test]
fn closing_ends_what_another_thread_waits_for() {
    let server = TestServer::start(&[]);
    let builder = Client::builder(format!("http://{}", server.http), API_KEY);
    let client = builder.strategy(Strategy::Sse).build_blocking().unwrap();
    let bob = inbox(&client, BOB);
    let mut watch = bob.watch(Existing::Skip).unwrap();
    let waiting = std::thread::spawn(move || watch.next());
    client.close();
    let ended = waiting.join().unwrap();
    assert!(matches!(ended, Some(Err(Error::Closed))), "{ended:?}");
    assert!(matches!(bob.emails(), Err(Error::Closed)));
}

#[test]
fn asynchronous_code_is_told_what_to_use() {
    let server = TestServer::start(&[]);
    let client = client(&server);
    let refused = super::run(async { client.check_key() });
    assert!(
        matches!(&refused, Err(Error::Configuration(text)) if text.contains("restante_client::Client")),
        "{refused:?}"
    );
    client.check_key().unwrap();

    // A loop over a subscription is told once, and ends.
    let mut watch = inbox(&client, BOB).watch(Existing::Deliver).unwrap().timeout(PATIENCE);
    let items: Vec<_> = super::run(async { watch.by_ref().take(3).collect() });
    assert!(matches!(&items[..], [Err(Error::Configuration(_))]), "{items:?}");
    server.send(BOB, "Heard", "x");
    assert_eq!(watch.next().unwrap().unwrap().email.subject(), "Heard");
}
