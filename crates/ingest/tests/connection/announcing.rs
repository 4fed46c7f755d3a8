//! When a stored message is told to those who watch; on real time, since the store commits on a thread of its own.

use std::time::Duration;

use tokio::time::timeout;

use crate::fixture::{Client, Fixture};

/// Less than a 250 with an id, more than any other line that the client reads.
const PIPE_BYTES: usize = 45;

#[tokio::test]
async fn a_client_that_does_not_take_its_250_holds_nobody_back() {
    let fixture = Fixture::new().await;
    let inbox = fixture.inboxes.find("bob@restante.test").await.unwrap();
    let mut watch = fixture.inboxes.watch(&[inbox.hash], None).await.unwrap();
    let act = async |mut client: Client| {
        client.begin_message().await;
        client.send(b"a message\r\n.\r\n").await.unwrap();
        let told = timeout(Duration::from_secs(5), watch.next()).await;
        assert!(told.expect("it is told while its 250 waits").is_ok());
        let reply = client.reply().await;
        assert!(reply.starts_with("250 2.0.0 Ok: msg_"), "{reply}");
    };
    let (ended, ()) = fixture.serve_over(PIPE_BYTES, act).await;
    ended.unwrap();
}
