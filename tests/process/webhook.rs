//! Webhooks of a server that is a process of its own: what they promise when it is killed, stopped or kept waiting, and
//! what nobody else may learn from them.

mod crash;
mod dead_target;
mod removal;
mod retry;
mod secrecy;
mod stop;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use restante_model::{DeliveryId, EmailId, EventId, EventType, WebhookId};
use restante_testkit::receiver::{Receiver, Request};
use serde_json::{Value, json};

use crate::daemon::{Daemon, PATIENCE, now};

const ARRIVAL: [EventType; 2] = [EventType::EmailReceived, EventType::EmailStored];

/// A server that sends to this machine.
fn start(home: &Path, variables: &[(&str, &str)]) -> Daemon {
    Daemon::start(home, &[&[("WEBHOOK_ALLOW_HTTP", "true")], variables].concat())
}

/// Creates a webhook below this path; what the server says of it, its secret included.
fn hook(server: &Daemon, path: &str, url: &str, events: &[EventType]) -> Value {
    let events: Vec<_> = events.iter().map(|event| event.as_str()).collect();
    let body = json!({ "url": url, "events": events });
    server.request("POST", path, Some(&body)).expect_status(201).json()
}

/// Its id.
fn id_of(hook: &Value) -> WebhookId {
    hook["id"].as_str().unwrap().parse().unwrap()
}

/// The log of a webhook, newest first.
fn log(server: &Daemon, path: &str) -> Vec<Value> {
    let page = server.get(&format!("{path}/deliveries"));
    page["deliveries"].as_array().unwrap().clone()
}

/// Asks until the answer is as it must become.
fn until<T>(what: &str, mut ask: impl FnMut() -> T, is_so: impl Fn(&T) -> bool) -> T {
    let began = now();
    loop {
        let answer = ask();
        if is_so(&answer) {
            return answer;
        }
        assert!(began.elapsed() < PATIENCE, "{what} in time");
        std::thread::yield_now();
    }
}

/// What one request tells.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Told {
    email: String,
    event_type: String,
    event: String,
    delivery: String,
    attempt: u32,
}

impl Told {
    fn of(request: &Request) -> Self {
        let body = request.json();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let header = |name| request.header(name).unwrap().to_owned();
        let told = Self {
            email: text(&body["data"]["id"]),
            event_type: text(&body["type"]),
            event: text(&body["id"]),
            delivery: header("X-Vault-Delivery"),
            attempt: header("X-Vault-Attempt").parse().unwrap(),
        };
        assert_eq!(header("X-Vault-Event"), told.event_type);
        assert_eq!(header("webhook-id"), told.event);
        told
    }
}

/// Everything that a receiver was told, in order.
fn told(receiver: &Receiver) -> Vec<Told> {
    receiver.requests().iter().map(Told::of).collect()
}

/// That these requests tell a webhook of arrivals, each event at least once, by the ids that follow from email and
/// webhook, and count the attempts of each.
fn must_tell_arrivals(webhook: WebhookId, emails: &[String], told: &[Told]) {
    let mut attempts: HashMap<&str, u32> = HashMap::new();
    let mut heard: BTreeMap<(&str, &str), &Told> = BTreeMap::new();
    for told in told {
        let before = attempts.insert(&told.delivery, told.attempt).unwrap_or(0);
        // An attempt whose outcome was not recorded is made again by the same number.
        assert!(
            told.attempt == before + 1 || told.attempt == before,
            "{told:?} after attempt {before}"
        );
        heard.insert((&told.email, &told.event_type), told);
    }
    for email in emails {
        let id: EmailId = email.parse().unwrap();
        for event_type in ARRIVAL {
            let found = heard.get(&(email.as_str(), event_type.as_str()));
            let found = found.unwrap_or_else(|| panic!("{event_type} of {email} was told"));
            let event = EventId::of(id, event_type, None);
            assert_eq!(found.event, event.to_string());
            assert_eq!(found.delivery, DeliveryId::of(event, webhook).to_string());
        }
    }
}

/// Waits until both events of the arrival of each of these emails were told.
fn wait_for_arrivals(receiver: &Receiver, emails: &[String]) {
    let emails: HashSet<_> = emails.iter().collect();
    loop {
        let told = told(receiver);
        let arrivals = told.iter().filter(|told| emails.contains(&told.email));
        let distinct: HashSet<_> = arrivals.map(|told| &told.event).collect();
        if distinct.len() == ARRIVAL.len() * emails.len() {
            return;
        }
        receiver.block_for(told.len() + 1);
    }
}
