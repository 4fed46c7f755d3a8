//! Webhooks through the SDK: every operation in both scopes, and deliveries as a receiver gets and verifies them.

use std::time::Duration;

use restante_client::webhooks::{
    BuiltInTemplate, CustomTemplate, DeliveryError, DeliveryRecord, DeliveryWord, EventData, EventType, FilterConfig,
    FilterOperator, RemovalReason, ScopeWord, SignatureHeaders, TOLERANCE,
};
use restante_client::{
    Error, Inbox, NewInbox, NewWebhook, WebhookEvent, WebhookId, WebhookUpdate, Webhooks, verify_signature,
};
use restante_testkit::receiver::{Answer, Receiver, Request};
use tokio::time::timeout;

use super::{client, run};
use crate::harness::TestServer;

const BOB: &str = "bob@restante.test";

/// A server whose webhooks may go to this machine.
fn start(variables: &[(&str, &str)]) -> TestServer {
    TestServer::start(&[&[("WEBHOOK_ALLOW_HTTP", "true")], variables].concat())
}

async fn inbox(server: &TestServer) -> Inbox {
    let wanted = NewInbox::new().address(BOB).plain();
    client(server).create_inbox(wanted).await.unwrap()
}

/// The headers of a delivery, asked for as a receiver does.
fn headers(request: &Request) -> SignatureHeaders<'_> {
    SignatureHeaders::find(|name| request.header(name)).unwrap()
}

fn verify(secret: &str, request: &Request) -> Result<WebhookEvent, DeliveryError> {
    WebhookEvent::verify(secret, &headers(request), &request.body)
}

/// Asks for the log until its latest delivery has had so many attempts and was taken.
async fn taken(webhooks: &Webhooks, id: WebhookId, attempts: u32) -> DeliveryRecord {
    let asking = async {
        loop {
            let log = webhooks.deliveries(id, Some(1), None).await.unwrap();
            let latest = log.deliveries.into_iter().next();
            if let Some(latest) = latest.filter(|latest| latest.attempt == attempts)
                && latest.status == DeliveryWord::Success
            {
                return latest;
            }
        }
    };
    timeout(Duration::from_secs(20), asking)
        .await
        .expect("the delivery is in the log")
}

#[test]
fn every_operation_works_in_both_scopes() {
    let server = start(&[]);
    run(async {
        let inbox = inbox(&server).await;
        let scopes = [
            (client(&server).webhooks(), ScopeWord::Global),
            (inbox.webhooks(), ScopeWord::Inbox),
        ];
        for (webhooks, scope) in scopes {
            let receiver = Receiver::start();
            live(&server, &webhooks, scope, &receiver).await;
        }
    });
}

