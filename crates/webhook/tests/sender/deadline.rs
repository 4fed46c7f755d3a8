//! One deadline over look-up, connection, TLS, request, headers and body (W2).

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use restante_testkit::dns::DnsServer;
use restante_testkit::receiver::{Answer, Receiver, Stage};
use restante_webhook::{Attempt, DnsLookup, Guard, Lookup, Outcome, Sender, SenderConfig, Unresolved};

use super::bench::{SHORT, attempt, config, failure, impatient};

/// Never answers.
#[derive(Debug)]
struct Silence;

#[async_trait]
impl Lookup for Silence {
    async fn addresses(&self, _name: &str) -> Result<Vec<IpAddr>, Unresolved> {
        std::future::pending().await
    }
}

/// Sends, and makes sure that the sender came back in time.
async fn timed(sender: &Sender, attempt: &Attempt) -> Outcome {
    #[expect(clippy::disallowed_methods, reason = "the time that the test took is meant")]
    let start = Instant::now();
    let outcome = sender.send(attempt).await;
    assert!(
        start.elapsed() < SHORT + Duration::from_secs(5),
        "{:?}",
        start.elapsed()
    );
    outcome
}

/// The sender gave up for lack of an answer.
async fn runs_out(sender: &Sender, url: &str) {
    let outcome = timed(sender, &attempt(url)).await;
    assert!(failure(&outcome).contains("timeout"), "{outcome:?}");
    assert!(outcome.duration_ms >= 100, "{outcome:?}");
}

fn looking_up(lookup: impl Lookup + 'static) -> Sender {
    Sender::new(SenderConfig {
        timeout: SHORT,
        guard: Guard::new(false, Arc::new(lookup)),
        ..config()
    })
    .unwrap()
}

#[tokio::test]
async fn the_look_up_counts() {
    runs_out(&looking_up(Silence), "http://hooks.example.com/").await;
    let dns = DnsServer::silent();
    let sender = looking_up(DnsLookup::new(dns.address(), SHORT));
    runs_out(&sender, "http://hooks.example.com/").await;
    assert!(dns.queries("hooks.example.com") > 0);
}

/// The queue of a listener that accepts nothing is full after some connections; the next one hangs.
#[tokio::test]
async fn the_connection_counts() {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut fillers = Vec::new();
    while let Ok(Ok(filler)) = tokio::time::timeout(SHORT, tokio::net::TcpStream::connect(address)).await {
        fillers.push(filler);
        assert!(fillers.len() < 100, "the queue does not fill");
    }
    runs_out(&impatient(), &format!("http://{address}/")).await;
}

#[tokio::test]
async fn tls_counts() {
    let receiver = Receiver::start_mute();
    let url = format!("https://{}/", receiver.address());
    runs_out(&impatient(), &url).await;
    assert_eq!(receiver.connections(), 1);
}

/// A target that does not read: the body stays in the buffers of the system.
#[tokio::test]
async fn the_request_counts() {
    let receiver = Receiver::start_mute();
    let attempt = Attempt {
        body: vec![b'a'; 64 * 1024 * 1024].into(),
        ..attempt(&receiver.url("/"))
    };
    let outcome = timed(&impatient(), &attempt).await;
    assert!(failure(&outcome).contains("timeout"));
}

#[tokio::test]
async fn status_and_headers_count() {
    for stage in [Stage::BeforeStatus, Stage::InHeaders] {
        let receiver = Receiver::start();
        receiver.always(Answer::stalled(stage));
        runs_out(&impatient(), &receiver.url("/")).await;
        assert_eq!(receiver.requests().len(), 1);
    }
}

#[tokio::test]
async fn an_answer_after_the_deadline_is_none() {
    let receiver = Receiver::start();
    receiver.always(Answer::status(200).held());
    runs_out(&impatient(), &receiver.url("/")).await;
    receiver.release();
}

#[tokio::test]
async fn a_body_that_stalls_ends_with_the_deadline_and_is_still_a_success() {
    let receiver = Receiver::start();
    receiver.always(Answer::stalled(Stage::InBody));
    // The head must come in time on a busy machine, too.
    let sender = Sender::new(SenderConfig {
        timeout: 3 * SHORT,
        ..config()
    })
    .unwrap();
    let outcome = timed(&sender, &attempt(&receiver.url("/"))).await;
    assert!(outcome.is_success());
    assert_eq!(outcome.response, "half of it, and");
    assert!(outcome.duration_ms >= 1_500);
}

/// After a time-out the same target may be fine, and the connection that hangs is not used again.
#[tokio::test]
async fn an_attempt_that_ran_out_leaves_nothing_behind() {
    let receiver = Receiver::start();
    receiver.always(Answer::stalled(Stage::InHeaders));
    let sender = impatient();
    runs_out(&sender, &receiver.url("/")).await;
    runs_out(&sender, &receiver.url("/")).await;
    assert_eq!(receiver.connections(), 2);
}
