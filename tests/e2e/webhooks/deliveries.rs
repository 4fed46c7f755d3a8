//! What a receiver gets besides the body: headers, signatures, ids (interface, "Delivery"; decisions, section 7).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use restante_envelope::digest::hmac_sha256;
use restante_model::{DeliveryId, EventId, EventType, RemovalReason};
use restante_testkit::receiver::{Answer, Request};

use super::*;

/// The signatures of a request, for a test that knows the secrets.
pub(super) struct Signed {
    request: Request,
}

impl Signed {
    pub(super) fn new(request: &Request) -> Self {
        let request = request.clone();
        Self { request }
    }

    fn header(&self, name: &str) -> &str {
        let value = self.request.header(name);
        value.unwrap_or_else(|| panic!("{name} is missing: {:?}", self.request.headers))
    }

    /// `sha256=` and the HMAC of timestamp, dot and body under the whole secret.
    fn vault(&self, secret: &str) -> String {
        let timestamp = self.header("X-Vault-Timestamp");
        let message = [timestamp.as_bytes(), b".", &self.request.body].concat();
        let mac = hmac_sha256(secret.as_bytes(), &message);
        let hex: Vec<_> = mac.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("sha256={}", hex.concat())
    }

    pub(super) fn assert_by(&self, secret: &str) {
        assert_eq!(self.header("X-Vault-Signature"), self.vault(secret));
    }

    pub(super) fn assert_previous(&self, secret: Option<&str>) {
        let expected = secret.map(|secret| self.vault(secret));
        let previous = self.request.header("X-Vault-Signature-Previous");
        assert_eq!(previous, expected.as_deref());
    }

    /// What Standard Webhooks libraries expect under a secret.
    pub(super) fn standard(&self, secret: &str) -> String {
        let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
        assert_eq!(key.len(), 33);
        let (id, timestamp) = (self.header("webhook-id"), self.header("webhook-timestamp"));
        let message = [format!("{id}.{timestamp}.").as_bytes(), &self.request.body].concat();
        format!("v1,{}", STANDARD.encode(hmac_sha256(&key, &message)))
    }

    pub(super) fn standard_signatures(&self) -> Vec<String> {
        let signatures = self.header("webhook-signature").split(' ');
        signatures.map(str::to_owned).collect()
    }
}

/// Now, in Unix seconds, as this machine says.
fn now() -> u64 {
    use restante_model::Clock as _;
    restante_model::SystemClock.now().unix_secs()
}

#[test]
fn a_delivery_is_a_signed_post() {
    let receiver = Receiver::start();
    for (profile, user_agent) in [
        ("service", "Service-Webhook/1.0"),
        ("vaultsandbox", "VaultSandbox-Webhook/1.0"),
    ] {
        let server = start(&[("WIRE_PROFILE", profile)]);
        server.create_plain(BOB);
        let hook = Hook::new(&server, GLOBAL, &receiver, &["email.received"]);
        let before = receiver.requests().len();
        let id = server.send_raw(BOB, "Subject: gr\u{fc}n \u{1f600}\r\n\r\nhi\r\n");
        let request = &receiver.block_for(before + 1)[before];
        assert_eq!((request.method.as_str(), request.target.as_str()), ("POST", "/hook"));
        let event = EventId::of(id.parse().unwrap(), EventType::EmailReceived, None);
        let delivery = DeliveryId::of(event, hook.id().parse().unwrap());
        for (name, value) in [
            ("Host", receiver.address().to_string()),
            ("Content-Type", "application/json".to_owned()),
            ("User-Agent", user_agent.to_owned()),
            ("X-Vault-Event", "email.received".to_owned()),
            ("X-Vault-Delivery", delivery.to_string()),
            ("X-Vault-Attempt", "1".to_owned()),
            ("webhook-id", event.to_string()),
        ] {
            assert_eq!(request.header(name), Some(value.as_str()), "{name}");
        }
        assert_eq!(request.json()["id"], event.to_string());
        let timestamp = request.header("X-Vault-Timestamp").unwrap();
        assert_eq!(request.header("webhook-timestamp"), Some(timestamp));
        let age = now().abs_diff(timestamp.parse().unwrap());
        assert!(age < 20, "{timestamp} is {age} s off");
        let signed = Signed::new(request);
        signed.assert_by(hook.secret());
        signed.assert_previous(None);
        assert_eq!(signed.standard_signatures(), [signed.standard(hook.secret())]);
    }
}

