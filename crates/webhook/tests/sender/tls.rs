//! TLS: who is trusted, and what is said of who is not.

use restante_testkit::receiver::{Answer, Receiver};
use restante_webhook::{Sender, SenderConfig, SenderError};

use super::bench::{attempt, config, failure, sender, trusting};

#[tokio::test]
async fn a_certificate_of_a_trusted_root_is_accepted_by_name_and_by_address() {
    let receiver = Receiver::start_tls(&["hooks.example.test", "127.0.0.1"]);
    let sender = trusting(receiver.certificate());
    for url in [receiver.url("/"), receiver.url_of("hooks.example.test", "/")] {
        let outcome = sender.send(&attempt(&url)).await;
        assert!(outcome.is_success(), "{outcome:?}");
    }
    assert_eq!(receiver.requests().len(), 2);
}

#[tokio::test]
async fn an_unknown_certificate_is_refused() {
    let receiver = Receiver::start_tls(&["127.0.0.1"]);
    let outcome = sender().send(&attempt(&receiver.url("/"))).await;
    let error = failure(&outcome);
    assert!(
        error.starts_with("the TLS connection to the target failed: "),
        "{error}"
    );
    assert!(error.contains("UnknownIssuer"), "{error}");
    assert_eq!(receiver.requests(), []);
}

#[tokio::test]
async fn a_certificate_of_another_name_is_refused() {
    let receiver = Receiver::start_tls(&["other.example.test"]);
    let sender = trusting(receiver.certificate());
    let outcome = sender.send(&attempt(&receiver.url_of("hooks.example.test", "/"))).await;
    let error = failure(&outcome);
    assert!(
        error.starts_with("the TLS connection to the target failed: "),
        "{error}"
    );
    assert!(error.contains("other.example.test"), "{error}");
}

#[tokio::test]
async fn a_target_that_ends_the_handshake_closed_the_connection() {
    let receiver = Receiver::start();
    let url = format!("https://{}/", receiver.address());
    let outcome = sender().send(&attempt(&url)).await;
    assert_eq!(failure(&outcome), "the target closed the connection without an answer");
}

#[tokio::test]
async fn a_kept_connection_that_closes_is_replaced_under_tls_too() {
    let receiver = Receiver::start_tls(&["127.0.0.1"]);
    let sender = trusting(receiver.certificate());
    receiver.script([Answer::status(200), Answer::closed(), Answer::status(200)]);
    for _ in 0..2 {
        let outcome = sender.send(&attempt(&receiver.url("/"))).await;
        assert!(outcome.is_success(), "{outcome:?}");
    }
    assert_eq!(receiver.connections(), 2);
}

#[test]
fn bytes_that_are_no_certificate_are_refused() {
    let config = SenderConfig {
        extra_roots: vec![b"no certificate".to_vec()],
        ..config()
    };
    assert!(matches!(Sender::new(config), Err(SenderError::Root(_))));
}
