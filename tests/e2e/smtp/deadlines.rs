//! Clients that do not go on.

use crate::harness::TestServer;
use crate::peer::{Peer, stored_ids};

const TIMEOUT: &str = "421 4.4.2 mx.restante.test Timeout, closing connection\r\n";

#[test]
fn an_idle_client_is_told_to_leave_and_one_in_its_message_is_not() {
    let server = TestServer::start(&[("SMTP_SESSION_TIMEOUT", "1000")]);
    server.create_plain("bob@restante.test");
    let mut sender = Peer::greeted(server.smtp);
    sender.open_transaction(&["bob@restante.test"]);
    assert!(sender.say("DATA").starts_with("354 "));
    let mut idle = Peer::greeted(server.smtp);
    let mut undecided = Peer::greeted(server.smtp);
    undecided.open_transaction(&["bob@restante.test"]);
    assert_eq!(idle.rest(), TIMEOUT);
    assert_eq!(undecided.rest(), TIMEOUT);
    // Both began to wait after the sender did.
    sender.send(b"slow\r\n.\r\n").unwrap();
    assert_eq!(stored_ids(&sender.reply().unwrap()).len(), 1);
}

#[test]
fn a_client_that_reads_nothing_hinders_no_other() {
    let server = TestServer::start(&[]);
    server.create_plain("bob@restante.test");
    let mut deaf = Peer::connect(server.smtp).unwrap();
    // As much as the sockets hold, and nothing is read: at some point the server stops reading too.
    deaf.give_up_writing_after(std::time::Duration::from_millis(200));
    let help = b"HELP\r\n".repeat(10_000);
    while deaf.send(&help).is_ok() {}
    assert_eq!(
        Peer::greeted(server.smtp)
            .deliver(&["bob@restante.test"], b"hi\r\n")
            .len(),
        1
    );
}
