//! The filter against a stand-in of rspamd on the loopback interface: what arrives there, and every way to fail.

#![expect(clippy::unwrap_used, reason = "a helper that panics fails its test")]

use std::collections::HashSet;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use restante_model::spam::SpamScore;
use restante_model::{SessionFacts, SpamAnalysis, Timestamp};
use restante_spam::filter::{ANSWER_BYTES, AT_ONCE};
use restante_spam::{SpamError, SpamFilter, SpamSettings};
use restante_testkit::receiver::{Answer, Receiver, Stage};
use tokio::task::JoinSet;

const HAM: &str = r#"{"is_skipped":false,"score":1.5,"required_score":15.0,"action":"no action","symbols":{}}"#;
const MESSAGE: &[u8] = b"Subject: one\r\n\r\n\xff\0 body\r\n.\r\n";

fn settings(url: &str) -> SpamSettings {
    SpamSettings {
        url: url.parse().unwrap(),
        timeout: Duration::from_secs(20),
        password: None,
    }
}

fn facts() -> SessionFacts {
    SessionFacts {
        peer: "192.0.2.1:40000".parse().unwrap(),
        helo: "client.test".into(),
        protocol: "ESMTP".into(),
        tls: None,
        reverse_path: "alice@sender.test".into(),
        forward_path: String::new(),
        received_at: Timestamp::from_unix_ms(0),
    }
}

async fn ask(filter: &SpamFilter) -> SpamAnalysis {
    let to = ["bob@restante.test".to_owned(), "eve@restante.test".to_owned()];
    let message = Bytes::from_static(MESSAGE);
    filter.analyse(&message, &facts(), &to, "msg_1").await
}

async fn ask_at(url: &str) -> SpamAnalysis {
    ask(&SpamFilter::new(settings(url)).unwrap()).await
}

fn score(analysis: SpamAnalysis) -> SpamScore {
    match analysis {
        SpamAnalysis::Analyzed(score) => score,
        other => panic!("{other:?}"),
    }
}

