//! What a client may not have, and that it goes on afterwards.

use std::sync::Arc;

use restante_envelope::DecapsulationKey;
use restante_model::SystemClock;

use crate::harness::TestServer;
use crate::peer::{Peer, stored_ids, stuffed};
use crate::stored;

const BOB: &str = "bob@restante.test";
const NO_ROOM: &str = "452 4.3.1 Insufficient system storage, try again later";

fn with_bob(variables: &[(&str, &str)]) -> TestServer {
    let server = TestServer::start(variables);
    server.create_plain(BOB);
    server
}

#[test]
fn a_message_over_the_limit_is_refused_and_the_next_is_taken() {
    let server = with_bob(&[("SMTP_MAX_MESSAGE_SIZE", "100000")]);
    let too_large = "552 5.3.4 Message too large: the limit is 100000 bytes";
    let line = [&b"x".repeat(98)[..], b"\r\n"].concat();
    let largest = line.repeat(1000);
    let mut peer = Peer::greeted(server.smtp);

    assert_eq!(peer.say("MAIL FROM:<alice@sender.test> SIZE=100001"), too_large);
    assert_eq!(peer.deliver(&[BOB], b"after SIZE\r\n").len(), 1);

    peer.open_transaction(&[BOB]);
    assert_eq!(peer.data(&[&largest[..], b"\r\n"].concat()).unwrap(), too_large);
    peer.open_transaction(&[BOB]);
    assert_eq!(peer.data(&line.repeat(30_000)).unwrap(), too_large);
    assert_eq!(peer.deliver(&[BOB], b"after DATA\r\n").len(), 1);

    peer.open_transaction(&[BOB]);
    peer.send(&[b"BDAT 100000\r\n", &largest[..]].concat()).unwrap();
    assert_eq!(peer.reply().unwrap(), "250 2.0.0 100000 octets received so far");
    peer.send(b"BDAT 1 LAST\r\nx").unwrap();
    assert_eq!(peer.reply().unwrap(), too_large);
    assert_eq!(peer.deliver(&[BOB], &largest).len(), 1);
    let expected = [&b"after SIZE\r\n"[..], b"after DATA\r\n", &largest];
    assert_eq!(stored::messages(&server, BOB), expected);
}

#[test]
fn a_full_budget_refuses_for_now_and_nobody_waits() {
    let server = with_bob(&[
        ("SMTP_MAX_MESSAGE_SIZE", "100000"),
        ("SMTP_MAX_INFLIGHT_BYTES", "200000"),
    ]);
    let declare = "MAIL FROM:<alice@sender.test> SIZE=100000";
    let mut holders = [Peer::greeted(server.smtp), Peer::greeted(server.smtp)];
    for holder in &mut holders {
        assert_eq!(holder.say(declare), "250 2.1.0 Ok");
    }
    let mut other = Peer::greeted(server.smtp);
    assert_eq!(other.say(declare), NO_ROOM);

    // Without SIZE the room is asked for as the message grows; all of it is read before the answer.
    other.open_transaction(&[BOB]);
    assert_eq!(other.data(&b"x\r\n".repeat(30_000)).unwrap(), NO_ROOM);

    assert_eq!(holders[0].say("RSET"), "250 2.0.0 Ok");
    assert_eq!(other.deliver(&[BOB], &b"x\r\n".repeat(30_000)).len(), 1);
    assert_eq!(holders[1].say(&format!("RCPT TO:<{BOB}>")), "250 2.1.5 Ok");
    assert_eq!(stored_ids(&holders[1].data(b"declared more\r\n").unwrap()).len(), 1);
}

#[test]
fn what_no_memory_would_do_for_is_refused_for_good() {
    let server = TestServer::start(&[
        ("SMTP_MAX_MESSAGE_SIZE", "100000"),
        ("SMTP_MAX_INFLIGHT_BYTES", "200000"),
    ]);
    let sealed = ["a@restante.test", "b@restante.test", "c@restante.test"];
    for address in sealed {
        server.create_encrypted(address, &DecapsulationKey::generate());
    }
    let large = b"x\r\n".repeat(20_000);
    let mut peer = Peer::greeted(server.smtp);
    peer.open_transaction(&sealed);
    assert_eq!(
        peer.data(&large).unwrap(),
        "552 5.3.4 Message too large for so many encrypted inboxes, send it to fewer at a time"
    );
    for address in sealed {
        assert_eq!(peer.deliver(&[address], &large).len(), 1);
    }
}

