//! STARTTLS (RFC 3207): what was said before it is forgotten, and what was injected into it is never answered.

use std::time::Duration;

use tokio::time::{sleep, timeout};

use crate::encryption::encrypted;
use crate::fixture::{Client, Fixture};

const TIMEOUT: &str = "421 4.4.2 localhost Timeout, closing connection\r\n";

#[tokio::test]
async fn the_session_begins_anew_and_the_mail_tells_its_encryption() {
    let (fixture, authority) = encrypted(|_| ()).await;
    let act = async |client: Client| {
        let mut client = authority.start_tls(client).await;
        client.say("MAIL FROM:<a@sender.test>", "503 5.5.1 Send HELO").await;
        client.say("EHLO again.test", "250 LIMITS RCPTMAX=100").await;
        client.say("STARTTLS", "503 5.5.1 TLS is active already").await;
        assert!(client.deliver().await.starts_with("250 2.0.0 Ok: msg_"));
        client.say("QUIT", "221 ").await;
        // A connection that ends without close_notify would be an error here.
        assert_eq!(client.rest().await.0, "");
    };
    let (ended, ()) = fixture.serve(act).await;
    ended.unwrap();
    let (_, source) = fixture.stored("bob@restante.test").await;
    for part in ["from again.test", "with ESMTPS\r\n", "(TLSv1.3 TLS_AES_256_GCM_SHA384)"] {
        assert!(source.contains(part), "{part} in {source}");
    }
}

#[tokio::test]
async fn a_transaction_in_clear_is_forgotten() {
    let (fixture, authority) = encrypted(|_| ()).await;
    let act = async |mut client: Client| {
        client.greet().await;
        client.say("MAIL FROM:<a@sender.test> SIZE=1000", "250 ").await;
        client.say("RCPT TO:<bob@restante.test>", "250 ").await;
        client.say("STARTTLS", "220 ").await;
        let mut client = authority.encrypt(client).await.unwrap();
        client.say("EHLO client.test", "250 ").await;
        client.say("DATA", "503 5.5.1 Send MAIL FROM first").await;
    };
    let (ended, ()) = fixture.serve(act).await;
    assert!(ended.is_err(), "the client went without a word");
}

#[tokio::test]
async fn commands_in_the_packet_of_starttls_are_never_answered() {
    let (fixture, authority) = encrypted(|_| ()).await;
    let act = async |mut client: Client| {
        client.greet().await;
        client
            .send(b"STARTTLS\r\nNOOP\r\nEHLO evil.test\r\nMAIL FROM:<a@evil.test>\r\nRC")
            .await
            .unwrap();
        assert!(client.reply().await.starts_with("220 2.0.0 "));
        let mut client = authority.encrypt(client).await.unwrap();
        // The first thing said under TLS is the answer to the first thing asked under TLS.
        client.say("HELP", "214 ").await;
        client.say("MAIL FROM:<a@sender.test>", "503 5.5.1 Send HELO").await;
        client.say("QUIT", "221 ").await;
        assert_eq!(client.rest().await.0, "");
    };
    fixture.serve(act).await.0.unwrap();
}

#[tokio::test]
async fn commands_in_clear_after_it_fail_the_handshake() {
    let (fixture, authority) = encrypted(|_| ()).await;
    let act = async |mut client: Client| {
        client.greet().await;
        client.say("STARTTLS", "220 ").await;
        client.send(b"NOOP\r\n").await.unwrap();
        assert!(authority.encrypt(client).await.is_err());
    };
    fixture.serve(act).await.0.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_handshake_has_10_seconds() {
    for sent in [&b""[..], b"\x16\x03\x01\x02\x00\x01"] {
        let (fixture, _) = encrypted(|_| ()).await;
        let act = async |mut client: Client| {
            client.greet().await;
            client.say("STARTTLS", "220 ").await;
            sleep(Duration::from_secs(5)).await;
            client.send(sent).await.unwrap();
            client.rest().await
        };
        let (ended, said) = fixture.serve(act).await;
        assert_eq!(said, (String::new(), 10), "{sent:?}");
        ended.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn deadlines_hold_under_tls_and_say_so_there() {
    let (fixture, authority) = encrypted(|_| ()).await;
    let idle = async |client: Client| authority.start_tls(client).await.rest().await;
    let (ended, said) = fixture.serve(idle).await;
    assert_eq!(said, (TIMEOUT.to_owned(), 300));
    ended.unwrap();

    let busy = async |client: Client| {
        sleep(Duration::from_secs(25)).await;
        let mut client = authority.start_tls(client).await;
        let drip = async {
            while client.send(b"NOOP\r\n").await.is_ok() {
                sleep(Duration::from_secs(100)).await;
            }
        };
        let _ = timeout(Duration::from_secs(1174), drip).await;
        client.rest().await
    };
    let (_, (said, after)) = fixture.serve(busy).await;
    assert!(said.ends_with(TIMEOUT), "{said}");
    assert_eq!(after, 1175, "20 minutes from the first byte on, not from the handshake");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stops_says_so_under_tls_and_waits_for_no_handshake() {
    let (fixture, authority) = encrypted(|_| ()).await;
    let act = async |client: Client| {
        let mut client = authority.start_tls(client).await;
        client.say("NOOP", "250 ").await;
        fixture.stop.cancel();
        client.rest().await
    };
    let (_, said) = fixture.serve(act).await;
    assert_eq!(said, ("421 4.3.2 localhost Server is shutting down\r\n".to_owned(), 0));

    let (fixture, _) = encrypted(|_| ()).await;
    let act = async |mut client: Client| {
        client.greet().await;
        client.say("STARTTLS", "220 ").await;
        fixture.stop.cancel();
        client.rest().await
    };
    let (_, said) = fixture.serve(act).await;
    assert_eq!(said, (String::new(), 0));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_nothing_under_tls_holds_nothing_for_long() {
    let (fixture, authority) = encrypted(|_| ()).await;
    let act = async |client: Client| {
        let mut client = authority.start_tls(client).await;
        let help = b"HELP\r\n".repeat(100);
        while client.send(&help).await.is_ok() {}
    };
    let served = fixture.serve(act);
    let (ended, ()) = timeout(Duration::from_secs(301), served).await.unwrap();
    ended.unwrap_err();
}

#[tokio::test]
async fn without_a_certificate_it_is_not_offered() {
    let fixture = Fixture::new().await;
    let act = async |mut client: Client| {
        assert!(client.reply().await.starts_with("220 "));
        client.say("EHLO client.test", "250 LIMITS").await;
        client.say("STARTTLS", "502 ").await;
        client.say("QUIT", "221 ").await;
    };
    fixture.serve(act).await.0.unwrap();
}
