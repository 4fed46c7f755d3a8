//! What a real client, lettre, makes of faults.

use lettre::address::{Address, Envelope};
use lettre::transport::smtp::Error;
use lettre::{SmtpTransport, Transport as _};

use super::*;

/// Sends a message to bob over this client.
fn send(client: &SmtpTransport) -> Result<u16, Error> {
    let envelope = Envelope::new(
        Some("alice@sender.test".parse::<Address>().unwrap()),
        vec![BOB.parse().unwrap()],
    );
    let response = client.send_raw(&envelope.unwrap(), MAIL)?;
    Ok(response.code().into())
}

#[test]
fn refusals_are_taken_for_what_they_are() {
    let server = with_bob(&error(1.0, &["temporary"]));
    let client = server.smtp_client();
    for _ in 0..10 {
        let error = send(&client).unwrap_err();
        assert!(error.is_transient(), "{error}");
    }
    set(&server, BOB, &error(1.0, &["permanent"]));
    for _ in 0..10 {
        let error = send(&client).unwrap_err();
        assert!(error.is_permanent(), "{error}");
    }
    clear(&server, BOB);
    assert_eq!(send(&client).unwrap(), 250);
    assert_eq!(server.email_ids(BOB).len(), 1);
}

#[test]
fn a_dropped_connection_is_no_reply() {
    for graceful in [true, false] {
        let server = with_bob(&connection_drop(graceful));
        let error = send(&server.smtp_client()).unwrap_err();
        assert!(!error.is_transient() && !error.is_permanent(), "{error}");
        assert_eq!(error.status(), None);
        clear(&server, BOB);
        assert_eq!(send(&server.smtp_client()).unwrap(), 250);
    }
}

#[test]
fn a_client_that_tries_again_gets_past_a_greylist() {
    let server = with_bob(&json!({ "greylist": { "enabled": true } }));
    let client = server.smtp_client();
    let error = send(&client).unwrap_err();
    assert_eq!(error.status().map(u16::from), Some(451));
    assert_eq!(send(&client).unwrap(), 250);
}

#[test]
fn a_client_without_patience_gives_up_before_a_late_reply() {
    let latency = json!({ "enabled": true, "minDelayMs": 60_000, "maxDelayMs": 60_000 });
    let server = with_bob(&json!({ "latency": latency }));
    let client = SmtpTransport::builder_dangerous(server.smtp.ip().to_string())
        .port(server.smtp.port())
        .timeout(Some(Duration::from_millis(500)))
        .build();
    let error = send(&client).unwrap_err();
    assert!(!error.is_transient() && !error.is_permanent(), "{error}");
    assert!(server.email_ids(BOB).is_empty());
}