async fn live(server: &TestServer, webhooks: &Webhooks, scope: ScopeWord, receiver: &Receiver) {
    let wanted = NewWebhook::new(receiver.url("/hook"), [EventType::EmailReceived])
        .filter(FilterConfig::all().rule("subject", FilterOperator::Contains, "Invoice"))
        .description("invoices");
    let created = webhooks.create(wanted).await.unwrap();
    assert_eq!((created.scope, created.enabled), (scope, true));
    let is_of_inbox = scope == ScopeWord::Inbox;
    assert_eq!(
        created.inbox_email.map(|address| address.to_string()),
        is_of_inbox.then(|| BOB.to_owned())
    );
    let (id, secret) = (created.id, created.secret.unwrap());

    let listed = webhooks.list().await.unwrap();
    assert_eq!(listed.iter().map(|webhook| webhook.id).collect::<Vec<_>>(), [id]);
    assert!(listed[0].secret.is_none() && listed[0].stats.is_none());

    // The filter holds back what is no invoice.
    server.send(BOB, "Hello", "x");
    server.send(BOB, "Your invoice", "x");
    let request = &receiver.block_for(1)[0];
    let event = verify(secret.expose(), request).unwrap();
    let EventData::Received(email) = &event.data else {
        panic!("{event:?}");
    };
    assert_eq!(email.subject, "Your invoice");
    let delivery = taken(webhooks, id, 1).await;
    assert_eq!(
        (delivery.event_id.to_string(), delivery.status_code),
        (event.id, Some(200))
    );

    // Once more, under the same id.
    assert_eq!(webhooks.redeliver(id, delivery.id).await.unwrap().id, delivery.id);
    assert_eq!(taken(webhooks, id, 2).await.id, delivery.id);
    assert_eq!(receiver.block_for(2)[1].body, request.body);

    let found = webhooks.find(id).await.unwrap();
    assert_eq!(found.secret, Some(secret));
    assert_eq!(found.stats.unwrap().successful_deliveries, 2);

    // What is not named stays, and null removes.
    let quiet = webhooks.update(id, WebhookUpdate::new().enabled(false)).await.unwrap();
    assert!(!quiet.enabled && quiet.filter.is_some() && quiet.description.is_some());
    let update = WebhookUpdate::new()
        .enabled(true)
        .remove_filter()
        .remove_description()
        .template(BuiltInTemplate::Simple)
        .events([EventType::EmailReceived, EventType::EmailReceived]);
    let changed = webhooks.update(id, update).await.unwrap();
    assert!(changed.enabled && changed.filter.is_none() && changed.description.is_none());
    assert_eq!(changed.template, Some(BuiltInTemplate::Simple.into()));
    server.send(BOB, "Hello", "x");
    assert_eq!(receiver.block_for(3)[2].json()["subject"], "Hello");
    taken(webhooks, id, 1).await;
    let pages = pages(webhooks, id).await;
    assert_eq!(pages.len(), 2, "{pages:?}");

    let tested = webhooks.test(id).await.unwrap();
    assert!(tested.success && tested.status_code == Some(200), "{tested:?}");
    receiver.script([Answer::status(500)]);
    let tested = webhooks.test(id).await.unwrap();
    assert!(!tested.success && tested.status_code == Some(500), "{tested:?}");

    webhooks.delete(id).await.unwrap();
    assert!(webhooks.list().await.unwrap().is_empty());
    for error in [
        webhooks.find(id).await.unwrap_err(),
        webhooks.delete(id).await.unwrap_err(),
    ] {
        assert!(matches!(error, Error::WebhookNotFound(_)), "{error}");
    }
}

/// The log, one delivery a page.
async fn pages(webhooks: &Webhooks, id: WebhookId) -> Vec<DeliveryRecord> {
    let (mut all, mut before) = (Vec::new(), None);
    loop {
        let page = webhooks.deliveries(id, Some(1), before).await.unwrap();
        all.extend(page.deliveries);
        before = page.next;
        if before.is_none() {
            return all;
        }
    }
}

#[test]
fn a_receiver_believes_what_the_server_signed_and_nothing_else() {
    let server = start(&[]);
    run(async {
        let inbox = inbox(&server).await;
        let receiver = Receiver::start();
        let wanted = NewWebhook::new(receiver.url("/hook"), EventType::ALL);
        let webhook = inbox.webhooks().create(wanted).await.unwrap();
        let secret = webhook.secret.unwrap();

        server.send(BOB, "Grüße", "🎉");
        let mut events = verified(&receiver, 2, secret.expose());
        let email = inbox.emails().await.unwrap().remove(0);
        inbox.delete_email(email.id()).await.unwrap();
        events.push(verified(&receiver, 3, secret.expose()).remove(2));
        let mut types = [0; 3];
        for event in &events {
            assert_eq!((event.email_id(), event.inbox()), (&*email.id().to_string(), BOB));
            match &event.data {
                EventData::Received(arrived) => {
                    types[0] += 1;
                    assert_eq!((&*arrived.subject, arrived.received_at), ("Grüße", email.received_at()));
                    assert!(arrived.text_body.as_deref().is_some_and(|text| text.contains('🎉')));
                }
                EventData::Stored(_) => types[1] += 1,
                EventData::Deleted(deleted) => {
                    types[2] += 1;
                    assert_eq!(deleted.reason, RemovalReason::Manual);
                }
            }
        }
        assert_eq!(types, [1, 1, 1]);

        // A test is an event like any other, under ids that no email has.
        inbox.webhooks().test(webhook.id).await.unwrap();
        let request = receiver.block_for(4).remove(3);
        let event = verify(secret.expose(), &request).unwrap();
        assert!(event.id.starts_with("evt_test_") && event.email_id().starts_with("msg_test_"));

        let mut changed = request.clone();
        *changed.body.last_mut().unwrap() = b' ';
        assert_eq!(verify(secret.expose(), &changed), Err(DeliveryError::Mismatch));
        assert_eq!(verify("whsec_other", &request), Err(DeliveryError::Mismatch));
        let late = event.created_at.after(TOLERANCE + Duration::from_mins(1));
        let verdict = verify_signature(secret.expose(), &headers(&request), &request.body, TOLERANCE, late);
        assert!(matches!(verdict, Err(DeliveryError::TooOld(_))), "{verdict:?}");
    });
}