#[test]
fn each_event_type_goes_to_those_who_subscribed_to_it() {
    let receiver = Receiver::start();
    let server = start(&[]);
    server.create_plain(BOB);
    let types = ["email.received", "email.stored", "email.deleted"];
    let one_each = types.map(|name| {
        Hook::create(
            &server,
            GLOBAL,
            &wanted(&receiver.url(&format!("/{name}")), &[name], &json!({})),
        )
    });
    let twice = [types[0], types[1], types[2], types[0]];
    Hook::create(&server, GLOBAL, &wanted(&receiver.url("/all"), &twice, &json!({})));
    let id = server.send_raw(BOB, "\r\n");
    receiver.block_for(4);
    server
        .delete(&format!("/api/inboxes/{BOB}/emails/{id}"))
        .expect_status(204);
    let mut told: Vec<_> = receiver
        .block_for(6)
        .iter()
        .map(|request| {
            (
                request.target.clone(),
                request.header("X-Vault-Event").unwrap().to_owned(),
            )
        })
        .collect();
    told.sort();
    let mut expected: Vec<_> = types
        .iter()
        .map(|name| (format!("/{name}"), (*name).to_owned()))
        .collect();
    expected.extend(types.map(|name| ("/all".to_owned(), name.to_owned())));
    expected.sort();
    assert_eq!(told, expected);
    let email = id.parse().unwrap();
    let events = [
        EventId::of(email, EventType::EmailReceived, None),
        EventId::of(email, EventType::EmailStored, None),
        EventId::of(email, EventType::EmailDeleted, Some(RemovalReason::Manual)),
    ];
    for (hook, event) in one_each.iter().zip(events) {
        let log = hook.deliveries(&server);
        assert_eq!((log.len(), &log[0]["eventId"]), (1, &json!(event.to_string())));
    }
}

#[test]
fn a_disabled_webhook_is_sent_nothing_and_misses_it() {
    let receiver = Receiver::start();
    let server = start(&[]);
    server.create_plain(BOB);
    let hook = Hook::new(&server, GLOBAL, &receiver, &["email.received"]);
    hook.patch(&server, &json!({ "enabled": false }));
    server.send_raw(BOB, "Subject: missed\r\n\r\n");
    hook.patch(&server, &json!({ "enabled": true }));
    server.send_raw(BOB, "Subject: told\r\n\r\n");
    let webhook = hook.after(&server, 1);
    assert_eq!(webhook["lastDeliveryStatus"], "success");
    let requests = receiver.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].json()["data"]["subject"], "told");
}

#[test]
fn with_webhooks_switched_off_nothing_is_sent_but_tests() {
    let receiver = Receiver::start();
    let server = start(&[("WEBHOOK_ENABLED", "false")]);
    server.create_plain(BOB);
    let hook = Hook::new(&server, GLOBAL, &receiver, &["email.received", "email.deleted"]);
    let id = server.send_raw(BOB, "\r\n");
    server
        .delete(&format!("/api/inboxes/{BOB}/emails/{id}"))
        .expect_status(204);
    hook.patch(&server, &json!({ "description": "works" }));
    let test = post(&server, &hook.at("test"), &json!({})).expect_status(200).json();
    assert_eq!(test["success"], true);
    assert_eq!(receiver.requests().len(), 1);
    assert_eq!(hook.get(&server)["stats"]["totalDeliveries"], 0);
    assert_eq!(hook.deliveries(&server), Vec::<Value>::new());
}

#[test]
fn a_redirect_is_a_failure_and_not_followed() {
    let (receiver, elsewhere) = (Receiver::start(), Receiver::start());
    receiver.always(Answer::redirect(&elsewhere.url("/")));
    let server = start(&[]);
    server.create_plain(BOB);
    let hook = Hook::new(&server, GLOBAL, &receiver, &["email.received"]);
    server.send_raw(BOB, "\r\n");
    let webhook = hook.after(&server, 1);
    assert_eq!(webhook["stats"]["failedDeliveries"], 1);
    assert_eq!(hook.deliveries(&server)[0]["statusCode"], 307);
    assert_eq!(elsewhere.connections(), 0);
}
