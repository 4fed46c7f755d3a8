//! The server under test.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use lettre::{SmtpTransport, Transport as _};
use restante_envelope::{DecapsulationKey, base64url};
use restante_model::{Clock, SystemClock};
use restante_server::settings::{self, Invocation, Machine};
use restante_server::{RunningServer, Secrets, Settings};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::http::{self, Answer};
use super::mail;
use super::socket::{self, RawAnswer};
use crate::peer::Peer;

/// The API key of every test server.
pub(crate) const API_KEY: &str = "test-key-0123456789-0123456789-0123456789";

/// A server in this process.
pub(crate) struct TestServer {
    /// Where HTTP listens.
    pub(crate) http: SocketAddr,
    /// Where SMTP listens; nowhere, at port 0, if it is off.
    pub(crate) smtp: SocketAddr,
    /// Where SMTP listens with TLS from the first byte.
    pub(crate) smtp_tls: Option<SocketAddr>,
    /// Where HTTPS listens.
    pub(crate) https: Option<SocketAddr>,
    runtime: Runtime,
    running: Option<RunningServer>,
    data: Option<TempDir>,
}

impl TestServer {
    /// Starts a server with these `SVC_` variables (without the prefix) over the defaults of the laptop.
    pub(crate) fn start(variables: &[(&str, &str)]) -> Self {
        Self::start_with_clock(variables, Arc::new(SystemClock))
    }

    /// The same with a clock of the test.
    pub(crate) fn start_with_clock(variables: &[(&str, &str)], clock: Arc<dyn Clock>) -> Self {
        let data = tempfile::tempdir().unwrap();
        Self::start_in(data, variables, clock)
    }

    /// Starts a server whose key is not set, but in the data.
    pub(crate) fn start_without_key(data: TempDir) -> Self {
        Self::start_in(data, &[("LOCAL_API_KEY", "")], Arc::new(SystemClock))
    }

    /// Starts a server on the data of another one that was stopped.
    pub(crate) fn start_in(data: TempDir, variables: &[(&str, &str)], clock: Arc<dyn Clock>) -> Self {
        let settings = settings(data.path(), variables);
        let secrets = Secrets::prepare(data.path(), &settings.secrets).unwrap();
        let runtime = Runtime::new().unwrap();
        let running = runtime
            .block_on(RunningServer::start(&settings, secrets, clock))
            .unwrap();
        Self {
            http: running.http,
            smtp: running.smtp.unwrap_or(([127, 0, 0, 1], 0).into()),
            smtp_tls: running.smtp_tls,
            https: running.https,
            runtime,
            running: Some(running),
            data: Some(data),
        }
    }

    /// Why a server with these variables does not start on the data.
    pub(crate) fn refusal_in(data: &TempDir, variables: &[(&str, &str)]) -> String {
        let settings = settings(data.path(), variables);
        let secrets = Secrets::prepare(data.path(), &settings.secrets).unwrap();
        let start = RunningServer::start(&settings, secrets, Arc::new(SystemClock));
        Runtime::new().unwrap().block_on(start).unwrap_err().to_string()
    }

    /// Stops the server and gives back its data, for a server that goes on with it.
    pub(crate) fn stop(mut self) -> TempDir {
        self.end();
        self.data.take().expect("the data is taken once")
    }

    fn end(&mut self) {
        if let Some(running) = self.running.take() {
            self.runtime.block_on(running.stop(Duration::from_secs(5)));
        }
    }

    /// Sends a request with the API key.
    pub(crate) fn request(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        let url = format!("http://{}{path}", self.http);
        let text = body.map(ToString::to_string).unwrap_or_default();
        let key = ("X-API-Key", API_KEY);
        match body {
            Some(_) => http::send(
                method,
                &url,
                &[key, ("Content-Type", "application/json")],
                text.as_bytes(),
            ),
            None => http::send(method, &url, &[key], b""),
        }
    }

