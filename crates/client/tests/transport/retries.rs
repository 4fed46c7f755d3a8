//! What is tried again, how often, and what is not.

use restante_client::{EmailId, Error, NewInbox};
use restante_testkit::receiver::{Answer, Receiver, Request};

use super::stage::{ADDRESS, at_once, client, client_that_must_not_repeat, created, fine, kind, plain_inbox, refusal};

const ID: &str = "msg_0192a3b4c5d67e8f9a0b1c2d3e4f5a6b";

fn id() -> EmailId {
    ID.parse().expect("it is an id")
}

fn idempotency_key(request: &Request) -> &str {
    request.header("idempotency-key").expect("a POST has one")
}

#[tokio::test]
async fn each_status_of_the_interface_is_tried_again_until_it_is_fine() {
    for status in [408, 429, 500, 502, 503, 504] {
        let server = Receiver::start();
        let failed = || refusal(status, "later");
        server.script([failed(), failed(), failed(), fine()]);
        client(&server).check_key().await.unwrap();
        assert_eq!(server.requests().len(), 4, "{status}");
    }
}

#[tokio::test]
async fn after_three_repetitions_the_last_answer_is_told() {
    for (status, expected) in [(408, "Api"), (429, "RateLimited"), (500, "Api"), (503, "Api")] {
        let server = Receiver::start();
        server.always(refusal(status, "never"));
        let error = client(&server).check_key().await.unwrap_err();
        assert_eq!((kind(&error).as_str(), error.status()), (expected, Some(status)));
        assert_eq!(error.answer().unwrap().message, "never");
        assert_eq!(server.requests().len(), 4, "{status}");
    }
}

#[tokio::test]
async fn every_other_status_is_told_at_once() {
    for status in [
        300, 304, 400, 401, 403, 404, 405, 409, 410, 413, 415, 422, 501, 505, 507,
    ] {
        let server = Receiver::start();
        server.always(refusal(status, "no"));
        let client = client_that_must_not_repeat(&server.url("")).build().unwrap();
        let error = at_once(client.check_key()).await.unwrap_err();
        assert_eq!(error.status(), Some(status));
        assert_eq!(server.requests().len(), 1, "{status}");
    }
}

#[tokio::test]
async fn a_retry_after_that_is_over_holds_nothing_up() {
    for over in [
        "0",
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:00:00 GMT",
        "whenever",
    ] {
        let server = Receiver::start();
        server.script([refusal(429, "slowly").header("Retry-After", over), fine()]);
        client(&server).check_key().await.unwrap();
        assert_eq!(server.requests().len(), 2, "{over}");
    }
}

#[tokio::test]
async fn who_is_to_wait_longer_than_the_time_out_hears_it_at_once() {
    for (asked, secs) in [
        ("31", 31),
        ("Sun, 06 Nov 1994 08:59:37 GMT", 600),
        ("99999999999999999999", u64::MAX),
    ] {
        let server = Receiver::start();
        let client = client(&server);
        server.always(refusal(429, "slowly").header("Retry-After", asked));
        let error = at_once(client.check_key()).await.unwrap_err();
        assert!(
            matches!(&error, Error::RateLimited { retry_after: Some(asked), .. } if asked.as_secs() == secs),
            "{asked}: {error:?}"
        );
        server.always(refusal(503, "no room").header("Retry-After", asked));
        let error = at_once(client.check_key()).await.unwrap_err();
        assert_eq!((kind(&error).as_str(), error.status()), ("Api", Some(503)), "{asked}");
        assert_eq!(server.requests().len(), 2, "{asked}");
    }
}

#[tokio::test]
async fn a_connection_that_breaks_before_the_answer_is_whole_is_tried_again() {
    let server = Receiver::start();
    let client = client(&server);
    let inbox = created(&server, &client).await;

    server.script([Answer::closed(), Answer::broken(200), Answer::closed(), fine()]);
    client.check_key().await.unwrap();
    server.script([Answer::closed(), Answer::status(204)]);
    inbox.mark_read(id()).await.unwrap();
    server.script([Answer::broken(200), Answer::status(204)]);
    inbox.delete_email(id()).await.unwrap();

    let requests = server.requests();
    let made: Vec<(&str, &str)> = requests.iter().skip(1).map(|r| (&*r.method, &*r.target)).collect();
    let email = format!("/api/inboxes/{ADDRESS}/emails/{ID}");
    let read = format!("{email}/read");
    let expected = [
        vec![("GET", "/api/check-key"); 4],
        vec![("PATCH", read.as_str()); 2],
        vec![("DELETE", email.as_str()); 2],
    ];
    assert_eq!(made, expected.concat());
}

#[tokio::test]
async fn a_connection_that_breaks_every_time_is_an_error_of_the_network() {
    let server = Receiver::start();
    server.always(Answer::closed());
    let error = client(&server).check_key().await.unwrap_err();
    assert!(
        matches!(&error, Error::Network { url, .. } if *url == server.url("")),
        "{error:?}"
    );
    assert!(error.is_transient());
    assert_eq!(server.requests().len(), 4);
}

#[tokio::test]
async fn a_post_is_repeated_with_its_idempotency_key_and_its_body() {
    let server = Receiver::start();
    let client = client(&server);
    server.script([
        Answer::closed(),
        refusal(503, "later"),
        plain_inbox(60),
        plain_inbox(60),
    ]);
    client
        .create_inbox(NewInbox::new().plain().address(ADDRESS))
        .await
        .unwrap();
    client
        .create_inbox(NewInbox::new().plain().address(ADDRESS))
        .await
        .unwrap();
    let requests = server.requests();
    let [first, second, third, another] = requests.as_slice() else {
        panic!("{} requests", requests.len())
    };
    for repeated in [second, third] {
        assert_eq!(idempotency_key(first), idempotency_key(repeated));
        assert_eq!(first.body, repeated.body);
    }
    assert_ne!(idempotency_key(first), idempotency_key(another));
}

#[tokio::test]
async fn a_deletion_whose_answer_was_lost_is_done() {
    let gone = || refusal(404, &format!("Email not found: {ID}"));
    for (before, is_done) in [
        (None, false),
        (Some(Answer::closed()), true),
        (Some(Answer::broken(200)), true),
        (Some(refusal(502, "Bad Gateway")), true),
        (Some(refusal(429, "slowly")), false),
        (Some(refusal(503, "no room")), false),
    ] {
        let server = Receiver::start();
        let client = client(&server);
        let inbox = created(&server, &client).await;
        let shown = format!("{before:?}");
        server.script(before.into_iter().chain([gone()]));
        match inbox.delete_email(id()).await {
            Ok(()) => assert!(is_done, "{shown}"),
            Err(error) => assert!(
                !is_done && matches!(error, Error::EmailNotFound(_)),
                "{shown}: {error:?}"
            ),
        }
    }
}

#[tokio::test]
async fn the_health_of_a_server_is_asked_once() {
    let server = Receiver::start();
    server.always(Answer::status(503).body(r#"{"status":"error"}"#));
    let client = client_that_must_not_repeat(&server.url("")).build().unwrap();
    let error = at_once(client.health()).await.unwrap_err();
    assert_eq!(error.to_string(), "Service Unavailable (503)");
    assert_eq!(server.requests().len(), 1);
}
