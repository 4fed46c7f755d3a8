//! The way to the server: over TLS, and over connections that are cut.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use restante_client::{Client, Error, NewInbox, RetrySettings};
use restante_model::SystemClock;
use restante_testkit::cutter::Cutter;

use super::run;
use crate::harness::{API_KEY, TestServer};

#[test]
fn over_tls_the_servers_own_authority_must_be_named() {
    let data = tempfile::tempdir().unwrap();
    let authority = data.path().join("tls/authority.pem");
    let variables = [
        ("SERVER_HTTPS_ENABLED", "true"),
        ("SERVER_HTTPS_PORT", "0"),
        ("TLS_SELF_SIGNED", "true"),
    ];
    let server = TestServer::start_in(data, &variables, Arc::new(SystemClock));
    let url = format!("https://{}", server.https.unwrap());
    let builder = || Client::builder(&url, API_KEY);
    run(async {
        let refused = builder().build().unwrap().check_key().await.unwrap_err();
        assert!(
            matches!(&refused, Error::Network { reason, .. } if reason.contains("UnknownIssuer")),
            "{refused:?}"
        );
        let trusting = builder().ca_certificate(fs::read(&authority).unwrap()).build().unwrap();
        let inbox = trusting.create_inbox(NewInbox::new().encrypted()).await.unwrap();
        assert!(inbox.emails().await.unwrap().is_empty());
    });
}

#[test]
fn over_connections_that_are_cut_every_inbox_is_created_once_and_every_email_deleted() {
    let server = TestServer::start(&[]);
    let cutter = Cutter::start(server.http, 6).unwrap();
    let client = Client::builder(format!("http://{}", cutter.address()), API_KEY)
        .retry(RetrySettings {
            max_retries: 20,
            delay: Duration::from_micros(1),
        })
        .build()
        .unwrap();
    run(async {
        let mut created = BTreeSet::new();
        for number in 0..50 {
            // A new connection, which carries as much as chance has it.
            cutter.begin();
            let wanted = if number % 2 == 0 {
                NewInbox::new().plain()
            } else {
                NewInbox::new().encrypted()
            };
            let inbox = client.create_inbox(wanted).await.unwrap();
            server.send(inbox.address(), "One", "Text");
            let [email] = inbox.summaries().await.unwrap().try_into().unwrap();
            inbox.mark_read(email.id).await.unwrap();
            inbox.delete_email(email.id).await.unwrap();
            assert!(created.insert(inbox.address().to_owned()));
        }
        let listed = client.list_inboxes().await.unwrap();
        let listed: BTreeSet<String> = listed.iter().map(|inbox| inbox.email_address.to_string()).collect();
        assert_eq!(listed, created);
    });
    assert!(cutter.cuts() > 50, "only {} connections were cut", cutter.cuts());
}