    /// Sends a request with exactly these headers.
    pub(crate) fn bare_request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        http::send(method, &format!("http://{}{path}", self.http), headers, body.as_bytes())
    }

    /// Sends a request of any method and body over a socket of its own.
    pub(crate) fn exchange(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> RawAnswer {
        let mut head = vec![format!("{method} {path} HTTP/1.1"), format!("Host: {}", self.http)];
        head.extend(headers.iter().map(|(name, value)| format!("{name}: {value}")));
        head.push(format!("Content-Length: {}", body.len()));
        let head: Vec<_> = head.iter().map(String::as_str).collect();
        RawAnswer::read(&socket::exchange(self.http, &head, body))
    }

    /// GET with the API key.
    pub(crate) fn get(&self, path: &str) -> Answer {
        self.request("GET", path, None)
    }

    /// Creates a plain inbox at the address and gives back its hash.
    pub(crate) fn create_plain(&self, address: &str) -> String {
        let body = json!({ "emailAddress": address, "encryption": "plain" });
        let inbox = self
            .request("POST", "/api/inboxes", Some(&body))
            .expect_status(201)
            .json();
        inbox["inboxHash"].as_str().unwrap().to_owned()
    }

    /// A real SMTP client on a connection of its own.
    pub(crate) fn smtp_client(&self) -> SmtpTransport {
        SmtpTransport::builder_dangerous(self.smtp.ip().to_string())
            .port(self.smtp.port())
            .build()
    }

    /// POST of a JSON body to `/api/inboxes`.
    pub(crate) fn create(&self, body: &Value) -> Answer {
        self.request("POST", "/api/inboxes", Some(body))
    }

    /// Creates an encrypted inbox for the key and gives back what the server answered.
    pub(crate) fn create_encrypted(&self, address: &str, key: &DecapsulationKey) -> Value {
        let key = base64url::encode(key.encapsulation_key().as_bytes());
        let body = json!({ "emailAddress": address, "encryption": "encrypted", "clientKemPk": key });
        self.create(&body).expect_status(201).json()
    }

    /// DELETE with the API key.
    pub(crate) fn delete(&self, path: &str) -> Answer {
        self.request("DELETE", path, None)
    }

    /// PATCH without a body, with the API key.
    pub(crate) fn patch(&self, path: &str) -> Answer {
        self.request("PATCH", path, None)
    }

    /// The ids of an inbox's emails as listed: newest first.
    pub(crate) fn email_ids(&self, address: &str) -> Vec<String> {
        let list = self.get(&format!("/api/inboxes/{address}/emails")).expect_status(200);
        let list = list.json();
        let ids = list.as_array().unwrap().iter().map(|email| &email["id"]);
        ids.map(|id| id.as_str().unwrap().to_owned()).collect()
    }

    /// Sends the bytes from `alice@sender.test`, and gives back the id in the 250.
    pub(crate) fn send_raw(&self, to: &str, message: &str) -> String {
        self.send_to(&[to], message).remove(0)
    }

    /// The same to several recipients: one id for each inbox.
    pub(crate) fn send_to(&self, to: &[&str], message: &str) -> Vec<String> {
        Peer::greeted(self.smtp).deliver(to, message.as_bytes())
    }

    /// Sends so many empty messages on one connection; their ids in order.
    pub(crate) fn send_many(&self, to: &str, count: usize) -> Vec<String> {
        let mut peer = Peer::greeted(self.smtp);
        let send = |_| peer.deliver(&[to], mail::EMPTY.as_bytes()).remove(0);
        (0..count).map(send).collect()
    }

    /// Sends a text mail from `alice@sender.test`.
    pub(crate) fn send(&self, to: &str, subject: &str, text: &str) {
        let message = lettre::Message::builder()
            .from("Alice <alice@sender.test>".parse().unwrap())
            .to(to.parse().unwrap())
            .subject(subject)
            .body(text.to_owned())
            .unwrap();
        self.smtp_client().send(&message).unwrap();
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.end();
    }
}

/// The settings of a test server: ports of its own. A variable without a value is left unset.
pub(crate) fn settings(data: &Path, variables: &[(&str, &str)]) -> Settings {
    let data = data.to_str().unwrap();
    let defaults = [
        ("DATA_PATH", data),
        ("SMTP_PORT", "0"),
        ("SERVER_PORT", "0"),
        ("LOCAL_API_KEY", API_KEY),
        ("SMTP_HOSTNAME", "mx.restante.test"),
    ];
    let overridden = |name: &str| variables.iter().any(|(other, _)| *other == name);
    let given = variables.iter().filter(|(_, value)| !value.is_empty());
    let environment = defaults.iter().filter(|(name, _)| !overridden(name)).chain(given);
    let environment = environment.map(|(name, value)| (format!("SVC_{name}").into(), value.into()));
    let machine = Machine {
        hostname: "test".into(),
        memory_bytes: 4 << 30,
        app_data_writable: false,
    };
    match settings::read(["server".into()], environment, &machine) {
        Ok(Invocation::Serve(settings)) => *settings,
        Ok(other) => panic!("expected settings, got {other:?}"),
        Err(error) => panic!("{error}"),
    }
}
