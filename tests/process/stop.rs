//! How it stops: what is under way ends first, for a while.

use std::io::ErrorKind;
use std::net::TcpStream;
use std::time::Duration;

use crate::daemon::Daemon;
use crate::peer::{Peer, stored_ids};

const BOB: &str = "bob@restante.test";
const FAREWELL: &str = "421 4.3.2 ";

/// Less than the grace period, with room to spare.
const AT_ONCE: Duration = Duration::from_secs(4);

/// A client in the middle of its message.
fn sender(server: &Daemon) -> Peer {
    let mut peer = Peer::greeted(server.smtp);
    peer.open_transaction(&[BOB]);
    assert!(peer.say("DATA").starts_with("354 "));
    peer.send(b"Subject: half\r\n\r\nfirst\r\n").unwrap();
    peer
}

#[test]
fn an_open_transaction_ends_and_everybody_else_is_told_to_leave() {
    let home = tempfile::tempdir().unwrap();
    let server = Daemon::start(home.path(), &[]);
    server.create(BOB, None);
    let mut idle = Peer::greeted(server.smtp);
    let mut silent = Peer::connect(server.smtp).unwrap();
    assert!(silent.reply().unwrap().starts_with("220 "));
    let mut sender = sender(&server);
    let (smtp, http) = (server.smtp, server.http);
    server.terminate();

    for peer in [&mut idle, &mut silent] {
        let farewell = peer.rest();
        assert!(
            farewell.starts_with(FAREWELL) && farewell.lines().count() == 1,
            "{farewell}"
        );
    }
    sender.send(b"second\r\n.\r\n").unwrap();
    let ids = stored_ids(&sender.reply().unwrap());
    let farewell = sender.rest();
    assert!(farewell.starts_with(FAREWELL), "{farewell}");
    let ended = server.wait();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    assert!(ended.took < AT_ONCE, "{:?}", ended.took);
    assert!(ended.logged.contains("stopping"), "{}", ended.logged);
    for address in [smtp, http] {
        let refused = TcpStream::connect(address).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    }
    let server = Daemon::start(home.path(), &[]);
    assert_eq!(server.emails(BOB)[0]["id"], ids[0].as_str());
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let home = tempfile::tempdir().unwrap();
    let server = Daemon::start(home.path(), &[]);
    server.create(BOB, None);
    Peer::greeted(server.smtp).deliver(&[BOB], b"kept\r\n");
    let mut sender = sender(&server);
    server.terminate();
    server.wait_for_log("stopping");
    server.interrupt();
    let ended = server.wait();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    assert!(ended.took < AT_ONCE, "{:?}", ended.took);
    assert!(ended.logged.contains("second signal"), "{}", ended.logged);
    assert!(sender.reply().is_err(), "nothing was acknowledged");

    let server = Daemon::start(home.path(), &[]);
    assert_eq!(
        server.emails(BOB).len(),
        1,
        "what was acknowledged is there, and nothing half done"
    );
}

#[test]
fn a_stalled_transaction_holds_it_for_the_grace_period_only() {
    let home = tempfile::tempdir().unwrap();
    let server = Daemon::start(home.path(), &[]);
    server.create(BOB, None);
    let mut sender = sender(&server);
    server.terminate();
    let ended = server.wait();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    // Container runtimes kill after ten seconds.
    assert!(ended.took < Duration::from_secs(10), "{:?}", ended.took);
    assert!(sender.reply().is_err(), "nothing was acknowledged");
}

#[test]
fn a_terminal_stops_it_like_a_supervisor() {
    let home = tempfile::tempdir().unwrap();
    let server = Daemon::start(home.path(), &[]);
    server.interrupt();
    let ended = server.wait();
    assert!(ended.status.success() && ended.took < AT_ONCE, "{ended:?}");
    assert!(!home.path().join("run/restante/server.json").exists());
}

#[test]
fn an_open_stream_ends() {
    let home = tempfile::tempdir().unwrap();
    let server = Daemon::start(home.path(), &[]);
    let inbox = server.create(BOB, None);
    let mut stream = Peer::connect(server.http).unwrap();
    let path = format!("/api/events?inboxes={}", inbox["inboxHash"].as_str().unwrap());
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {}\r\nX-API-Key: {}\r\n\r\n",
        server.http, server.key
    );
    stream.send(request.as_bytes()).unwrap();
    assert_eq!(stream.line().unwrap(), "HTTP/1.1 200 OK");
    server.terminate();
    let ended = server.wait();
    assert!(ended.status.success() && ended.took < AT_ONCE, "{ended:?}");
    assert!(stream.rest().ends_with("0\r\n\r\n"), "the body ends as it should");
}
