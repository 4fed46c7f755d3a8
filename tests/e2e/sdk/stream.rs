//! The live subscription through the SDK: what it delivers.

use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use restante_client::{
    Arrival, Client, Encryption, Error, Existing, ExportedInbox, IfKnown, Inbox, ReconnectSettings, SignatureError,
    Strategy, Watch,
};
use restante_envelope::DecapsulationKey;
use restante_testkit::cutter::Cutter;
use serde_json::Value;
use tokio::time::timeout;

use super::{MODES, STRATEGIES, bob, builder, run, wanted};
use crate::harness::{API_KEY, EventStream, TestServer};

/// Longer than any email takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// A client behind the proxy that comes back fast, and gives up after so many attempts.
pub(super) fn client_of(cutter: &Cutter, strategy: Strategy, max_attempts: u32) -> Client {
    let fast = ReconnectSettings {
        delay: Duration::from_millis(10),
        max_attempts,
        // Longer than a refused stream waits for its answer.
        connect_timeout: Duration::from_secs(3),
    };
    let url = format!("http://{}", cutter.address());
    builder(&url, strategy).reconnect(fast).build().unwrap()
}

pub(super) fn client(cutter: &Cutter, strategy: Strategy) -> Client {
    client_of(cutter, strategy, 10)
}

/// The server, and a proxy before it that does not cut by itself.
pub(super) fn start(variables: &[(&str, &str)]) -> (TestServer, Cutter) {
    let server = TestServer::start(variables);
    let cutter = Cutter::start(server.http, 0).unwrap();
    (server, cutter)
}

pub(super) async fn next(watch: &mut Watch) -> Option<Result<Arrival, Error>> {
    timeout(PATIENCE, watch.next()).await.expect("something comes")
}

/// The address and the id of the next email.
async fn arrival(watch: &mut Watch) -> (String, String) {
    let arrival = next(watch).await.unwrap().unwrap();
    assert_eq!(arrival.inbox.hash(), arrival.email.inbox_id);
    (arrival.inbox.address().to_owned(), arrival.email.id.to_string())
}

pub(super) async fn ids(watch: &mut Watch, count: usize) -> Vec<String> {
    let mut ids = Vec::new();
    for _ in 0..count {
        ids.push(arrival(watch).await.1);
    }
    ids
}

pub(super) async fn create(client: &Client, name: &str, mode: Encryption) -> Inbox {
    let wanted = wanted(mode).address(format!("{name}@restante.test"));
    client.create_inbox(wanted).await.unwrap()
}

/// Every strategy with every mode, all at the same time: the server makes some of them wait.
pub(super) fn each_way(test: &(impl AsyncFn(&TestServer, &Cutter, Strategy, Encryption) + Sync)) {
    thread::scope(|scope| {
        for strategy in STRATEGIES {
            for mode in MODES {
                // What fails is told with the name.
                let named = thread::Builder::new().name(format!("{strategy:?}, {mode:?}"));
                let way = move || {
                    let (server, cutter) = start(&[]);
                    run(test(&server, &cutter, strategy, mode));
                };
                named.spawn_scoped(scope, way).unwrap();
            }
        }
    });
}

#[test]
fn what_arrives_is_delivered_and_what_was_there_is_not() {
    each_way(&async |server, cutter, strategy, mode| {
        let client = client(cutter, strategy);
        let bob = bob(&client, mode).await;
        server.send_many(bob.address(), 3);
        let mut watch = bob.watch(Existing::Skip).await.unwrap();
        server.send(bob.address(), "Welcome", "text");
        let arrival = next(&mut watch).await.unwrap().unwrap();
        assert_eq!(arrival.email.subject(), "Welcome");
        assert!(arrival.email.from().contains("alice@sender.test"));
        let email = arrival.fetch().await.unwrap();
        assert_eq!(email.summary, arrival.email);
        assert_eq!(email.text().map(str::trim_end), Some("text"));
    });
}

#[test]
fn what_was_there_comes_first_in_arrival_order() {
    each_way(&async |server, cutter, strategy, mode| {
        let client = client(cutter, strategy);
        let (bob, eve) = (
            create(&client, "bob", mode).await,
            create(&client, "eve", Encryption::Plain).await,
        );
        let mut sent = server.send_many(bob.address(), 120);
        sent.extend(server.send_many(eve.address(), 5));
        sent.extend(server.send_many(bob.address(), 120));
        let mut watch = client.watch(&[eve, bob.clone()], Existing::Deliver).await.unwrap();
        sent.extend(server.send_many(bob.address(), 3));
        assert_eq!(ids(&mut watch, sent.len()).await, sent);
    });
}

#[test]
fn inboxes_are_added_and_left_out_while_it_runs() {
    each_way(&async |server, cutter, strategy, mode| {
        let client = client(cutter, strategy);
        let (bob, eve) = (create(&client, "bob", mode).await, create(&client, "eve", mode).await);
        let mut watch = client.watch(&[], Existing::Skip).await.unwrap();
        watch.add(&bob).await.unwrap();
        let first = server.send_many(bob.address(), 2);
        assert_eq!(ids(&mut watch, 2).await, first);

        server.send_many(eve.address(), 2);
        watch.add(&eve).await.unwrap();
        watch.add(&bob).await.unwrap();
        let second = [server.send_many(eve.address(), 2), server.send_many(bob.address(), 2)].concat();
        let mut heard = ids(&mut watch, 4).await;
        heard.sort_unstable();
        assert_eq!(heard, second, "each once, whatever the list was when it came");

        watch.remove(&bob).await.unwrap();
        watch.remove(&bob).await.unwrap();
        server.send_many(bob.address(), 2);
        let third = server.send_many(eve.address(), 1);
        assert_eq!(ids(&mut watch, 1).await, third);
    });
}

