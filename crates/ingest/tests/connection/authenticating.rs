//! Who sees the results of email authentication.

use std::time::Duration;

use restante_auth::{AuthSettings, Authenticator};
use restante_inbox::CreateRequest;
use restante_ingest::IngestParts;

use crate::fixture::{Client, Fixture};

/// Checks what needs no DNS: a message without a signature.
fn dkim_only(parts: &mut IngestParts) {
    let settings = AuthSettings {
        spf: false,
        dkim: true,
        dmarc: false,
        reverse_dns: false,
        timeout: Duration::from_secs(5),
        resolver: Some("127.0.0.1:9".parse().unwrap()),
    };
    parts.authenticator = Some(Authenticator::new(settings).unwrap());
}

async fn dkim_of_carol_and_bob(change: impl FnOnce(&mut IngestParts)) -> [String; 2] {
    let fixture = Fixture::with(change).await;
    let carol = CreateRequest {
        address: Some("carol@restante.test".into()),
        email_auth: Some(true),
        ..CreateRequest::default()
    };
    fixture.inboxes.create(carol).await.unwrap();
    let act = async |mut client: Client| {
        client.greet().await;
        client.say("MAIL FROM:<a@sender.test>", "250 ").await;
        client.say("RCPT TO:<bob@restante.test>", "250 ").await;
        client.say("RCPT TO:<carol@restante.test>", "250 ").await;
        client.say("DATA", "354 ").await;
        client.send(b"Subject: hi\r\n\r\nunsigned\r\n.\r\n").await.unwrap();
        assert!(client.reply().await.starts_with("250 2.0.0 Ok: msg_"));
        client.say("QUIT", "221 ").await;
    };
    fixture.serve(act).await.0.unwrap();
    let result = async |address| {
        let (parsed, _) = fixture.stored(address).await;
        parsed["authResults"]["dkim"][0]["result"].as_str().unwrap().to_owned()
    };
    [result("carol@restante.test").await, result("bob@restante.test").await]
}

#[tokio::test]
async fn each_inbox_that_asks_sees_the_results_and_no_other() {
    assert_eq!(dkim_of_carol_and_bob(dkim_only).await, ["none", "skipped"]);
    assert_eq!(dkim_of_carol_and_bob(|_| ()).await, ["skipped", "skipped"]);
}
