//! Mail of a real client, lettre.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lettre::address::{Address, Envelope};
use lettre::message::header::ContentType;
use lettre::message::{Attachment, Mailbox, Message, MultiPart, SinglePart};
use lettre::{SmtpTransport, Transport as _};
use restante_envelope::digest;
use serde_json::json;

use crate::harness::TestServer;
use crate::peer::{Peer, stored_ids};
use crate::stored;

const BOB: &str = "bob@restante.test";

/// Sends a built message; the ids in the 250.
fn send(client: &SmtpTransport, message: &Message) -> Vec<String> {
    let reply = client.send(message).unwrap();
    assert_eq!(reply.code().to_string(), "250");
    let text: Vec<_> = reply.message().map(|line| format!("250 {line}")).collect();
    stored_ids(&text.join("\n"))
}

/// What the client sends for a built message: it puts a CRLF of its own before the final dot.
fn on_the_wire(message: &Message) -> String {
    let bytes = [&message.formatted()[..], b"\r\n"].concat();
    String::from_utf8(bytes).unwrap()
}

/// What is stored, as text.
fn texts(server: &TestServer) -> Vec<String> {
    let messages = stored::messages(server, BOB).into_iter();
    messages.map(|message| String::from_utf8(message).unwrap()).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"))
}

fn with_bob() -> TestServer {
    let server = TestServer::start(&[]);
    server.create_plain(BOB);
    server
}

#[test]
fn html_text_and_attachments_arrive_whole() {
    let server = with_bob();
    let picture: Vec<u8> = (0..=255).cycle().take(70_000).collect();
    let body = MultiPart::alternative_plain_html("Text äöü\r\n".to_owned(), "<p>HTML &auml;</p>".to_owned());
    let octets = ContentType::parse("application/octet-stream").unwrap();
    let attached = Attachment::new("räksmörgås.bin".to_owned()).body(picture.clone(), octets);
    let log = Attachment::new("log.txt".to_owned()).body("a\r\nb\r\n".to_owned(), ContentType::TEXT_PLAIN);
    let message = Message::builder()
        .from("Alice <alice@sender.test>".parse().unwrap())
        .to("Bob <bob@restante.test>".parse().unwrap())
        .subject("All kinds")
        .multipart(MultiPart::mixed().multipart(body).singlepart(attached).singlepart(log))
        .unwrap();
    let ids = send(&server.smtp_client(), &message);

    assert_eq!(texts(&server), [on_the_wire(&message)]);
    let parsed = stored::field(&server, BOB, &ids[0], "parsed");
    assert_eq!(parsed["text"], "Text äöü\n");
    assert_eq!(parsed["html"], "<p>HTML &auml;</p>");
    assert_eq!(parsed["defects"], json!([]));
    let attachment = &parsed["attachments"][0];
    assert_eq!(attachment["filename"], "räksmörgås.bin");
    assert_eq!(attachment["size"], 70_000);
    assert_eq!(
        STANDARD.decode(attachment["content"].as_str().unwrap()).unwrap(),
        picture
    );
    let checksum = attachment["checksum"].as_str().unwrap();
    assert_eq!(checksum, hex(&digest::sha256(&picture)));
    let text = parsed["attachments"][1]["content"].as_str().unwrap();
    assert_eq!(
        STANDARD.decode(text).unwrap(),
        b"a\r\nb\r\n",
        "the client sends CRLF, and it stays"
    );
}

#[test]
fn an_international_sender_and_eight_bit_text_need_no_encoding() {
    let server = with_bob();
    let sender = Mailbox::new(Some("Jörg".to_owned()), "jörg@bücher.test".parse().unwrap());
    let part = SinglePart::builder()
        .header(ContentType::TEXT_PLAIN)
        .header(lettre::message::header::ContentTransferEncoding::EightBit)
        .body("Grüße 🎉\r\n".to_owned());
    let message = Message::builder()
        .from(sender)
        .to(BOB.parse().unwrap())
        .subject("Grüße 🎉");
    let message = message.singlepart(part).unwrap();
    assert!(!message.formatted().is_ascii(), "the client sends 8-bit text as it is");
    let ids = send(&server.smtp_client(), &message);

    let raw = stored::raw(&server, BOB, &ids[0]);
    let trace = String::from_utf8(raw).unwrap();
    assert!(trace.contains("with UTF8SMTP"), "{trace}");
    assert_eq!(texts(&server), [on_the_wire(&message)]);
    assert_eq!(stored::field(&server, BOB, &ids[0], "metadata")["subject"], "Grüße 🎉");
    assert_eq!(stored::field(&server, BOB, &ids[0], "parsed")["text"], "Grüße 🎉\n\n\n");
}

