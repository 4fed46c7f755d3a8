//! The examples of the SDK's documentation, from the very files, against the real server.

use restante_client::Client;

use super::{client, run};
use crate::harness::{API_KEY, TestServer};

/// Includes an example: its `main`, which finds the server of the machine, is not called.
macro_rules! examples {
    ($($name:ident: $file:literal,)+) => {$(
        #[path = $file]
        #[expect(dead_code, unreachable_pub, reason = "it is a program of its own")]
        mod $name;
    )+};
}

examples! {
    first_mail: "../../../crates/client/examples/first_mail.rs",
    live: "../../../crates/client/examples/live.rs",
    plain_test: "../../../crates/client/examples/plain_test.rs",
    sealed: "../../../crates/client/examples/sealed.rs",
    unreliable: "../../../crates/client/examples/unreliable.rs",
    webhook_receiver: "../../../crates/client/examples/webhook_receiver.rs",
}

fn blocking(server: &TestServer) -> restante_client::blocking::Client {
    let builder = Client::builder(format!("http://{}", server.http), API_KEY);
    builder.build_blocking().unwrap()
}

#[test]
fn first_mail() {
    let server = TestServer::start(&[]);
    run(first_mail::first_mail(&client(&server), server.smtp)).unwrap();
}

#[test]
fn plain_test() {
    let server = TestServer::start(&[]);
    plain_test::plain_test(&blocking(&server), server.smtp).unwrap();
}

#[test]
fn sealed() {
    let server = TestServer::start(&[]);
    run(sealed::sealed(&client(&server), &client(&server), server.smtp)).unwrap();
}

#[test]
fn live() {
    let server = TestServer::start(&[]);
    run(live::live(&client(&server), server.smtp)).unwrap();
}

#[test]
fn unreliable() {
    let server = TestServer::start(&[("CHAOS_ENABLED", "true")]);
    unreliable::unreliable(&blocking(&server), server.smtp).unwrap();
}

#[test]
fn webhook_receiver() {
    let server = TestServer::start(&[("WEBHOOK_ALLOW_HTTP", "true")]);
    webhook_receiver::webhook_receiver(&blocking(&server)).unwrap();
}

/// An example that nobody runs would rot.
#[test]
fn every_example_is_run() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/client/examples");
    let files = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            "first_mail.rs",
            "live.rs",
            "plain_test.rs",
            "sealed.rs",
            "unreliable.rs",
            "webhook_receiver.rs"
        ]
    );
}
