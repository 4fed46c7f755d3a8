//! Mail that is answered 250 and thrown away, and who hears of it.

use restante_envelope::DecapsulationKey;
use restante_testkit::receiver::Request;

use super::*;

/// A server whose webhooks may go to this machine.
fn start_hooked() -> TestServer {
    start(&[("WEBHOOK_ALLOW_HTTP", "true")])
}

fn hook(server: &TestServer, path: &str, receiver: &Receiver) {
    let events = ["email.received", "email.stored", "email.deleted"];
    let body = json!({ "url": receiver.url("/hook"), "events": events });
    server.request("POST", path, Some(&body)).expect_status(201);
}

/// The type of each event and the id of its email, sorted: deliveries of one email overtake each other.
fn told(requests: &[Request]) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let told = requests.iter().map(Request::json);
    let mut told: Vec<_> = told
        .map(|event| (text(&event["data"]["id"]), text(&event["type"])))
        .collect();
    told.sort();
    told
}

#[test]
fn what_is_thrown_away_is_answered_and_nobody_sees_it() {
    let server = start(&[]);
    let hash = server.create_plain(BOB);
    set(&server, BOB, &blackhole(false));
    let path = format!("/api/events?inboxes={hash}");
    let mut stream = EventStream::open(server.http, &path, &[("X-API-Key", API_KEY)]);
    let mut peer = Peer::greeted(server.smtp);
    let lost = peer.deliver(&[BOB], MAIL).remove(0);
    assert!(server.email_ids(BOB).is_empty());
    server
        .get(&format!("/api/inboxes/{BOB}/emails/{lost}"))
        .expect_status(404);
    let sync = server
        .get(&format!("/api/inboxes/{BOB}/sync"))
        .expect_status(200)
        .json();
    assert_eq!(sync["emailCount"], 0);
    clear(&server, BOB);
    let kept = peer.deliver(&[BOB], MAIL).remove(0);
    assert_eq!(stream.next_event().unwrap().id, kept, "the first that the stream tells");
    assert!(lost < kept && lost.len() == kept.len());
}

#[test]
fn webhooks_hear_that_it_was_received_and_nothing_more() {
    let receiver = Receiver::start();
    let server = start_hooked();
    let hash = server.create_plain(BOB);
    hook(&server, &format!("/api/inboxes/{BOB}/webhooks"), &receiver);
    set(&server, BOB, &blackhole(true));
    let mut peer = Peer::greeted(server.smtp);
    let lost = peer
        .deliver(&[BOB], b"From: Eve <eve@sender.test>\r\nSubject: lost\r\n\r\nbody\r\n")
        .remove(0);
    let event = receiver.block_for(1)[0].json();
    assert_eq!(event["type"], "email.received");
    let data = &event["data"];
    assert_eq!((&data["id"], &data["inboxId"]), (&json!(lost), &json!(hash)));
    assert_eq!(
        (&data["subject"], &data["textBody"]),
        (&json!("lost"), &json!("body\n"))
    );
    assert_eq!(data["from"]["address"], "eve@sender.test");
    assert!(data["auth"]["spf"].is_string(), "{data}");
    assert!(server.email_ids(BOB).is_empty());
    clear(&server, BOB);
    let kept = peer.deliver(&[BOB], MAIL).remove(0);
    let told = told(&receiver.block_for(3));
    let expected = [
        (&lost, "email.received"),
        (&kept, "email.received"),
        (&kept, "email.stored"),
    ];
    assert_eq!(told, expected.map(|(id, event)| (id.clone(), event.to_owned())));
}

#[test]
fn webhooks_hear_nothing_if_that_was_not_asked() {
    let receiver = Receiver::start();
    let server = start_hooked();
    server.create_plain(BOB);
    hook(&server, "/api/webhooks", &receiver);
    set(&server, BOB, &blackhole(false));
    let mut peer = Peer::greeted(server.smtp);
    peer.deliver(&[BOB], MAIL);
    clear(&server, BOB);
    let kept = peer.deliver(&[BOB], MAIL).remove(0);
    let told = told(&receiver.block_for(2));
    assert!(told.iter().all(|(id, _)| *id == kept), "{told:?}");
}

#[test]
fn without_room_to_tell_of_it_it_is_refused_like_mail_that_is_stored() {
    let server = start(&[
        ("WEBHOOK_ALLOW_HTTP", "true"),
        ("STORAGE_MIN_FREE_BYTES", "1000000000000000"),
    ]);
    let receiver = Receiver::start();
    server.create_plain(BOB);
    server.create_plain(EVE);
    hook(&server, "/api/webhooks", &receiver);
    set(&server, BOB, &blackhole(true));
    let recipients: [&[&str]; 4] = [&[EVE], &[BOB], &[EVE, BOB], &[BOB, EVE]];
    for to in recipients {
        let mut peer = Peer::greeted(server.smtp);
        peer.open_transaction(to);
        let reply = peer.data(MAIL).unwrap();
        assert_eq!(
            reply, "452 4.3.1 Insufficient system storage, try again later",
            "{to:?}"
        );
    }
    let rejections = server.get("/api/metrics").json()["rejections"].take();
    assert_eq!([&rejections["noRoom"], &rejections["storage"]], [&json!(4), &json!(0)]);
    // What webhooks are not told of needs no room.
    set(&server, BOB, &blackhole(false));
    assert!(answer(&server).unwrap().starts_with("250 "));
}

#[test]
fn a_neighbour_gets_the_mail_and_its_webhooks_hear_all() {
    let receiver = Receiver::start();
    let server = start_hooked();
    server.create_plain(BOB);
    let key = DecapsulationKey::generate();
    server.create_encrypted(EVE, &key);
    hook(&server, "/api/webhooks", &receiver);
    set(&server, EVE, &blackhole(true));
    let ids = Peer::greeted(server.smtp).deliver(&[EVE, BOB, "eve+tag@restante.test"], MAIL);
    assert_eq!(ids.len(), 2, "one for each inbox, in their order");
    assert!(server.email_ids(EVE).is_empty());
    assert_eq!(server.email_ids(BOB), ids[1..]);
    let mut expected = vec![
        (ids[0].clone(), "email.received".to_owned()),
        (ids[1].clone(), "email.received".to_owned()),
        (ids[1].clone(), "email.stored".to_owned()),
    ];
    expected.sort();
    assert_eq!(told(&receiver.block_for(3)), expected);
}
