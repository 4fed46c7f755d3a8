//! What a sender was told of its mail, held against what the server shows.

use std::thread;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::daemon::{self, Daemon, now};
use crate::http;
use crate::peer::{Peer, stored_ids, without_trace};

/// The inbox that all of it goes to.
pub(crate) const BOB: &str = "bob@restante.test";

/// A sender who keeps every answer.
#[derive(Default)]
pub(crate) struct Told {
    /// Acknowledged and not deleted, in order of arrival.
    stored: Vec<Stored>,
    /// Subjects that were answered 451 or 452.
    refused: Vec<String>,
}

struct Stored {
    id: String,
    subject: String,
}

impl Told {
    /// Sends a mail, which is taken or refused for now; the refusal.
    pub(crate) fn send(&mut self, server: &Daemon, subject: &str) -> Option<String> {
        let mut peer = Peer::greeted(server.smtp);
        peer.open_transaction(&[BOB]);
        let reply = send_chunk(&mut peer, &message(subject));
        assert_eq!(peer.say("NOOP"), "250 2.0.0 Ok", "the connection goes on");
        if reply.starts_with("250 ") {
            let id = stored_ids(&reply).remove(0);
            let subject = subject.to_owned();
            self.stored.push(Stored { id, subject });
            return None;
        }
        let is_for_now = reply.starts_with("451 4.3.0 ") || reply.starts_with("452 4.3.1 ");
        assert!(is_for_now, "{subject}: {reply}");
        self.refused.push(subject.to_owned());
        Some(reply)
    }

    /// Sends a mail that must be taken.
    pub(crate) fn deliver(&mut self, server: &Daemon, subject: &str) {
        assert_eq!(self.send(server, subject), None, "{subject}");
    }

    /// The path of the oldest mail.
    pub(crate) fn oldest(&self) -> String {
        path_of(&self.stored[0].id)
    }

    /// Deletes the oldest mail, if the server answers so.
    pub(crate) fn delete_oldest(&mut self, server: &Daemon, status: u16) {
        let _ = server.request("DELETE", &self.oldest(), None).expect_status(status);
        if status == 204 {
            self.stored.remove(0);
        }
    }

    /// Everything that was acknowledged is there, in order and whole; beside it there may only be what was refused.
    /// Gives back the ids that are there, which must be the same from then on.
    pub(crate) fn check(&self, server: &Daemon) -> Vec<String> {
        let newest_first = server.emails(BOB);
        let ids: Vec<_> = newest_first
            .iter()
            .rev()
            .map(|email| email["id"].as_str().unwrap().to_owned())
            .collect();
        let subject = |id: &String| self.stored.iter().find(|mail| mail.id == *id).map(|mail| &mail.subject);
        let acknowledged: Vec<_> = ids.iter().filter(|id| subject(id).is_some()).collect();
        assert_eq!(
            acknowledged,
            self.stored.iter().map(|mail| &mail.id).collect::<Vec<_>>()
        );
        for id in &ids {
            let whole = content(server, id);
            match subject(id) {
                Some(subject) => assert!(whole == message(subject), "{subject} has changed"),
                None => assert!(
                    self.refused.iter().any(|subject| message(subject) == whole),
                    "nobody sent {id}"
                ),
            }
        }
        ids
    }

    /// The same, and nothing else is there.
    pub(crate) fn check_exactly(&self, server: &Daemon) {
        assert_eq!(self.check(server).len(), self.stored.len(), "what was refused is shown");
    }
}

/// Sends a message as one chunk, which needs no dots; the reply to it.
pub(crate) fn send_chunk(peer: &mut Peer, message: &[u8]) -> String {
    peer.send(format!("BDAT {} LAST\r\n", message.len()).as_bytes())
        .unwrap();
    peer.send(message).unwrap();
    peer.reply().unwrap()
}

/// Some kilobytes that nothing else holds, or many if the subject says so.
fn message(subject: &str) -> Vec<u8> {
    let line = format!("{subject:-<64}\r\n");
    let lines = if subject.starts_with("large") { 2_000 } else { 60 };
    format!("Subject: {subject}\r\n\r\n{}", line.repeat(lines)).into_bytes()
}

fn path_of(id: &str) -> String {
    format!("/api/inboxes/{BOB}/emails/{id}")
}

fn content(server: &Daemon, id: &str) -> Vec<u8> {
    let record = server.get(&format!("{}/raw", path_of(id)));
    let raw = STANDARD.decode(record["raw"].as_str().unwrap()).unwrap();
    without_trace(&raw).to_vec()
}

/// The status of a health check, which needs no key.
pub(crate) fn health(server: &Daemon, what: &str) -> u16 {
    http::send("GET", &format!("http://{}/health/{what}", server.http), &[], b"").status
}

/// Waits until the server says that it takes mail.
pub(crate) fn wait_until_ready(server: &Daemon) {
    let deadline = now() + daemon::PATIENCE;
    while health(server, "ready") != 200 {
        assert!(now() < deadline, "the server does not recover");
        thread::yield_now();
    }
}