/// The first so many deliveries, once they have come.
fn verified(receiver: &Receiver, count: usize, secret: &str) -> Vec<WebhookEvent> {
    let requests = receiver.block_for(count);
    requests
        .iter()
        .map(|request| verify(secret, request).unwrap())
        .collect()
}

#[test]
fn during_a_rotation_receivers_with_either_secret_verify() {
    let server = start(&[]);
    run(async {
        let webhooks = client(&server).webhooks();
        let receiver = Receiver::start();
        let wanted = NewWebhook::new(receiver.url("/hook"), [EventType::EmailStored]);
        let webhook = webhooks.create(wanted).await.unwrap();
        let old = webhook.secret.unwrap();
        let rotated = webhooks.rotate_secret(webhook.id).await.unwrap();
        assert_eq!(rotated.id, webhook.id);
        assert_ne!(rotated.secret, old);
        assert!(!format!("{rotated:?}").contains(rotated.secret.expose()));

        webhooks.test(webhook.id).await.unwrap();
        let request = receiver.block_for(1).remove(0);
        assert!(request.header("X-Vault-Signature-Previous").is_some());
        for secret in [&rotated.secret, &old] {
            verify(secret.expose(), &request).unwrap();
        }
        assert_eq!(verify("whsec_other", &request), Err(DeliveryError::Mismatch));
    });
}

#[test]
fn refusals_have_their_kinds_and_the_servers_words() {
    let server = start(&[("WEBHOOK_MAX_GLOBAL", "1")]);
    run(async {
        let client = client(&server);
        let inbox = inbox(&server).await;
        let wanted = || NewWebhook::new("http://127.0.0.1:1/hook", [EventType::EmailStored]);

        let of_inbox = inbox.webhooks().create(wanted()).await.unwrap();
        let elsewhere = client.webhooks().find(of_inbox.id).await.unwrap_err();
        assert!(matches!(elsewhere, Error::WebhookNotFound(_)), "{elsewhere}");

        client.webhooks().create(wanted()).await.unwrap();
        let limit = client.webhooks().create(wanted()).await.unwrap_err();
        assert_eq!(refusal(&limit), (409, "Webhook limit reached (1)"));

        let metrics = client.webhook_metrics().await.unwrap();
        assert_eq!((metrics.webhooks.global, metrics.webhooks.inbox), (1, 1));
        let templates = client.webhook_templates().await.unwrap();
        assert_eq!(templates.len(), BuiltInTemplate::ALL.len());

        let filter = FilterConfig::all().rule("subject", FilterOperator::Regex, "(");
        let regex = inbox.webhooks().create(wanted().filter(filter)).await.unwrap_err();
        assert!(
            matches!(refusal(&regex), (422, text) if text.contains("filter.rules[0]")),
            "{regex}"
        );
        let template = wanted().template(CustomTemplate::new("{{id}}"));
        let template = inbox.webhooks().create(template).await.unwrap_err();
        assert_eq!(refusal(&template).0, 422, "{template}");
        let ftp = NewWebhook::new("ftp://example.test/", [EventType::EmailStored]);
        let ftp = inbox.webhooks().create(ftp).await.unwrap_err();
        assert!(matches!(refusal(&ftp), (400, text) if text.contains("url")), "{ftp}");

        let unknown = inbox.webhooks().redeliver(of_inbox.id, UNKNOWN.parse().unwrap()).await;
        assert_eq!(refusal(&unknown.unwrap_err()).0, 404);

        inbox.delete().await.unwrap();
        let gone = inbox.webhooks().create(wanted()).await.unwrap_err();
        assert!(matches!(gone, Error::InboxNotFound(_)), "{gone}");
    });
}

const UNKNOWN: &str = "dlv_00000000000000000000000000000000";

/// The status and the text of a refusal that has no kind of its own.
fn refusal(error: &Error) -> (u16, &str) {
    match error {
        Error::Api(answer) => (answer.status, &answer.message),
        _ => panic!("{error}"),
    }
}
