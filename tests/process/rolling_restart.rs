//! Restarts while clients send, who try again when the server is away: each mail is there exactly once.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Condvar, Mutex};
use std::thread;

use crate::daemon::{Daemon, PATIENCE};
use crate::peer::{Peer, stored_ids};

const BOB: &str = "bob@restante.test";
const RESTARTS: usize = 3;
const SENDERS: usize = 4;
/// Mails of each sender between two restarts.
const BETWEEN: usize = 25;
const MAILS: usize = BETWEEN * (RESTARTS + 1);

/// Where the server was last: each start has ports of its own.
struct Place {
    smtp: Mutex<SocketAddr>,
    moved: Condvar,
}

impl Place {
    fn of(smtp: SocketAddr) -> Self {
        Self {
            smtp: Mutex::new(smtp),
            moved: Condvar::new(),
        }
    }

    fn set(&self, smtp: SocketAddr) {
        *self.smtp.lock().unwrap() = smtp;
        self.moved.notify_all();
    }

    /// Waits for a server that is another one than the last.
    fn other_than(&self, last: Option<SocketAddr>) -> SocketAddr {
        let is_known = |smtp: &mut SocketAddr| Some(*smtp) == last;
        let guard = self.smtp.lock().unwrap();
        let (guard, waited) = self.moved.wait_timeout_while(guard, PATIENCE, is_known).unwrap();
        assert!(!waited.timed_out(), "the server comes back");
        *guard
    }
}

/// A client with a connection, or without one when it has just lost it.
struct Client<'a> {
    place: &'a Place,
    last: Option<SocketAddr>,
    peer: Option<Peer>,
}

impl Client<'_> {
    /// Sends a mail, to the next server if this one leaves; its id.
    fn deliver(&mut self, message: &[u8]) -> String {
        loop {
            if let Some(id) = self.peer.as_mut().and_then(|peer| attempt(peer, message)) {
                return id;
            }
            let smtp = self.place.other_than(self.last);
            self.last = Some(smtp);
            self.peer = connect(smtp);
        }
    }
}

/// None if the server has gone since.
fn connect(smtp: SocketAddr) -> Option<Peer> {
    let mut peer = Peer::connect(smtp).ok()?;
    let greeting = peer.reply().ok()?;
    let extensions = peer.ask("EHLO client.test").ok()?;
    (greeting.starts_with("220 ") && extensions.starts_with("250-")).then_some(peer)
}

/// One transaction; none if the server takes leave before it begins. Once it has begun it must be ended.
fn attempt(peer: &mut Peer, message: &[u8]) -> Option<String> {
    let begun = peer.ask("MAIL FROM:<alice@sender.test>").ok()?;
    if begun.starts_with("421 4.3.2 ") {
        return None;
    }
    assert!(begun.starts_with("250 "), "{begun}");
    let recipient = peer.say(&format!("RCPT TO:<{BOB}>"));
    assert!(recipient.starts_with("250 "), "{recipient}");
    let reply = peer.data(message).expect("a transaction that has begun is ended");
    Some(stored_ids(&reply).remove(0))
}

/// Sends all mails of a client; their ids.
fn send_all(place: &Place, client: usize, rung: &SyncSender<()>) -> Vec<String> {
    let mut sender = Client {
        place,
        last: None,
        peer: None,
    };
    (0..MAILS)
        .map(|n| {
            let id = sender.deliver(format!("Subject: mail {n} of {client}\r\n\r\n{n}\r\n").as_bytes());
            rung.send(()).unwrap();
            id
        })
        .collect()
}

/// Stops the server and starts it again, each time after so many mails that were acknowledged.
fn restart_again_and_again(mut server: Daemon, home: &Path, place: &Place, heard: &Receiver<()>) -> Daemon {
    for _ in 0..RESTARTS {
        for _ in 0..SENDERS * BETWEEN {
            heard.recv_timeout(PATIENCE).expect("mail is acknowledged");
        }
        server.stop();
        server = Daemon::start(home, &[]);
        place.set(server.smtp);
    }
    server
}

#[test]
fn mail_of_clients_who_try_again_arrives_exactly_once() {
    let home = tempfile::tempdir().unwrap();
    let server = Daemon::start(home.path(), &[]);
    server.create(BOB, None);
    let place = Place::of(server.smtp);
    let (rung, heard) = mpsc::sync_channel(SENDERS * MAILS);
    let (server, told) = thread::scope(|scope| {
        let send = |client| {
            let (place, rung) = (&place, rung.clone());
            scope.spawn(move || send_all(place, client, &rung))
        };
        let senders: Vec<_> = (0..SENDERS).map(send).collect();
        let server = restart_again_and_again(server, home.path(), &place, &heard);
        let told: Vec<_> = senders.into_iter().flat_map(|sender| sender.join().unwrap()).collect();
        (server, told)
    });
    assert_eq!(told.len(), SENDERS * MAILS);
    let shown = server.emails(BOB);
    let shown: BTreeSet<_> = shown.iter().map(|email| email["id"].as_str().unwrap()).collect();
    let told: BTreeSet<_> = told.iter().map(String::as_str).collect();
    assert_eq!(shown, told);
}