#[test]
fn what_a_broken_connection_held_is_free_again() {
    let server = with_bob(&[
        ("SMTP_MAX_MESSAGE_SIZE", "100000"),
        ("SMTP_MAX_INFLIGHT_BYTES", "200000"),
    ]);
    for _ in 0..20 {
        let mut peer = Peer::greeted(server.smtp);
        let granted = peer.say("MAIL FROM:<alice@sender.test> SIZE=100000");
        assert!(["250 2.1.0 Ok", NO_ROOM].contains(&granted.as_str()), "{granted}");
        peer.finish();
        assert_eq!(peer.rest(), "");
    }
    let mut peer = Peer::greeted(server.smtp);
    peer.open_transaction(&[BOB]);
    let _ = peer.ask("DATA");
    peer.send(&stuffed(&b"x\r\n".repeat(30_000))).unwrap();
    assert_eq!(stored_ids(&peer.reply().unwrap()).len(), 1);
}

#[test]
fn connections_beyond_the_cap_hear_421_until_one_ends() {
    for variable in ["SMTP_MAX_CONNECTIONS", "SMTP_MAX_CONNECTIONS_PER_IP"] {
        let server = TestServer::start(&[(variable, "2")]);
        let first = Peer::greeted(server.smtp);
        let mut second = Peer::greeted(server.smtp);
        let mut third = Peer::connect(server.smtp).unwrap();
        assert_eq!(
            third.rest(),
            "421 4.7.0 Too many connections, try again later\r\n",
            "{variable}"
        );
        assert_eq!(second.say("NOOP"), "250 2.0.0 Ok");
        drop(first);
        // The server learns of the end in its own time.
        let greetings = std::iter::repeat_with(|| Peer::connect(server.smtp).and_then(|mut peer| peer.reply()));
        let mut greetings = greetings.map(Result::unwrap).take(10_000);
        assert!(greetings.any(|greeting| greeting.starts_with("220 ")), "{variable}");
    }
}

#[test]
fn a_client_beyond_the_cap_that_talks_first_hears_why_too() {
    let server = TestServer::start(&[("SMTP_MAX_CONNECTIONS", "1")]);
    let _only = Peer::greeted(server.smtp);
    for _ in 0..50 {
        let mut hasty = Peer::connect(server.smtp).unwrap();
        // What the server has not read when it closes would reset the connection and could overtake its answer.
        let _ = hasty.send(b"EHLO client.test\r\nMAIL FROM:<a@sender.test>\r\n");
        assert_eq!(hasty.rest(), "421 4.7.0 Too many connections, try again later\r\n");
    }
}

#[test]
fn recipients_beyond_the_cap_are_for_later() {
    let server = with_bob(&[("SMTP_MAX_RECIPIENTS", "1")]);
    server.create_plain("carol@restante.test");
    let mut peer = Peer::greeted(server.smtp);
    peer.open_transaction(&[BOB]);
    assert_eq!(
        peer.say("RCPT TO:<carol@restante.test>"),
        "452 4.5.3 Too many recipients"
    );
    assert_eq!(stored_ids(&peer.data(b"hi\r\n").unwrap()).len(), 1);
}

#[test]
fn below_the_floor_of_free_disk_mail_is_refused_and_earlier_mail_stays() {
    let server = with_bob(&[]);
    let mut peer = Peer::greeted(server.smtp);
    peer.deliver(&[BOB], b"before\r\n");
    drop(peer);
    let floor = (1_u64 << 49).to_string();
    let data = server.stop();
    let server = TestServer::start_in(data, &[("STORAGE_MIN_FREE_BYTES", &floor)], Arc::new(SystemClock));
    let mut peer = Peer::greeted(server.smtp);
    peer.open_transaction(&[BOB]);
    assert_eq!(peer.data(b"no room\r\n").unwrap(), NO_ROOM);
    assert_eq!(stored::messages(&server, BOB), [b"before\r\n"]);
    let id = stored::ids(&server, BOB).remove(0);
    let _ = server
        .request("DELETE", &format!("/api/inboxes/{BOB}/emails/{id}"), None)
        .expect_status(204);
}
