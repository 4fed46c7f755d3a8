//! What decides about success, and what is said of a failure.

use restante_testkit::receiver::{Answer, Receiver};
use restante_webhook::Outcome;

use super::bench::{attempt, failure, impatient, sender};

async fn outcome_of(answer: Answer) -> Outcome {
    let receiver = Receiver::start();
    receiver.script([answer]);
    sender().send(&attempt(&receiver.url("/"))).await
}

#[tokio::test]
async fn only_2xx_is_success_and_every_other_status_has_an_error() {
    for status in [200, 201, 202, 204, 206, 226, 299] {
        let outcome = outcome_of(Answer::status(status)).await;
        assert!(outcome.is_success(), "{status}");
        assert_eq!((outcome.status, outcome.error), (Some(status), None));
    }
    for status in [
        300, 301, 302, 304, 307, 308, 400, 401, 404, 410, 429, 500, 503, 599, 600, 999,
    ] {
        let outcome = outcome_of(Answer::status(status)).await;
        assert!(!outcome.is_success(), "{status}");
        assert_eq!(outcome.status, Some(status));
        let error = outcome.error.unwrap();
        assert!(
            error.starts_with(&format!("the target answered with status {status}")),
            "{error}"
        );
    }
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let receiver = Receiver::start();
    for status in [301, 302, 303, 307, 308] {
        let answer = Answer::status(status).header("Location", &receiver.url("/elsewhere"));
        receiver.script([answer]);
        let outcome = sender().send(&attempt(&receiver.url("/"))).await;
        assert_eq!(outcome.status, Some(status));
        assert!(outcome.error.unwrap().ends_with("; redirects are not followed"));
    }
    assert!(receiver.requests().iter().all(|request| request.target == "/"));
}

#[tokio::test]
async fn retry_after_changes_nothing() {
    let outcome = outcome_of(Answer::status(503).header("Retry-After", "1")).await;
    assert_eq!(outcome.status, Some(503));
}

#[tokio::test]
async fn the_body_of_the_answer_is_kept_up_to_16_kib() {
    let outcome = outcome_of(Answer::status(500).body("why")).await;
    assert_eq!(outcome.response, "why");
    for length in [16 * 1024, 16 * 1024 + 1, 1024 * 1024] {
        let outcome = outcome_of(Answer::status(200).body(vec![b'a'; length])).await;
        assert!(outcome.is_success());
        assert_eq!(outcome.response.len(), 16 * 1024);
    }
}

#[tokio::test]
async fn a_body_that_breaks_or_does_not_end_is_no_failure() {
    let broken = outcome_of(Answer::broken(200)).await;
    assert!(broken.is_success());
    assert_eq!(broken.response, "half of it, and");

    let endless = outcome_of(Answer::endless(200)).await;
    assert!(endless.is_success());
    assert_eq!(endless.response.len(), 16 * 1024);

    let nonsense = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nno number\r\n".to_vec();
    assert!(outcome_of(Answer::raw(nonsense)).await.is_success());
}

/// 64 KiB of zeros in 98 bytes: they stay 98 bytes.
#[tokio::test]
async fn a_compressed_body_is_not_expanded() {
    let bomb: Vec<u8> = (0..98).collect();
    let answer = Answer::status(200)
        .header("Content-Encoding", "gzip")
        .body(bomb.clone());
    assert_eq!(outcome_of(answer).await.response, bomb);
}

#[tokio::test]
async fn a_target_that_is_not_there_refuses_the_connection() {
    let address = Receiver::start().address();
    let outcome = sender().send(&attempt(&format!("http://{address}/"))).await;
    assert_eq!(
        failure(&outcome),
        "the target does not accept connections (connection refused)"
    );
}

#[tokio::test]
async fn a_target_that_closes_without_an_answer_failed() {
    let outcome = outcome_of(Answer::closed()).await;
    assert_eq!(failure(&outcome), "the target closed the connection without an answer");
    let outcome = outcome_of(Answer::raw("HTTP/1.1 200 OK\r\nX-A")).await;
    assert_eq!(failure(&outcome), "the target closed the connection without an answer");
}

#[tokio::test]
async fn an_answer_that_is_not_http_failed() {
    for text in [
        "220 mail.example.com ESMTP\r\n",
        "HTTP/1.1 abc\r\n\r\n",
        "\u{0}\u{1}\u{2}\u{3}\r\n\r\n",
    ] {
        let outcome = outcome_of(Answer::raw(text)).await;
        assert_eq!(failure(&outcome), "the target's answer is not HTTP", "{text:?}");
    }
    let head = format!("HTTP/1.1 200 OK\r\nX-A: {}\r\n\r\n", "a".repeat(1024 * 1024));
    let outcome = outcome_of(Answer::raw(head)).await;
    assert_eq!(failure(&outcome), "the target's answer is not HTTP");
}

#[tokio::test]
async fn the_duration_is_never_zero_and_covers_the_wait() {
    assert!(outcome_of(Answer::status(200)).await.duration_ms >= 1);
    let wait = std::time::Duration::from_millis(50);
    let outcome = outcome_of(Answer::status(200).after(wait)).await;
    assert!((50..30_000).contains(&outcome.duration_ms), "{}", outcome.duration_ms);
    let receiver = Receiver::start_mute();
    let outcome = impatient().send(&attempt(&receiver.url("/"))).await;
    assert!(outcome.duration_ms >= 500, "{}", outcome.duration_ms);
}

/// A path may be a password of the target; the secret never leaves at all.
#[tokio::test]
async fn errors_do_not_repeat_the_url() {
    let address = Receiver::start().address();
    for url in [
        format!("http://{address}/services/T0/hush?token=hush"),
        "http://no.such.name.test/hush".to_owned(),
        "https://127.0.0.1:1/hush".to_owned(),
    ] {
        let outcome = sender().send(&attempt(&url)).await;
        assert!(!failure(&outcome).contains("hush"));
        assert!(failure(&outcome).len() < 200);
    }
}
