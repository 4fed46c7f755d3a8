//! How much is read at once, and that it is counted.

use std::sync::atomic::Ordering;

use restante_ingest::connection;
use restante_model::TlsFacts;
use tokio::io::duplex;

use crate::fixture::{Client, Fixture};
use crate::pipe::Pipe;

/// A message of so many bytes, within a budget of so many: the largest buffer, and the answer.
async fn deliver(bytes: usize, budget: usize, tls: Option<TlsFacts>) -> (usize, String) {
    let fixture = Fixture::with(|parts| {
        parts.session.max_message_bytes = 100_000;
        parts.limits.max_inflight_bytes = budget;
    });
    let fixture = fixture.await;
    let (server, client) = duplex(200_000);
    let server = Pipe::over(server, &fixture.was_reset);
    let largest = server.largest_read();
    let act = async |mut client: Client| {
        client.begin_message().await;
        let message = "a message\r\n".repeat(bytes / 11);
        client.send(format!("{message}.\r\n").as_bytes()).await.unwrap();
        let reply = client.reply().await;
        client.say("QUIT", "221 ").await;
        reply
    };
    let peer = "192.0.2.1:40000".parse().unwrap();
    let (ended, reply) = tokio::join!(
        connection::serve(server, peer, tls, &fixture.ingest, &fixture.stop),
        act(Client::over(client))
    );
    ended.unwrap();
    (largest.load(Ordering::Relaxed), reply)
}

#[tokio::test]
async fn a_large_message_is_read_in_large_pieces_as_far_as_the_budget_has_room() {
    let tls = || {
        Some(TlsFacts {
            version: "TLSv1.3".into(),
            cipher: "TLS_AES_256_GCM_SHA384".into(),
        })
    };
    for (bytes, budget, tls, buffer, answer) in [
        (1000, 1_000_000, None, 4096, "250 "),
        (90_000, 1_000_000, None, 65_536, "250 "),
        (90_000, 1_000_000, tls(), 16_384, "250 "),
        (20_000, 100_000, None, 4096, "250 "),
        // There is room for the one or the other, and the message comes first.
        (90_000, 140_000, None, 65_536, "250 "),
        (90_000, 50_000, None, 4096, "452 "),
    ] {
        let (largest, reply) = deliver(bytes, budget, tls).await;
        assert_eq!(largest, buffer, "{bytes} bytes within {budget}");
        assert!(reply.starts_with(answer), "{bytes} bytes within {budget}: {reply}");
    }
}
