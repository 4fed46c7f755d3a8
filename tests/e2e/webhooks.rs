//! Webhooks over real sockets: the interface's tables row by row, and what receivers get.

use restante_testkit::receiver::Receiver;
use serde_json::{Value, json};
use tokio::time::{Duration, Instant};

use crate::harness::{Answer, TestServer};

mod changes;
mod deliveries;
mod failures;
mod filters;
mod limits;
mod log;
mod payloads;
mod refusals;
mod resources;
mod scopes;
mod secrets;
mod targets;
mod templates;
mod testing;

const BOB: &str = "bob@restante.test";
const EVE: &str = "eve@restante.test";
/// Where global webhooks are.
const GLOBAL: &str = "/api/webhooks";
/// A target of which no more is wanted than that it may be one: nothing is looked up, and nobody listens.
const NOBODY: &str = "http://127.0.0.1:1/hook";

/// A server whose webhooks may go to this machine.
fn start(variables: &[(&str, &str)]) -> TestServer {
    TestServer::start(&[&[("WEBHOOK_ALLOW_HTTP", "true")], variables].concat())
}

/// Where the webhooks of an inbox are.
fn webhooks_of(address: &str) -> String {
    format!("/api/inboxes/{address}/webhooks")
}

fn post(server: &TestServer, path: &str, body: &Value) -> Answer {
    server.request("POST", path, Some(body))
}

fn patch(server: &TestServer, path: &str, body: &Value) -> Answer {
    server.request("PATCH", path, Some(body))
}

/// The least that a webhook needs, and more.
fn wanted(url: &str, events: &[&str], more: &Value) -> Value {
    let mut body = json!({ "url": url, "events": events });
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

/// A webhook that was created.
struct Hook {
    /// Its path.
    path: String,
    /// What the creation answered.
    created: Value,
}

impl Hook {
    /// Creates one that tells a receiver of these events.
    fn new(server: &TestServer, at: &str, receiver: &Receiver, events: &[&str]) -> Self {
        Self::with(server, at, receiver, events, &json!({}))
    }

    /// The same with more fields.
    fn with(server: &TestServer, at: &str, receiver: &Receiver, events: &[&str], more: &Value) -> Self {
        Self::create(server, at, &wanted(&receiver.url("/hook"), events, more))
    }

    fn create(server: &TestServer, at: &str, body: &Value) -> Self {
        let created = post(server, at, body).expect_status(201).json();
        Self {
            path: format!("{at}/{}", created["id"].as_str().unwrap()),
            created,
        }
    }

    /// The path of an operation on it.
    fn at(&self, operation: &str) -> String {
        format!("{}/{operation}", self.path)
    }

    fn id(&self) -> &str {
        self.created["id"].as_str().unwrap()
    }

    fn secret(&self) -> &str {
        self.created["secret"].as_str().unwrap()
    }

    /// How it is now.
    fn get(&self, server: &TestServer) -> Value {
        server.get(&self.path).expect_status(200).json()
    }

    /// Changes it.
    fn patch(&self, server: &TestServer, body: &Value) -> Value {
        patch(server, &self.path, body).expect_status(200).json()
    }

    /// Waits until so many attempts have been recorded; its state then.
    fn after(&self, server: &TestServer, attempts: u64) -> Value {
        until("attempts are recorded", || {
            let webhook = self.get(server);
            (webhook["stats"]["totalDeliveries"] == attempts).then_some(webhook)
        })
    }

    /// Its log.
    fn deliveries(&self, server: &TestServer) -> Vec<Value> {
        let log = server.get(&self.at("deliveries")).expect_status(200).json();
        log["deliveries"].as_array().unwrap().clone()
    }
}

/// Asks again until there is an answer.
fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "{what}: not within 20 s");
        std::thread::yield_now();
    }
}

/// Whether it is a refusal with this status and message, and the reason phrase of the status.
#[track_caller]
fn assert_refused(answer: &Answer, status: u16, message: impl Into<Value>) {
    let error = match status {
        400 => "Bad Request",
        401 => "Unauthorized",
        404 => "Not Found",
        405 => "Method Not Allowed",
        409 => "Conflict",
        415 => "Unsupported Media Type",
        422 => "Unprocessable Entity",
        _ => panic!("no refusal of webhooks has the status {status}"),
    };
    let message: Value = message.into();
    let expected = json!({ "statusCode": status, "message": message, "error": error });
    assert_eq!(answer.json(), expected);
    assert_eq!(answer.status, status);
}
