//! Clients behind a proxy that says who they are.

use std::time::Duration;

use restante_ingest::{Encryption, IngestParts, MailRate};

use crate::encryption::encrypted;
use crate::fixture::{Client, Fixture};
use crate::listening::{Log, connect, listen};

const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
/// LOCAL: a health check of the proxy.
const LOCAL: &[u8] = b"\x20\x00\x00\x00";
/// PROXY, TCP over IPv6, of `2001:db8::7`, with an extension of one byte.
const IPV6: &[u8] = b"\x21\x21\x00\x28\
    \x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x07\
    \x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x19\
    \x9c\x40\x00\x19\x04\x00\x01x";

/// PROXY, TCP over IPv4, of 203.0.113.`host`.
fn ipv4(host: u8) -> Vec<u8> {
    [
        b"\x21\x11\x00\x0c\xcb\x00\x71",
        &[host][..],
        b"\xc0\x00\x02\x01\x9c\x40\x00\x19",
    ]
    .concat()
}

fn behind_loopback(parts: &mut IngestParts) {
    parts.proxy_networks = vec!["127.0.0.0/8".parse().unwrap()];
}

/// Connects and sends a header.
async fn proxied(address: std::net::SocketAddr, header: &[u8]) -> Client {
    let mut client = connect(address).await;
    client.send(&[SIGNATURE, header].concat()).await.unwrap();
    client
}

#[tokio::test]
async fn the_client_is_whom_the_proxy_names() {
    for (header, shown) in [
        (&ipv4(7)[..], "([203.0.113.7])"),
        (IPV6, "([IPv6:2001:db8::7])"),
        (LOCAL, "([127.0.0.1])"),
    ] {
        let fixture = Fixture::with(behind_loopback).await;
        listen(&fixture, Encryption::OnRequest, async |address| {
            let mut client = proxied(address, header).await;
            client.greet().await;
            assert!(client.deliver().await.starts_with("250 "));
            client.say("QUIT", "221 ").await;
        })
        .await;
        let (_, source) = fixture.stored("bob@restante.test").await;
        assert!(source.contains(shown), "{shown} in {source}");
    }
}

#[tokio::test]
async fn the_header_comes_before_implicit_tls() {
    let (fixture, authority) = encrypted(behind_loopback).await;
    listen(&fixture, Encryption::Implicit, async |address| {
        let mut client = authority.encrypt(proxied(address, &ipv4(7)).await).await.unwrap();
        client.greet().await;
        assert!(client.deliver().await.starts_with("250 "));
        client.say("QUIT", "221 ").await;
    })
    .await;
    let (_, source) = fixture.stored("bob@restante.test").await;
    assert!(source.contains("([203.0.113.7])"), "{source}");
}

#[tokio::test]
async fn without_a_header_the_connection_is_closed_without_a_word() {
    let log = Log::kept();
    for sent in [
        &b"EHLO client.test\r\n"[..],
        b"PROXY TCP4 203.0.113.7 192.0.2.1 40000 25\r\n",
        b"\r\n\r\n\0\r\nQUIT\n\x21\x12\x00\x0c............",
    ] {
        let fixture = Fixture::with(behind_loopback).await;
        listen(&fixture, Encryption::OnRequest, async |address| {
            let mut client = connect(address).await;
            client.send(sent).await.unwrap();
            assert_eq!(client.heard().await, "");
        })
        .await;
        let lines = log.take();
        let helpful =
            |line: &str| line.contains("PROXY protocol v2") && line.contains("SVC_SMTP_PROXY_PROTOCOL_NETWORKS");
        assert!(matches!(&lines[..], [line] if helpful(line)), "{lines:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_header_has_10_seconds_or_less() {
    let log = Log::kept();
    for (sent, first_command, within) in [(&b""[..], 30, 10), (&SIGNATURE[..5], 30, 10), (b"", 3, 3)] {
        let limited = |parts: &mut IngestParts| {
            behind_loopback(parts);
            parts.limits.first_command = Duration::from_secs(first_command);
        };
        let fixture = Fixture::with(limited).await;
        listen(&fixture, Encryption::OnRequest, async |address| {
            let mut client = connect(address).await;
            client.send(sent).await.unwrap();
            assert_eq!(client.rest().await, (String::new(), within));
        })
        .await;
        assert_eq!(log.take().len(), 1);
    }
}

#[tokio::test]
async fn from_elsewhere_a_header_is_no_command() {
    let elsewhere = |parts: &mut IngestParts| parts.proxy_networks = vec!["192.0.2.0/24".parse().unwrap()];
    let fixture = Fixture::with(elsewhere).await;
    listen(&fixture, Encryption::OnRequest, async |address| {
        let mut client = proxied(address, &ipv4(7)).await;
        assert!(client.reply().await.starts_with("220 "));
        client.send(b"\r\n").await.unwrap();
        for _ in 0..4 {
            let reply = client.reply().await;
            assert!(reply.starts_with("500 5.5.1 "), "{reply}");
        }
        client.say("EHLO client.test", "250 ").await;
        assert!(client.deliver().await.starts_with("250 "));
        client.say("QUIT", "221 ").await;
    })
    .await;
    let (_, source) = fixture.stored("bob@restante.test").await;
    assert!(source.contains("([127.0.0.1])"), "{source}");
}

#[tokio::test]
async fn caps_and_rates_are_of_the_client_not_of_the_proxy() {
    let limited = |parts: &mut IngestParts| {
        behind_loopback(parts);
        parts.limits.max_connections_per_ip = 1;
        parts.limits.rate = Some(MailRate {
            max: 1,
            per: Duration::from_mins(15),
        });
    };
    let fixture = Fixture::with(limited).await;
    listen(&fixture, Encryption::OnRequest, async |address| {
        let mut one = proxied(address, &ipv4(1)).await;
        one.greet().await;
        let mut again = proxied(address, &ipv4(1)).await;
        assert_eq!(
            again.rest().await.0,
            "421 4.7.0 Too many connections, try again later\r\n"
        );
        let mut two = proxied(address, &ipv4(2)).await;
        two.greet().await;
        for client in [&mut one, &mut two] {
            assert!(client.deliver().await.starts_with("250 "));
            client.say("MAIL FROM:<a@sender.test>", "250 ").await;
            client.say("RCPT TO:<bob@restante.test>", "450 4.7.1 ").await;
            client.say("QUIT", "221 ").await;
        }
    })
    .await;
}
