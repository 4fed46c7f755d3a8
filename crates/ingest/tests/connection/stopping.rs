//! What a client hears when the server stops.

use std::time::Duration;

use tokio::time::sleep;

use crate::fixture::{Client, Fixture};

const FAREWELL: &str = "421 4.3.2 localhost Server is shutting down\r\n";

#[tokio::test(start_paused = true)]
async fn a_client_between_transactions_is_told_at_once() {
    for greeted in [false, true] {
        let fixture = Fixture::new().await;
        let act = async |mut client: Client| {
            if greeted {
                client.greet().await;
            } else {
                client.reply().await;
            }
            fixture.stop.cancel();
            client.rest().await
        };
        let (ended, said) = fixture.serve(act).await;
        assert_eq!(said, (FAREWELL.to_owned(), 0));
        ended.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_transaction_ends_first_however_it_ends() {
    for (rest, last_reply) in [
        (&b"a message\r\n.\r\n"[..], "250 2.0.0 Ok: msg_"),
        (&[&b"x".repeat(2000)[..], b"\r\n.\r\n"].concat(), "552 5.3.4 "),
    ] {
        let fixture = Fixture::new().await;
        let act = async |mut client: Client| {
            client.begin_message().await;
            fixture.stop.cancel();
            sleep(Duration::from_secs(5)).await;
            client.send(rest).await.unwrap();
            let reply = client.reply().await;
            assert!(reply.starts_with(last_reply), "{reply}");
            client.rest().await
        };
        let (ended, said) = fixture.serve(act).await;
        assert_eq!(said, (FAREWELL.to_owned(), 5));
        ended.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_transaction_that_is_reset_was_the_last() {
    let fixture = Fixture::new().await;
    let act = async |mut client: Client| {
        client.greet().await;
        client.say("MAIL FROM:<a@sender.test>", "250 ").await;
        fixture.stop.cancel();
        client.say("RCPT TO:<bob@restante.test>", "250 ").await;
        client.say("RSET", "250 ").await;
        client.rest().await
    };
    let (_, said) = fixture.serve(act).await;
    assert_eq!(said, (FAREWELL.to_owned(), 0));
}
