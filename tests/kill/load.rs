//! Clients that work until the server is gone.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;
use std::time::Duration;

use crate::ADDRESSES;
use crate::daemon::{Daemon, now};
use crate::dice::Dice;
use crate::ledger::{Ledger, Wish};
use crate::peer::{Peer, stored_ids};

/// Clients that send at the same time.
const SENDERS: u32 = 4;
/// Longer than an acknowledgement takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// How a server ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// By SIGKILL.
    Killed,
    /// By SIGTERM, under which it ends what is under way.
    Asked,
}

/// Lets the clients work, and ends the server at a random point.
pub(crate) fn run(server: Daemon, end: End, ledger: &Ledger, dice: &mut Dice, round: u32) {
    let mails = if dice.below(5) == 0 {
        dice.below(1_500)
    } else {
        dice.below(200)
    };
    let then = Duration::from_micros(dice.number() % 20_000);
    let (rung, heard) = mpsc::sync_channel(1024);
    let (smtp, http, key) = (server.smtp, server.http, server.key.clone());
    thread::scope(|scope| {
        for client in 0..SENDERS {
            let (mut dice, rung) = (Dice::of(dice.number()), rung.clone());
            let name = format!("{round}-{client}");
            scope.spawn(move || -> io::Error { send_on(smtp, ledger, &mut dice, &name, &rung).unwrap_err() });
        }
        for wish in [Wish::Delete, Wish::Mark] {
            let (mut dice, key) = (Dice::of(dice.number()), &key);
            scope.spawn(move || -> io::Error { wish_on(http, key, ledger, &mut dice, wish).unwrap_err() });
        }
        drop(rung);
        wait(&heard, mails, then);
        let _ = match end {
            End::Killed => server.kill(),
            End::Asked => server.stop(),
        };
        // Whoever rings now must not wait for somebody to listen.
        drop(heard);
    });
}

/// Waits for so many acknowledged mails, and then for so long.
fn wait(heard: &Receiver<()>, mails: usize, then: Duration) {
    for _ in 0..mails {
        heard
            .recv_timeout(PATIENCE)
            .expect("mail is acknowledged while the server lives");
    }
    let until = now() + then;
    while heard.recv_timeout(until.saturating_duration_since(now())).is_ok() {}
}

/// Sends mail after mail; ends with the connection.
fn send_on(
    smtp: SocketAddr,
    ledger: &Ledger,
    dice: &mut Dice,
    name: &str,
    rung: &SyncSender<()>,
) -> io::Result<Infallible> {
    let mut peer = Peer::connect(smtp)?;
    peer.reply()?;
    peer.ask("EHLO client.test")?;
    for n in 0_u64.. {
        let recipients = recipients(dice);
        let message = message(dice, &format!("{name}-{n}"));
        ledger.sending(&message, &recipients);
        expect(&peer.ask("MAIL FROM:<alice@sender.test>")?)?;
        for recipient in &recipients {
            expect(&peer.ask(&format!("RCPT TO:<{recipient}>"))?)?;
        }
        let reply = peer.data(&message)?;
        ledger.stored(&message, stored_ids(&reply));
        // Nobody listens any more once the server is being killed.
        let _ = rung.send(());
    }
    unreachable!("the connection ends before the numbers do")
}

/// A server that stops says so between transactions only, and then nothing is under way.
fn expect(reply: &str) -> io::Result<()> {
    if reply.starts_with("421 4.3.2 ") {
        return Err(io::ErrorKind::ConnectionAborted.into());
    }
    assert!(reply.starts_with("250 "), "{reply}");
    Ok(())
}

/// One or several inboxes, plain and encrypted.
fn recipients(dice: &mut Dice) -> Vec<&'static str> {
    let first = dice.below(ADDRESSES.len());
    let count = if dice.below(3) == 0 { 2 + dice.below(2) } else { 1 };
    (0..count).map(|n| ADDRESSES[(first + n) % ADDRESSES.len()]).collect()
}

/// A message that was never sent before: mostly small, sometimes 75 KB.
fn message(dice: &mut Dice, name: &str) -> Vec<u8> {
    let lines = if dice.below(10) == 0 { 1_100 } else { dice.below(30) };
    let line = format!("{:064x}\r\n", dice.number());
    format!("Subject: {name}\r\n\r\n{}", line.repeat(lines)).into_bytes()
}

/// Makes one wish after the other; ends with the server.
fn wish_on(http: SocketAddr, key: &str, ledger: &Ledger, dice: &mut Dice, wish: Wish) -> io::Result<Infallible> {
    loop {
        let (request, wished) = match ledger.wish(dice, wish) {
            // As long as there is no mail, anything shows that the server is there.
            None => ("GET /api/check-key".to_owned(), None),
            Some((id, address)) => {
                let email = format!("/api/inboxes/{address}/emails/{id}");
                let request = match wish {
                    Wish::Delete => format!("DELETE {email}"),
                    Wish::Mark => format!("PATCH {email}/read"),
                };
                (request, Some(id))
            }
        };
        let mut connection = Peer::connect(http)?;
        let head = format!("{request} HTTP/1.1\r\nHost: {http}\r\nX-API-Key: {key}\r\nConnection: close\r\n\r\n");
        connection.send(head.as_bytes())?;
        let status = connection.line()?;
        assert!(status.starts_with("HTTP/1.1 20"), "{request}: {status}");
        if let Some(id) = wished {
            ledger.granted(&id, wish);
        }
    }
}
