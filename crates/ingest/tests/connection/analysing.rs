//! Who sees the results of spam analysis, and what names the message there.

use std::time::Duration;

use restante_inbox::CreateRequest;
use restante_spam::{SpamFilter, SpamSettings};
use restante_testkit::receiver::{Answer, Receiver};

use crate::fixture::{Client, Fixture};

const ANSWER: &str = r#"{"score":1.0,"required_score":5.0,"action":"no action"}"#;

/// The analyses of one message for carol, who wants to know, and bob, who does not; and the last line of its 250.
async fn analyses(filter: Option<SpamFilter>) -> ([serde_json::Value; 2], String) {
    let fixture = Fixture::with(|parts| parts.spam = filter).await;
    let carol = CreateRequest {
        address: Some("carol@restante.test".into()),
        spam_analysis: Some(true),
        ..CreateRequest::default()
    };
    fixture.inboxes.create(carol).await.unwrap();
    let act = async |mut client: Client| {
        client.greet().await;
        client.say("MAIL FROM:<>", "250 ").await;
        client.say("RCPT TO:<bob@restante.test>", "250 ").await;
        client.say("RCPT TO:<Carol@restante.test>", "250 ").await;
        client.say("DATA", "354 ").await;
        client.send(b"Subject: hi\r\n\r\nhello\r\n.\r\n").await.unwrap();
        let reply = client.reply().await;
        client.say("QUIT", "221 ").await;
        reply
    };
    let (served, reply) = fixture.serve(act).await;
    served.unwrap();
    let analysis = async |address| fixture.stored(address).await.0["spamAnalysis"].take();
    let both = [
        analysis("carol@restante.test").await,
        analysis("bob@restante.test").await,
    ];
    (both, reply)
}

#[tokio::test]
async fn each_inbox_that_asks_sees_the_analysis_and_the_first_id_names_the_message() {
    let rspamd = Receiver::start();
    rspamd.always(Answer::status(200).body(ANSWER));
    let settings = SpamSettings {
        url: rspamd.url("").parse().unwrap(),
        timeout: Duration::from_secs(20),
        password: None,
    };
    let ([carols, bobs], reply) = analyses(Some(SpamFilter::new(settings).unwrap())).await;
    assert_eq!(carols["status"], "analyzed");
    assert_eq!(bobs["info"], "Spam analysis is off for this inbox");
    let requests = rspamd.requests();
    assert_eq!(requests.len(), 1);
    let id = requests[0].header("queue-id").unwrap();
    assert!(
        id.starts_with("msg_") && reply.contains(&format!("Ok: {id}")),
        "{id} in {reply}"
    );
    let told = requests[0].headers.iter().filter(|(name, _)| name == "rcpt");
    let told: Vec<_> = told.map(|(_, value)| value.as_str()).collect();
    assert_eq!(told, ["bob@restante.test", "Carol@restante.test"]);
}

#[tokio::test]
async fn without_a_filter_every_inbox_is_told_that_the_server_has_none() {
    let (both, _) = analyses(None).await;
    for analysis in both {
        assert_eq!(analysis["status"], "skipped");
        assert_eq!(analysis["info"], "Spam analysis is off on this server");
    }
}
