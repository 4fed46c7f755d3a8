//! The Rust SDK against the real server.

use std::time::Duration;

use restante_client::{Client, ClientBuilder, Encryption, Inbox, NewInbox, PollingSettings, Strategy};
use tokio::runtime::Runtime;

use crate::harness::{API_KEY, TestServer};

mod blocking;
mod chaos;
mod emails;
mod examples;
mod inboxes;
mod made_emails;
mod meddler;
mod sealed;
mod stream;
mod stream_anew;
mod stream_cut;
mod stream_end;
mod terms;
mod transport;
mod waiting;
mod webhooks;

/// A client of the server, with all defaults.
fn client(server: &TestServer) -> Client {
    Client::new(format!("http://{}", server.http), API_KEY).unwrap()
}

/// Runs a test of the asynchronous client beside the server, which has a runtime of its own.
fn run<T>(test: impl Future<Output = T>) -> T {
    Runtime::new().unwrap().block_on(test)
}

/// A client of the server that asks often where it polls.
fn client_with(server: &TestServer, strategy: Strategy) -> Client {
    builder(&format!("http://{}", server.http), strategy).build().unwrap()
}

/// The same, to be changed, for any URL.
fn builder(url: &str, strategy: Strategy) -> ClientBuilder {
    Client::builder(url, API_KEY)
        .strategy(strategy)
        .polling(PollingSettings {
            initial: Duration::from_millis(20),
            multiplier: 1.5,
            max: Duration::from_millis(100),
            jitter: 0.3,
        })
}

const STRATEGIES: [Strategy; 3] = [Strategy::Auto, Strategy::Sse, Strategy::Polling];

const MODES: [Encryption; 2] = [Encryption::Plain, Encryption::Encrypted];

/// Both wire profiles.
const PROFILES: [&[(&str, &str)]; 2] = [&[], &[("WIRE_PROFILE", "vaultsandbox")]];

/// An inbox of the mode.
fn wanted(mode: Encryption) -> NewInbox {
    match mode {
        Encryption::Plain => NewInbox::new().plain(),
        Encryption::Encrypted => NewInbox::new().encrypted(),
    }
}

/// Creates `bob@restante.test`.
async fn bob(client: &Client, mode: Encryption) -> Inbox {
    let wanted = wanted(mode).address("bob@restante.test");
    client.create_inbox(wanted).await.unwrap()
}
