//! How much mail one address may bring.

use std::time::Duration;

use restante_ingest::{IngestParts, MailRate};
use tokio::time::advance;

use crate::fixture::{Client, Fixture};

const TOO_MUCH: &str = "450 4.7.1 Too much mail from your address, try again in ";

fn two_a_minute(parts: &mut IngestParts) {
    parts.limits.rate = Some(MailRate {
        max: 2,
        per: Duration::from_mins(1),
    });
}

#[tokio::test(start_paused = true)]
async fn beyond_the_rate_recipients_are_for_later_and_later_they_are_taken() {
    let fixture = Fixture::with(two_a_minute).await;
    let act = async |mut client: Client| {
        client.greet().await;
        for _ in 0..2 {
            assert!(client.deliver().await.starts_with("250 "));
            advance(Duration::from_secs(15)).await;
        }
        client.say("MAIL FROM:<a@sender.test>", "250 ").await;
        client
            .say("RCPT TO:<bob@restante.test>", &format!("{TOO_MUCH}30 seconds"))
            .await;
        client.say("DATA", "554 5.5.1 No valid recipients").await;
        client.say("RSET", "250 ").await;
        advance(Duration::from_secs(30)).await;
        assert!(client.deliver().await.starts_with("250 "));
        client.say("QUIT", "221 ").await;
    };
    fixture.serve(act).await.0.unwrap();
}

#[tokio::test]
async fn who_is_granted_a_recipient_too_late_is_refused_at_the_end_of_data() {
    let fixture = Fixture::with(two_a_minute).await;
    let act = async |mut client: Client| {
        client.begin_message().await;
        let others = async |mut other: Client| {
            other.greet().await;
            for _ in 0..2 {
                assert!(other.deliver().await.starts_with("250 "));
            }
            other.say("QUIT", "221 ").await;
        };
        fixture.serve(others).await.0.unwrap();
        client.send(b"too late\r\n.\r\n").await.unwrap();
        let reply = client.reply().await;
        assert!(reply.starts_with(TOO_MUCH), "{reply}");
        client.say("QUIT", "221 ").await;
    };
    fixture.serve(act).await.0.unwrap();
}

#[tokio::test]
async fn mail_that_is_refused_does_not_count() {
    let fixture = Fixture::with(two_a_minute).await;
    let act = async |mut client: Client| {
        client.greet().await;
        for _ in 0..3 {
            client.say("MAIL FROM:<a@sender.test>", "250 ").await;
            client.say("RCPT TO:<bob@restante.test>", "250 ").await;
            client.say("DATA", "354 ").await;
            client
                .send(&[&b"x".repeat(2000)[..], b"\r\n.\r\n"].concat())
                .await
                .unwrap();
            assert!(client.reply().await.starts_with("552 "));
        }
        client.say("MAIL FROM:<a@sender.test>", "250 ").await;
        client.say("RCPT TO:<bob@restante.test>", "250 ").await;
        fixture.inboxes.delete("bob@restante.test").await.unwrap();
        client.say("DATA", "354 ").await;
        client.send(b"a message\r\n.\r\n").await.unwrap();
        assert!(client.reply().await.starts_with("550 5.1.1 "));
        client.say("MAIL FROM:<a@sender.test>", "250 ").await;
        client.say("RCPT TO:<bob@restante.test>", "550 5.1.1 ").await;
        client.say("QUIT", "221 ").await;
    };
    fixture.serve(act).await.0.unwrap();
}
