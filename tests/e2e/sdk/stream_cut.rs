//! The live subscription over connections that break at random: every email arrives exactly once.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use restante_client::{Client, Encryption, Existing, IfKnown, Inbox, ReconnectSettings, RetrySettings, Strategy};
use restante_testkit::cutter::Cutter;

use super::stream::next;
use super::{builder, run, wanted};
use crate::dice::Dice;
use crate::harness::TestServer;
use crate::harness::mail::EMPTY;
use crate::peer::Peer;

/// SMTP connections that send at the same time.
const SENDERS: usize = 5;

/// A client that does not stay away for long.
fn hasty(url: &str, strategy: Strategy) -> Client {
    let connect_timeout = match strategy {
        // Soon enough that it polls, too.
        Strategy::Auto => Duration::from_millis(50),
        _ => Duration::from_secs(5),
    };
    builder(url, strategy)
        .reconnect(ReconnectSettings {
            delay: Duration::from_millis(5),
            max_attempts: 20,
            connect_timeout,
        })
        .retry(RetrySettings {
            max_retries: 3,
            delay: Duration::from_millis(5),
        })
        .build()
        .unwrap()
}

/// Sends from several connections, each to all inboxes in turn; the ids that the server acknowledged.
fn send(smtp: SocketAddr, inboxes: &[Inbox], mails: usize) -> Vec<JoinHandle<Vec<String>>> {
    let addresses: Vec<_> = inboxes.iter().map(|inbox| inbox.address().to_owned()).collect();
    let sender = |_| {
        let addresses = addresses.clone();
        thread::spawn(move || {
            let mut peer = Peer::greeted(smtp);
            let recipients = addresses.iter().cycle().take(mails / SENDERS);
            recipients
                .flat_map(|address| peer.deliver(&[address], EMPTY.as_bytes()))
                .collect()
        })
    };
    (0..SENDERS).map(sender).collect()
}

/// Subscribes through a proxy that cuts, while the mails are sent; every third email is deleted as soon as it is seen.
fn exactly_once(strategy: Strategy, mode: Encryption, mails: usize) {
    let mut dice = Dice::thrown();
    let server = TestServer::start(&[]);
    let cutter = Cutter::start(server.http, dice.number()).unwrap();
    run(async {
        let direct = hasty(&format!("http://{}", server.http), strategy);
        let watcher = hasty(&format!("http://{}", cutter.address()), strategy);
        let mut inboxes = Vec::new();
        for name in ["ann", "bob", "eve"] {
            let wanted = wanted(mode).address(format!("{name}@restante.test"));
            let inbox = direct.create_inbox(wanted).await.unwrap();
            inboxes.push(watcher.import_inbox(inbox.export(), IfKnown::Refuse).unwrap());
        }
        let mut watch = watcher.watch(&inboxes, Existing::Skip).await.unwrap();
        cutter.begin();
        let senders = send(server.smtp, &inboxes, mails);
        let mut heard = BTreeMap::<String, u32>::new();
        while heard.len() < mails {
            let arrival = next(&mut watch).await.unwrap().unwrap();
            *heard.entry(arrival.email.id.to_string()).or_default() += 1;
            if heard.len().is_multiple_of(3) {
                let inbox = direct.inbox(arrival.inbox.address()).await.unwrap();
                inbox.delete_email(arrival.email.id).await.unwrap();
            }
        }
        // One more connection, which tells all that the last one could have told twice.
        cutter.calm();
        cutter.cut();
        let mut sent: Vec<_> = senders.into_iter().flat_map(|sender| sender.join().unwrap()).collect();
        for inbox in &inboxes {
            let last = server.send_many(inbox.address(), 1).remove(0);
            sent.push(last.clone());
            loop {
                let id = next(&mut watch).await.unwrap().unwrap().email.id.to_string();
                *heard.entry(id.clone()).or_default() += 1;
                if id == last {
                    break;
                }
            }
        }
        sent.sort_unstable();
        assert_eq!(heard.keys().collect::<Vec<_>>(), sent.iter().collect::<Vec<_>>());
        let doubled: Vec<_> = heard.iter().filter(|(_, times)| **times != 1).collect();
        assert!(doubled.is_empty(), "{doubled:?}");
    });
    println!("{} cuts", cutter.cuts());
    assert!(cutter.cuts() >= 5, "the proxy did cut: {}", cutter.cuts());
}

#[test]
fn a_thousand_mails_arrive_once_each_over_a_stream_that_is_cut() {
    exactly_once(Strategy::Sse, Encryption::Plain, 1000);
}

#[test]
fn a_thousand_mails_arrive_once_each_with_auto_over_connections_that_are_cut() {
    exactly_once(Strategy::Auto, Encryption::Plain, 1000);
}

#[test]
fn a_thousand_mails_arrive_once_each_by_polling_over_connections_that_are_cut() {
    exactly_once(Strategy::Polling, Encryption::Plain, 1000);
}

#[test]
fn sealed_mails_arrive_once_each_over_connections_that_are_cut() {
    for strategy in [Strategy::Sse, Strategy::Auto, Strategy::Polling] {
        exactly_once(strategy, Encryption::Encrypted, 120);
    }
}