/// What an analysis that failed says, and how long it took.
fn failure(analysis: SpamAnalysis) -> (String, u64) {
    match analysis {
        SpamAnalysis::Error {
            info,
            processing_time_ms,
        } => (info, processing_time_ms),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_message_and_the_facts_arrive() {
    let rspamd = Receiver::start();
    rspamd.always(Answer::status(200).body(HAM));
    let mut settings = settings(&rspamd.url("/base/"));
    settings.password = Some("sesame".to_owned().into());
    assert!(!format!("{settings:?}").contains("sesame"));
    let filter = SpamFilter::new(settings).unwrap();
    assert!(!format!("{filter:?}").contains("sesame"));

    let score = score(ask(&filter).await);
    assert_eq!((score.score, score.required_score, score.is_spam), (1.5, 15.0, false));
    assert_eq!((score.action.as_str(), score.symbols.len()), ("no action", 0));
    assert!((1..20_000).contains(&score.processing_time_ms));

    let request = rspamd.requests().remove(0);
    assert_eq!(
        (request.method.as_str(), request.target.as_str()),
        ("POST", "/base/checkv2")
    );
    assert_eq!(request.body, MESSAGE);
    for (name, value) in [
        ("IP", "192.0.2.1"),
        ("Helo", "client.test"),
        ("From", "alice@sender.test"),
        ("Queue-Id", "msg_1"),
        ("Password", "sesame"),
    ] {
        assert_eq!(request.header(name), Some(value), "{name}");
    }
    let recipients = request
        .headers
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case("rcpt"));
    let recipients: Vec<_> = recipients.map(|(_, value)| value.as_str()).collect();
    assert_eq!(recipients, ["bob@restante.test", "eve@restante.test"]);
}

#[tokio::test]
async fn a_hostile_greeting_adds_no_header_and_stops_nothing() {
    let rspamd = Receiver::start();
    rspamd.always(Answer::status(200).body(HAM));
    let filter = SpamFilter::new(settings(&rspamd.url(""))).unwrap();
    let facts = SessionFacts {
        helo: "a\r\nPassword: b".into(),
        reverse_path: "\"a\nb\"@sender.test".into(),
        ..facts()
    };
    let to = ["\"c\0\"@restante.test".to_owned(), "jörg@restante.test".to_owned()];
    score(filter.analyse(&Bytes::new(), &facts, &to, "q\r\n").await);
    let request = rspamd.requests().remove(0);
    for absent in ["helo", "from", "password", "queue-id"] {
        assert_eq!(request.header(absent), None, "{absent}");
    }
    assert_eq!(request.header("rcpt"), Some("jörg@restante.test"));
    assert_eq!(request.target, "/checkv2");
}

#[tokio::test]
async fn a_message_has_a_connection_of_its_own() {
    let rspamd = Receiver::start();
    rspamd.always(Answer::status(200).body(HAM));
    let filter = SpamFilter::new(settings(&rspamd.url(""))).unwrap();
    for _ in 0..3 {
        score(ask(&filter).await);
    }
    assert_eq!((rspamd.requests().len(), rspamd.connections()), (3, 3));
    rspamd.wait_for_no_connection().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_end_unannounced_cost_no_analysis() {
    let rspamd = Receiver::start();
    let used = Mutex::new(HashSet::new());
    // One that nobody has closed yet is closed as soon as it is used again.
    rspamd.by_rule(move |request| match used.lock().unwrap().insert(request.connection) {
        true if request.connection % 2 == 0 => Answer::status(200).body(HAM).then_closed(),
        true => Answer::status(200).body(HAM),
        false => Answer::closed(),
    });
    let filter = SpamFilter::new(settings(&rspamd.url(""))).unwrap();
    let mut senders = JoinSet::new();
    for _ in 0..10 {
        let filter = filter.clone();
        senders.spawn(async move {
            for _ in 0..5 {
                score(ask(&filter).await);
            }
        });
    }
    while let Some(sender) = senders.join_next().await {
        sender.unwrap();
    }
    assert_eq!(rspamd.requests().len(), 50, "no message is sent twice");
}

#[tokio::test]
async fn chunks_are_an_answer_too() {
    let rspamd = Receiver::start();
    let (one, two) = HAM.split_at(10);
    let chunks = format!("{:x}\r\n{one}\r\n{:x}\r\n{two}\r\n0\r\n\r\n", one.len(), two.len());
    rspamd.always(Answer::raw(format!(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}"
    )));
    assert!((score(ask_at(&rspamd.url("")).await).score - 1.5).abs() < f64::EPSILON);
}

#[tokio::test]
async fn every_answer_that_is_none_has_its_words() {
    let elsewhere = Receiver::start();
    let secret = "secret of rspamd";
    let broken = "rspamd broke the connection off, or does not speak HTTP";
    let nonsense = "rspamd's answer is not the JSON of /checkv2";
    for (answer, expected) in [
        (
            Answer::status(403).body(secret),
            "rspamd wants a password, and none is set",
        ),
        (
            Answer::status(401).body(secret),
            "rspamd wants a password, and none is set",
        ),
        (Answer::status(500).body(secret), "rspamd answered with status 500"),
        (Answer::status(204), "rspamd answered with status 204"),
        (Answer::redirect(&elsewhere.url("/")), "rspamd answered with status 307"),
        (Answer::status(200).body(secret), nonsense),
        (Answer::status(200), nonsense),
        (Answer::closed(), broken),
        (Answer::broken(200), broken),
        (Answer::raw("+OK secret of rspamd\r\n"), broken),
        (Answer::endless(200), "rspamd's answer has more than 1048576 bytes"),
    ] {
        let rspamd = Receiver::start();
        rspamd.always(answer.clone());
        let (info, took) = failure(ask_at(&rspamd.url("")).await);
        assert_eq!(info, expected, "{answer:?}");
        assert!((1..20_000).contains(&took), "{took}");
    }
    assert_eq!(elsewhere.connections(), 0, "a redirect is not followed");
}

#[tokio::test]
async fn a_wrong_password_is_said_and_not_shown() {
    let rspamd = Receiver::start();
    rspamd.always(Answer::status(403));
    let mut settings = settings(&rspamd.url(""));
    settings.password = Some("sesame".to_owned().into());
    let (info, _) = failure(ask(&SpamFilter::new(settings).unwrap()).await);
    assert_eq!(info, "rspamd refused the password");
}

#[tokio::test]
async fn the_largest_answer_is_read() {
    let rspamd = Receiver::start();
    let largest = HAM.to_owned() + &" ".repeat(ANSWER_BYTES - HAM.len());
    rspamd.script([
        Answer::status(200).body(largest.clone()),
        Answer::status(200).body(largest + " "),
    ]);
    score(ask_at(&rspamd.url("")).await);
    let (info, _) = failure(ask_at(&rspamd.url("")).await);
    assert_eq!(info, "rspamd's answer has more than 1048576 bytes");
}

#[tokio::test]
async fn nobody_waits_longer_than_the_timeout_wherever_rspamd_stops() {
    let impatient = |url: &str| {
        let timeout = Duration::from_millis(50);
        SpamFilter::new(SpamSettings {
            timeout,
            ..settings(url)
        })
        .unwrap()
    };
    for stage in [Stage::BeforeStatus, Stage::InHeaders, Stage::InBody] {
        let rspamd = Receiver::start();
        rspamd.always(Answer::stalled(stage));
        let (info, took) = failure(ask(&impatient(&rspamd.url(""))).await);
        assert_eq!(info, "rspamd did not answer within 50 ms", "{stage:?}");
        // The rest is for a busy machine.
        assert!((50..10_000).contains(&took), "{stage:?} {took}");
    }
    let mute = Receiver::start_mute();
    let (info, _) = failure(ask(&impatient(&mute.url(""))).await);
    assert_eq!(info, "rspamd did not answer within 50 ms");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_filter_that_hangs_holds_few_connections() {
    let rspamd = Receiver::start();
    rspamd.always(Answer::stalled(Stage::BeforeStatus));
    let filter = SpamFilter::new(settings(&rspamd.url(""))).unwrap();
    let mut questions = JoinSet::new();
    for _ in 0..AT_ONCE {
        let filter = filter.clone();
        questions.spawn(async move { ask(&filter).await });
    }
    while rspamd.requests().len() < AT_ONCE {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let one_more = tokio::time::timeout(Duration::from_millis(300), ask(&filter));
    assert!(one_more.await.is_err());
    assert_eq!(rspamd.connections(), AT_ONCE);
    // Whose question is given up makes place.
    questions.shutdown().await;
    rspamd.always(Answer::status(200).body(HAM));
    score(ask(&filter).await);
}

#[tokio::test]
async fn where_nobody_listens_is_known_at_once() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let (info, took) = failure(ask_at(&format!("http://127.0.0.1:{port}")).await);
    assert_eq!(info, "rspamd does not accept connections (connection refused)");
    assert!(took < 10_000, "{took}");
    // The system connects to the address for everybody in no case.
    let (info, _) = failure(ask_at("http://255.255.255.255:11333").await);
    assert_eq!(info, "rspamd cannot be reached");
}

#[tokio::test]
async fn rspamd_that_comes_back_is_asked_again() {
    let rspamd = Receiver::start();
    rspamd.script([Answer::closed()]);
    rspamd.always(Answer::status(200).body(HAM));
    let filter = SpamFilter::new(settings(&rspamd.url(""))).unwrap();
    failure(ask(&filter).await);
    score(ask(&filter).await);
}

#[tokio::test]
async fn tls_is_spoken_with_nobody_who_is_not_trusted() {
    let rspamd = Receiver::start_tls(&["localhost"]);
    rspamd.always(Answer::status(200).body(HAM));
    match SpamFilter::new(settings(&rspamd.url_of("localhost", ""))) {
        Ok(filter) => {
            assert_eq!(failure(ask(&filter).await).0, "the TLS connection to rspamd failed");
            assert_eq!(rspamd.requests(), [], "the message went to nobody");
        }
        // Of a machine that trusts nobody at all.
        Err(error) => assert!(matches!(error, SpamError::NoAuthorities), "{error}"),
    }
}

#[test]
fn what_cannot_be_asked_is_no_filter() {
    let mut settings = settings("http://localhost");
    settings.password = Some("a\nb".to_owned().into());
    let error = SpamFilter::new(settings).unwrap_err();
    let rule = "the password of rspamd must have no line ends and no control characters";
    assert_eq!(error.to_string(), rule);
}