#[test]
fn mail_that_came_while_there_was_no_server_is_delivered_after() {
    for strategy in STRATEGIES {
        let (server, cutter) = start(&[]);
        run(async {
            let client = client(&cutter, strategy);
            let bob = bob(&client, Encryption::Plain).await;
            let mut watch = bob.watch(Existing::Skip).await.unwrap();
            let first = server.send_many(bob.address(), 1);
            assert_eq!(ids(&mut watch, 1).await, first);
            cutter.retarget(nowhere());
            cutter.cut();
            let missed = server.send_many(bob.address(), 5);
            cutter.retarget(server.http);
            assert_eq!(ids(&mut watch, 5).await, missed);
        });
    }
}

/// Where nobody listens.
pub(super) fn nowhere() -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

#[test]
fn auto_polls_while_there_is_no_stream_and_goes_back_to_it() {
    let (server, cutter) = start(&[("SERVER_MAX_STREAMS", "1")]);
    run(async {
        let client = builder(&format!("http://{}", cutter.address()), Strategy::Auto)
            .reconnect(ReconnectSettings {
                delay: Duration::from_millis(50),
                max_attempts: 3,
                connect_timeout: Duration::from_millis(200),
            })
            .build()
            .unwrap();
        let bob = bob(&client, Encryption::Plain).await;
        let path = format!("/api/events?inboxes={}", bob.hash());
        let occupied = EventStream::open(server.http, &path, &[("X-API-Key", API_KEY)]);
        let mut watch = bob.watch(Existing::Skip).await.unwrap();
        for _ in 0..10 {
            let sent = server.send_many(bob.address(), 20);
            assert_eq!(ids(&mut watch, 20).await, sent);
        }
        drop(occupied);
        let sent = server.send_many(bob.address(), 20);
        assert_eq!(ids(&mut watch, 20).await, sent);
    });
}

#[test]
fn an_email_that_another_key_signed_is_an_error_and_ends_nothing() {
    let other = TestServer::start(&[]).create_encrypted("bob@restante.test", &DecapsulationKey::generate());
    for strategy in STRATEGIES {
        let (server, cutter) = start(&[]);
        run(async {
            let creator = client(&cutter, strategy);
            let bob = bob(&creator, Encryption::Encrypted).await;
            let eve = create(&creator, "eve", Encryption::Plain).await;
            let mut export: Value = serde_json::from_str(&bob.export().to_json()).unwrap();
            export["serverSigPk"] = other["serverSigPk"].clone();
            let export = ExportedInbox::parse(export.to_string().as_bytes()).unwrap();
            let deceived = creator.import_inbox(export, IfKnown::Replace).unwrap();

            let mut watch = creator
                .watch(&[deceived, eve.clone()], Existing::Deliver)
                .await
                .unwrap();
            server.send_many(bob.address(), 1);
            let error = next(&mut watch).await.unwrap().unwrap_err();
            let mismatch = SignatureError::ServerKeyMismatch;
            assert!(matches!(error, Error::SignatureVerification(reason) if reason == mismatch));
            cutter.cut();
            let sent = server.send_many(eve.address(), 1);
            assert_eq!(ids(&mut watch, 1).await, sent, "it counts as delivered");
        });
    }
}

#[test]
fn a_subscriber_who_is_slow_misses_nothing() {
    each_way(&async |server, cutter, strategy, mode| {
        let client = client(cutter, strategy);
        let bob = bob(&client, mode).await;
        let mut watch = bob.watch(Existing::Skip).await.unwrap();
        // More than the subscription holds ready; commands are taken none the less.
        let sent = server.send_many(bob.address(), 200);
        let eve = create(&client, "eve", mode).await;
        watch.add(&eve).await.unwrap();
        watch.remove(&eve).await.unwrap();
        let mut heard = ids(&mut watch, 200).await;
        heard.sort_unstable();
        assert_eq!(heard, sent);
    });
}

#[test]
fn giving_up_on_the_next_one_loses_nothing() {
    each_way(&async |server, cutter, strategy, mode| {
        let client = client(cutter, strategy);
        let bob = bob(&client, mode).await;
        let mut watch = bob.watch(Existing::Skip).await.unwrap();
        let sent = server.send_many(bob.address(), 20);
        let mut heard = Vec::new();
        while heard.len() < sent.len() {
            tokio::select! {
                biased;
                arrival = watch.next() => heard.push(arrival.unwrap().unwrap().email.id.to_string()),
                () = tokio::task::yield_now() => {}
            }
        }
        assert_eq!(heard, sent);
    });
}

#[test]
fn one_stream_takes_as_many_inboxes_as_a_client_asks_for() {
    let server = TestServer::start(&[]);
    let bob = server.create_plain("bob@restante.test");
    // Those that the server does not know are named like the others.
    let unknown = "A".repeat(43);
    let list = [vec![unknown; 1399], vec![bob]].concat().join("%2C");
    let path = format!("/api/events?inboxes={list}");
    let mut stream = EventStream::open(server.http, &path, &[("X-API-Key", API_KEY)]);
    assert!(stream.head.starts_with("HTTP/1.1 200 "), "{}", stream.head);
    stream.next_piece().unwrap();
    let sent = server.send_many("bob@restante.test", 1);
    assert_eq!(stream.next_event().unwrap().id, sent[0]);
}
