//! How long a client may take: 30 s to the first command, 300 s between commands, 180 s for a block of a
//! message, 20 minutes in all.

use std::io::ErrorKind;
use std::time::Duration;

use restante_smtp::Auth;
use tokio::time::{sleep, timeout};

use crate::fixture::{Client, Fixture};

const TIMEOUT: &str = "421 4.4.2 localhost Timeout, closing connection\r\n";

#[tokio::test(start_paused = true)]
async fn a_silent_client_has_30_seconds() {
    let fixture = Fixture::new().await;
    let act = async |mut client: Client| {
        client.reply().await;
        client.rest().await
    };
    let (ended, said) = fixture.serve(act).await;
    assert_eq!(said, (TIMEOUT.to_owned(), 30));
    ended.unwrap();
}

#[tokio::test(start_paused = true)]
async fn half_a_command_is_no_command_however_slowly_it_comes() {
    let fixture = Fixture::new().await;
    let act = async |mut client: Client| {
        client.reply().await;
        for byte in b"EH" {
            client.send(&[*byte]).await.unwrap();
            sleep(Duration::from_secs(14)).await;
        }
        client.send(b"LO").await.unwrap();
        client.rest().await
    };
    let (_, said) = fixture.serve(act).await;
    assert_eq!(said, (TIMEOUT.to_owned(), 30));
}

#[tokio::test(start_paused = true)]
async fn an_idle_client_has_300_seconds_after_each_command() {
    let fixture = Fixture::new().await;
    let act = async |mut client: Client| {
        client.greet().await;
        sleep(Duration::from_secs(299)).await;
        client.say("NOOP", "250 ").await;
        client.rest().await
    };
    let (_, said) = fixture.serve(act).await;
    assert_eq!(said, (TIMEOUT.to_owned(), 599));
}

#[tokio::test(start_paused = true)]
async fn an_exchange_of_auth_is_idle_like_a_client_between_commands() {
    let fixture = Fixture::with(|parts| parts.session.auth = Auth::AcceptAny).await;
    let act = async |mut client: Client| {
        client.greet().await;
        client.say("AUTH LOGIN", "334 ").await;
        client.rest().await
    };
    let (_, said) = fixture.serve(act).await;
    assert_eq!(said, (TIMEOUT.to_owned(), 300));
}

#[tokio::test(start_paused = true)]
async fn a_stalled_message_has_180_seconds_taken_or_refused() {
    let too_large = b"x".repeat(1500);
    for bytes in [&b"half a message"[..], &too_large] {
        let fixture = Fixture::new().await;
        let act = async |mut client: Client| {
            client.begin_message().await;
            sleep(Duration::from_secs(100)).await;
            client.send(bytes).await.unwrap();
            client.rest().await
        };
        let (_, said) = fixture.serve(act).await;
        assert_eq!(said, (TIMEOUT.to_owned(), 280), "{} bytes", bytes.len());
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_keeps_a_session_beyond_20_minutes() {
    for (in_message, drop) in [(false, &b"NOOP\r\n"[..]), (true, b"x")] {
        let fixture = Fixture::new().await;
        let act = async |mut client: Client| {
            if in_message {
                client.begin_message().await;
            } else {
                client.greet().await;
            }
            let drip = async {
                while client.send(drop).await.is_ok() {
                    sleep(Duration::from_secs(100)).await;
                }
            };
            let _ = timeout(Duration::from_secs(1199), drip).await;
            client.rest().await
        };
        let (_, (said, after)) = fixture.serve(act).await;
        assert!(said.ends_with(TIMEOUT), "{said}");
        assert_eq!(after, 1200);
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_nothing_holds_nothing_for_long() {
    let fixture = Fixture::new().await;
    let act = async |mut client: Client| {
        let help = b"HELP\r\n".repeat(100);
        while client.send(&help).await.is_ok() {}
    };
    let served = fixture.serve(act);
    let (ended, ()) = timeout(Duration::from_secs(301), served).await.unwrap();
    assert_eq!(ended.unwrap_err().kind(), ErrorKind::TimedOut);
}

#[tokio::test(start_paused = true)]
async fn what_comes_after_the_last_word_is_dropped_for_a_second_at_most() {
    let fixture = Fixture::new().await;
    let act = async |mut client: Client| {
        client.greet().await;
        client.say("QUIT", "221 ").await;
        let drip = async {
            while client.send(b"NOOP\r\n").await.is_ok() {
                sleep(Duration::from_millis(100)).await;
            }
        };
        drip.await;
        client.rest().await
    };
    let served = fixture.serve(act);
    let (ended, (said, _)) = timeout(Duration::from_secs(2), served).await.unwrap();
    assert_eq!(said, "", "nothing is answered after QUIT");
    ended.unwrap();
}
