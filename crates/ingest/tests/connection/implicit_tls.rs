//! Connections that begin with TLS (RFC 8314), over real sockets.

use restante_ingest::Encryption;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::encryption::encrypted;
use crate::listening::{Log, connect, listen};

#[tokio::test]
async fn mail_comes_under_tls_from_the_first_byte() {
    let (fixture, authority) = encrypted(|_| ()).await;
    listen(&fixture, Encryption::Implicit, async |address| {
        let mut client = authority.encrypt(connect(address).await).await.unwrap();
        assert!(client.reply().await.starts_with("220 localhost ESMTP"));
        client.say("EHLO client.test", "250 LIMITS RCPTMAX=100").await;
        client.say("STARTTLS", "503 5.5.1 TLS is active already").await;
        assert!(client.deliver().await.starts_with("250 2.0.0 Ok: msg_"));
        client.say("QUIT", "221 ").await;
        // A connection that ends without close_notify would be an error here.
        assert_eq!(client.rest().await.0, "");
    })
    .await;
    let (_, source) = fixture.stored("bob@restante.test").await;
    for part in ["([127.0.0.1])", "with ESMTPS\r\n", "(TLSv1.3 TLS_AES_256_GCM_SHA384)"] {
        assert!(source.contains(part), "{part} in {source}");
    }
}

#[tokio::test]
async fn plain_text_is_closed_with_one_line_in_the_log() {
    let log = Log::kept();
    for sent in [
        &b"EHLO client.test\r\n"[..],
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ] {
        let (fixture, _) = encrypted(|_| ()).await;
        listen(&fixture, Encryption::Implicit, async |address| {
            let mut client = connect(address).await;
            client.send(sent).await.unwrap();
            assert_eq!(client.heard().await, "");
        })
        .await;
        let lines = log.take();
        assert!(
            matches!(&lines[..], [line] if line.contains("plain text on the port of implicit TLS")),
            "{lines:?}"
        );
    }
}

#[tokio::test]
async fn a_health_check_leaves_no_line_in_the_log() {
    let log = Log::kept();
    let (fixture, _) = encrypted(|_| ()).await;
    listen(&fixture, Encryption::Implicit, async |address| {
        let mut client = TcpStream::connect(address).await.unwrap();
        client.shutdown().await.unwrap();
        assert_eq!(client.read(&mut [0]).await.unwrap(), 0, "the server closes, too");
    })
    .await;
    assert_eq!(log.take(), Vec::<String>::new());
}

#[tokio::test]
async fn who_does_not_trust_the_certificate_leaves_one_line_in_the_log() {
    let log = Log::kept();
    let ((fixture, _), (_, stranger)) = (encrypted(|_| ()).await, encrypted(|_| ()).await);
    listen(&fixture, Encryption::Implicit, async |address| {
        assert!(stranger.encrypt(connect(address).await).await.is_err());
    })
    .await;
    let lines = log.take();
    assert!(
        matches!(&lines[..], [line] if line.contains("a TLS handshake failed")),
        "{lines:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_greeting_has_10_seconds() {
    let log = Log::kept();
    for sent in [&b""[..], b"\x16\x03\x01\x02\x00\x01"] {
        let (fixture, _) = encrypted(|_| ()).await;
        listen(&fixture, Encryption::Implicit, async |address| {
            let mut client = connect(address).await;
            client.send(sent).await.unwrap();
            assert_eq!(client.rest().await, (String::new(), 10), "{sent:?}");
        })
        .await;
        let lines = log.take();
        assert!(
            matches!(&lines[..], [line] if line.contains("no TLS handshake in time")),
            "{lines:?}"
        );
    }
}

#[tokio::test]
async fn beyond_the_cap_there_is_no_word_in_clear_and_no_handshake() {
    let (fixture, authority) = encrypted(|parts| parts.limits.max_connections = 1).await;
    listen(&fixture, Encryption::Implicit, async |address| {
        let mut only = authority.encrypt(connect(address).await).await.unwrap();
        only.greet().await;
        assert_eq!(connect(address).await.heard().await, "");
        only.say("QUIT", "221 ").await;
    })
    .await;
}

#[tokio::test]
async fn what_a_client_still_sends_does_not_cost_it_the_last_reply() {
    let (fixture, authority) = encrypted(|_| ()).await;
    listen(&fixture, Encryption::Implicit, async |address| {
        for _ in 0..20 {
            let mut client = authority.encrypt(connect(address).await).await.unwrap();
            assert!(client.reply().await.starts_with("220 "));
            client
                .send(&[&b"QUIT\r\n"[..], &b"NOOP\r\n".repeat(5000)].concat())
                .await
                .unwrap();
            assert_eq!(client.rest().await.0, "221 2.0.0 Bye\r\n");
        }
    })
    .await;
}