#[test]
fn many_mails_on_one_connection_arrive_in_order() {
    let server = with_bob();
    let client = server.smtp_client();
    let sent: Vec<_> = (0..20)
        .map(|n| {
            let message = Message::builder()
                .from("alice@sender.test".parse().unwrap())
                .to(BOB.parse().unwrap())
                .subject(format!("Number {n}"))
                .body(format!("{n}\r\n"))
                .unwrap();
            (send(&client, &message).remove(0), on_the_wire(&message))
        })
        .collect();
    let (ids, messages): (Vec<_>, Vec<_>) = sent.into_iter().unzip();
    assert_eq!(stored::ids(&server, BOB), ids);
    assert_eq!(texts(&server), messages);
}

#[test]
fn a_bounce_has_a_null_reverse_path() {
    let server = with_bob();
    let envelope = Envelope::new(None, vec![BOB.parse::<Address>().unwrap()]).unwrap();
    for (message, from) in [
        (
            "From: MAILER-DAEMON@mx.test\r\n\r\nbounced\r\n",
            "MAILER-DAEMON@mx.test",
        ),
        ("Subject: no sender at all\r\n\r\nbounced\r\n", "unknown"),
    ] {
        server.smtp_client().send_raw(&envelope, message.as_bytes()).unwrap();
        let id = stored::ids(&server, BOB).pop().unwrap();
        assert_eq!(stored::field(&server, BOB, &id, "metadata")["from"], from);
    }
}

#[test]
fn starttls_is_not_offered_without_a_certificate() {
    let server = with_bob();
    let mut peer = Peer::connect(server.smtp).unwrap();
    assert!(peer.reply().unwrap().starts_with("220 mx.restante.test ESMTP "));
    let extensions = peer.say("EHLO client.test");
    assert!(!extensions.contains("STARTTLS"), "{extensions}");
    assert!(peer.say("STARTTLS").starts_with("502 5.5.1 "));
    assert_eq!(peer.deliver(&[BOB], b"still here\r\n").len(), 1);
}

#[test]
fn the_trace_field_tells_the_session_and_no_other_recipient() {
    let server = with_bob();
    server.create_plain("carol@restante.test");
    let mut peer = Peer::greeted(server.smtp);
    peer.deliver(&["Bob+Tag@Restante.Test", "carol@restante.test"], b"hi\r\n");
    let id = stored::ids(&server, BOB).remove(0);
    let raw = String::from_utf8(stored::raw(&server, BOB, &id)).unwrap();
    for part in ["from client.test", "127.0.0.1", "by mx.restante.test", "with ESMTP"] {
        assert!(raw.contains(part), "{part} in {raw}");
    }
    assert!(!raw.contains("carol"), "{raw}");
    let metadata = stored::field(&server, BOB, &id, "metadata");
    assert_eq!(metadata["to"], json!(["bob+tag@restante.test"]));
    assert_eq!(metadata["from"], "alice@sender.test");
}

#[test]
fn a_body_that_is_not_mime_is_kept() {
    let server = with_bob();
    let mut peer = Peer::greeted(server.smtp);
    let message = b"Content-Type: multipart/mixed\r\nno header field\r\n\r\n\xff\xfe\r\n";
    let ids = peer.deliver(&[BOB], message);
    assert_eq!(stored::messages(&server, BOB), [message]);
    let parsed = stored::field(&server, BOB, &ids[0], "parsed");
    assert_ne!(parsed["defects"], json!([]));
}
