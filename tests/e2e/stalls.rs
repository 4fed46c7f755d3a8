//! Each deadline of the mail side is a setting.

use crate::harness::TestServer;
use crate::peer::Peer;

/// The only deadline that is near; every other one is beyond the patience of the peer.
const NEAR_MS: &str = "300";

/// What a client says, after the greeting, before it stalls.
type Before = fn(&mut Peer);

fn nothing(_: &mut Peer) {}

fn hello(peer: &mut Peer) {
    peer.say("EHLO client.test");
}

fn half_a_message(peer: &mut Peer) {
    hello(peer);
    peer.open_transaction(&["bob@restante.test"]);
    assert!(peer.say("DATA").starts_with("354 "));
    peer.send(b"Subject: half\r\n").unwrap();
}

#[test]
fn a_client_that_stalls_meets_the_deadline_of_where_it_is() {
    for (variable, before) in [
        ("SMTP_FIRST_COMMAND_TIMEOUT", nothing as Before),
        ("SMTP_SESSION_TIMEOUT", hello),
        ("SMTP_DATA_TIMEOUT", half_a_message),
        ("SMTP_MAX_SESSION_DURATION", nothing),
    ] {
        let server = TestServer::start(&[(variable, NEAR_MS)]);
        server.create_plain("bob@restante.test");
        let mut peer = Peer::connect(server.smtp).unwrap();
        assert!(peer.reply().unwrap().starts_with("220 "));
        before(&mut peer);
        let farewell = peer.rest();
        assert!(farewell.starts_with("421 4.4.2 "), "{variable}: {farewell}");
    }
}
