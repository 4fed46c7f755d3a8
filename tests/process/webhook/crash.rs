//! `kill -9`: what was acknowledged is told, at least once to everybody who wants to hear of it.

use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread;

use restante_testkit::receiver::{Answer, Receiver, Stage};

use super::{ARRIVAL, hook, id_of, must_tell_arrivals, start, told, wait_for_arrivals};
use crate::peer::{Peer, stored_ids};

const BOB: &str = "bob@restante.test";
const EVE: &str = "eve@restante.test";
const BOTH: [&str; 2] = [BOB, EVE];

/// An attempt ends with the server, never by itself.
const VARIABLES: &[(&str, &str)] = &[("WEBHOOK_TIMEOUT", "60000")];

/// Acknowledged transactions after which the server is killed, while the next ones are under way.
const KILLS: [usize; 4] = [1, 12, 30, 45];

/// Sends until the server is gone; the ids of what it acknowledged, of each inbox, as they come.
fn send_until_killed(smtp: SocketAddr, acknowledged: &mpsc::SyncSender<Vec<String>>) {
    let mut peer = Peer::greeted(smtp);
    for number in 0.. {
        let mut granted = |command: &str| peer.ask(command).is_ok_and(|reply| reply.starts_with("250 "));
        let opened = granted("MAIL FROM:<alice@sender.test>")
            && BOTH.iter().all(|address| granted(&format!("RCPT TO:<{address}>")));
        if !opened {
            return;
        }
        let message = format!("Subject: number {number}\r\n\r\ntext\r\n");
        match peer.data(message.as_bytes()) {
            Ok(reply) if reply.starts_with("250") => acknowledged.send(stored_ids(&reply)).unwrap(),
            Ok(_) | Err(_) => return,
        }
    }
}

#[test]
fn what_was_acknowledged_is_told_after_any_number_of_kills() {
    let home = tempfile::tempdir().unwrap();
    let (steady, silent) = (Receiver::start(), Receiver::start());
    // All of its attempts are under way when the server dies.
    silent.always(Answer::stalled(Stage::BeforeStatus));
    let server = start(home.path(), VARIABLES);
    for address in BOTH {
        server.create(address, None);
    }
    let global = id_of(&hook(&server, "/api/webhooks", &steady.url("/all"), &ARRIVAL));
    let of_eve = format!("/api/inboxes/{EVE}/webhooks");
    let of_eve = id_of(&hook(&server, &of_eve, &silent.url("/eve"), &ARRIVAL));

    let mut acknowledged: Vec<Vec<String>> = Vec::new();
    let mut server = Some(server);
    for kill in KILLS {
        let running = server.take().unwrap_or_else(|| start(home.path(), VARIABLES));
        let smtp = running.smtp;
        let (sender, acknowledgements) = mpsc::sync_channel(1_000);
        thread::scope(|scope| {
            scope.spawn(move || send_until_killed(smtp, &sender));
            acknowledged.extend(acknowledgements.iter().take(kill));
            running.kill();
            acknowledged.extend(acknowledgements);
        });
    }
    assert!(acknowledged.len() >= KILLS.iter().sum());

    let all: Vec<String> = acknowledged.iter().flatten().cloned().collect();
    let eves: Vec<String> = acknowledged.iter().map(|ids| ids[1].clone()).collect();
    silent.always(Answer::status(204));
    let server = start(home.path(), VARIABLES);
    for (receiver, emails, webhook) in [(&steady, &all, global), (&silent, &eves, of_eve)] {
        wait_for_arrivals(receiver, emails);
        must_tell_arrivals(webhook, emails, &told(receiver));
    }
    // Nobody hears of the mail of another inbox.
    let bobs: Vec<&String> = acknowledged.iter().map(|ids| &ids[0]).collect();
    assert!(told(&silent).iter().all(|told| !bobs.contains(&&told.email)));
    server.stop();
}

/// Killed before anything is dispatched or attempted: the receiver is not even there.
#[test]
fn what_nobody_could_hear_is_told_when_somebody_listens_again() {
    let home = tempfile::tempdir().unwrap();
    let receiver = Receiver::start();
    let (address, url) = (receiver.address(), receiver.url("/"));
    let server = start(home.path(), VARIABLES);
    server.create(BOB, None);
    let webhook = id_of(&hook(&server, "/api/webhooks", &url, &ARRIVAL));
    receiver.always(Answer::stalled(Stage::BeforeStatus));
    let mut peer = Peer::greeted(server.smtp);
    let emails: Vec<_> = (0..20)
        .flat_map(|_| peer.deliver(&[BOB], b"Subject: a\r\n\r\n"))
        .collect();
    drop(peer);
    server.kill();
    drop(receiver);

    let receiver = Receiver::start_at(address);
    let server = start(home.path(), VARIABLES);
    receiver.block_for(2 * emails.len());
    let told = told(&receiver);
    must_tell_arrivals(webhook, &emails, &told);
    assert!(told.iter().all(|told| told.attempt == 1), "{told:?}");
    server.stop();
}
