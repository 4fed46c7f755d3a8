//! Emails that the server makes itself, through the SDK.

use restante_client::auth::{SpfVerdict, Verdict};
use restante_client::{EmailMatcher, Encryption, Error, TestEmail};

use super::{MODES, PROFILES, bob, client, run};
use crate::harness::TestServer;

const ON: (&str, &str) = ("SDK_DEVELOPMENT", "true");

#[test]
fn an_email_has_the_results_that_were_asked_for() {
    for (profile, verified) in PROFILES.into_iter().zip([None, Some(true)]) {
        for mode in MODES {
            let server = TestServer::start(&[profile, &[ON]].concat());
            run(async {
                let client = client(&server);
                let inbox = bob(&client, mode).await;
                let made = TestEmail::to(inbox.address())
                    .from("ceo@shop.test")
                    .subject("Urgent")
                    .text("Pay now\n")
                    .html("<p>Pay now</p>")
                    .spf(SpfVerdict::Softfail)
                    .dmarc(Verdict::Fail);
                let id = client.send_test_email(made).await.unwrap();
                let email = inbox.wait_for(EmailMatcher::new().subject("urgent")).await.unwrap();
                assert_eq!(email.id(), id);
                assert_eq!(email.text(), Some("Pay now\n"));
                assert_eq!(email.html(), Some("<p>Pay now</p>"));
                let results = email.auth_results();
                assert_eq!(results.spf.result, SpfVerdict::Softfail);
                assert_eq!(results.dkim[0].result, Verdict::Pass);
                assert_eq!(results.dmarc.result, Verdict::Fail);
                assert_eq!(results.dmarc.domain.as_deref(), Some("shop.test"));
                assert_eq!(results.reverse_dns.result, Verdict::Pass);
                assert_eq!(results.reverse_dns.verified, verified);
                let summary = email.auth_summary();
                assert!(!summary.passed && summary.dkim_passed && summary.reverse_dns_passed);

                let id = client.send_test_email(TestEmail::to(inbox.address())).await.unwrap();
                assert!(inbox.email(id).await.unwrap().auth_summary().passed);
            });
        }
    }
}

#[test]
fn what_cannot_be_made_is_said() {
    let server = TestServer::start(&[ON]);
    run(async {
        let client = client(&server);
        let nobody = client.send_test_email(TestEmail::to("nobody@restante.test")).await;
        assert!(matches!(nobody, Err(Error::InboxNotFound(_))), "{nobody:?}");
        let inbox = bob(&client, Encryption::Plain).await;
        let long = TestEmail::to(inbox.address()).subject("x".repeat(999));
        let skipped = TestEmail::to(inbox.address()).dkim(Verdict::Skipped);
        for (email, field) in [(long, "subject"), (skipped, "auth.dkim")] {
            let refused = client.send_test_email(email).await.unwrap_err();
            assert_eq!(refused.status(), Some(400), "{refused}");
            assert!(refused.to_string().contains(field), "{refused}");
        }
        assert!(inbox.summaries().await.unwrap().is_empty());
    });
}

#[test]
fn a_server_that_makes_none_has_no_such_route() {
    let server = TestServer::start(&[]);
    run(async {
        let client = client(&server);
        let inbox = bob(&client, Encryption::Plain).await;
        let refused = client
            .send_test_email(TestEmail::to(inbox.address()))
            .await
            .unwrap_err();
        assert!(
            matches!(&refused, Error::Api(answer) if answer.status == 404),
            "{refused:?}"
        );
    });
}
