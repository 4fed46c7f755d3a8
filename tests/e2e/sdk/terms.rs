//! What else an inbox is created with, through the SDK: persistence, no end, a spam filter.

use restante_client::{ExportedInbox, IfKnown, NewInbox, SpamAnalysis};
use restante_testkit::receiver::{Answer, Receiver};
use serde_json::json;

use super::{MODES, PROFILES, client, run, wanted};
use crate::harness::TestServer;

#[test]
fn an_inbox_without_an_end_is_one_in_the_other_profile_alone() {
    for (profile, is_endless) in PROFILES.into_iter().zip([false, true]) {
        for mode in MODES {
            let server = TestServer::start(profile);
            run(async {
                let (one, other) = (client(&server), client(&server));
                let inbox = one.create_inbox(wanted(mode).never_expires()).await.unwrap();
                assert_eq!(inbox.is_persistent(), Some(true));
                assert_eq!(inbox.expires_at().is_none(), is_endless);
                let listed = one.list_inboxes().await.unwrap();
                assert_eq!(listed[0].expires_at, inbox.expires_at());

                let export = inbox.export().to_json();
                let export = ExportedInbox::parse(export.as_bytes()).unwrap();
                assert_eq!(export.expires_at(), inbox.expires_at());
                let imported = other.import_inbox(export, IfKnown::Refuse).unwrap();
                server.send(inbox.address(), "hello", "text");
                assert_eq!(imported.summaries().await.unwrap()[0].subject(), "hello");
            });
        }
    }
}

#[test]
fn the_servers_policy_has_the_last_word_on_persistence() {
    for (policy, asked, expected) in [
        ("always", NewInbox::new().ephemeral(), true),
        ("enabled", NewInbox::new(), true),
        ("enabled", NewInbox::new().ephemeral(), false),
        ("disabled", NewInbox::new(), false),
        ("disabled", NewInbox::new().persistent(), true),
        ("never", NewInbox::new().persistent(), false),
    ] {
        let server = TestServer::start(&[("PERSISTENCE_POLICY", policy)]);
        run(async {
            let client = client(&server);
            assert_eq!(client.server_info().await.unwrap().persistence_policy, policy);
            let inbox = client.create_inbox(asked).await.unwrap();
            assert_eq!(inbox.is_persistent(), Some(expected), "{policy}");
        });
    }
}

#[test]
fn an_inbox_that_is_to_go_cannot_be_without_an_end() {
    for profile in PROFILES {
        let server = TestServer::start(profile);
        run(async {
            let wish = NewInbox::new().never_expires().ephemeral();
            let refused = client(&server).create_inbox(wish).await.unwrap_err();
            assert_eq!(refused.status(), Some(400), "{refused}");
        });
    }
}

#[test]
fn the_verdict_of_the_spam_filter_is_read() {
    for mode in MODES {
        let filter = Receiver::start();
        let said = json!({
            "score": 16.5, "required_score": 15.0, "action": "reject",
            "symbols": { "GTUBE": { "name": "GTUBE", "score": 16.5, "description": "the test of all filters" } },
        });
        filter.always(Answer::status(200).body(said.to_string()));
        let url = filter.url("");
        let server = TestServer::start(&[("SPAM_ANALYSIS_ENABLED", "true"), ("RSPAMD_URL", &url)]);
        run(async {
            let client = client(&server);
            assert!(client.server_info().await.unwrap().spam_analysis_enabled);
            let inbox = client.create_inbox(wanted(mode)).await.unwrap();
            assert_eq!(inbox.spam_analysis(), Some(true), "the server's default");
            server.send(inbox.address(), "Buy", "now");
            let email = inbox.emails().await.unwrap().remove(0);
            assert_eq!(email.is_spam(), Some(true));
            let score = email.spam_score().unwrap();
            assert_eq!(
                (score.score.to_bits(), score.action.as_str()),
                (16.5_f64.to_bits(), "reject")
            );
            assert_eq!(score.symbols[0].name, "GTUBE");

            let trusting = client.create_inbox(wanted(mode).spam_analysis(false)).await.unwrap();
            assert_eq!(trusting.spam_analysis(), Some(false));
            server.send(trusting.address(), "Buy", "now");
            let email = trusting.emails().await.unwrap().remove(0);
            assert_eq!(email.is_spam(), None);
            assert!(matches!(email.spam_analysis(), SpamAnalysis::Skipped { .. }));
        });
    }
}
