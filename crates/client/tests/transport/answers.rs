//! What is sent, and what becomes of answers that are not the interface's.

use restante_client::Error;
use restante_testkit::receiver::{Answer, Receiver};
use serde_json::json;

use super::stage::{
    ADDRESS, KEY, at_once, builder_of, client, client_that_must_not_repeat, created, fine, kind, refusal,
};

#[tokio::test]
async fn a_request_has_the_key_and_goes_below_the_path_of_the_base_url() {
    for (base, expected) in [
        ("", "/api/check-key"),
        ("/", "/api/check-key"),
        ("/team/a", "/team/a/api/check-key"),
        ("/team/a/", "/team/a/api/check-key"),
    ] {
        let server = Receiver::start();
        server.always(fine());
        let client = builder_of(&server.url(base)).build().unwrap();
        client.check_key().await.unwrap();
        let requests = server.requests();
        assert_eq!(
            (requests[0].method.as_str(), requests[0].target.as_str()),
            ("GET", expected)
        );
        assert_eq!(requests[0].header("x-api-key"), Some(KEY));
        assert_eq!(requests[0].header("idempotency-key"), None);
        assert_eq!(client.url(), server.url(base.trim_end_matches('/')));
    }
}

#[tokio::test]
async fn white_space_around_a_key_is_none_of_it() {
    let server = Receiver::start();
    server.always(fine());
    let client = restante_client::Client::new(server.url(""), format!(" {KEY}\n")).unwrap();
    client.check_key().await.unwrap();
    assert_eq!(server.requests()[0].header("x-api-key"), Some(KEY));
}

#[tokio::test]
async fn an_address_that_is_none_stays_one_segment() {
    let server = Receiver::start();
    server.always(Answer::status(204));
    let client = client(&server);
    for (address, expected) in [("", "%20"), ("..", "%20.."), ("a/../../x", "a%2F..%2F..%2Fx")] {
        client.delete_inbox(address).await.unwrap();
        let target = server.requests().last().unwrap().target.clone();
        assert_eq!(target, format!("/api/inboxes/{expected}"));
    }
}

#[tokio::test]
async fn a_body_of_another_shape_is_told_without_the_body() {
    for body in [
        "",
        "secret",
        "<html>secret</html>",
        r#"{"secret":1}"#,
        r#"{"ok":"secret"}"#,
        r#"{"ok":true"#,
    ] {
        let server = Receiver::start();
        server.always(Answer::status(200).body(body));
        let client = client_that_must_not_repeat(&server.url("")).build().unwrap();
        let error = at_once(client.check_key()).await.unwrap_err();
        let asked = server.url("/api/check-key");
        assert!(
            matches!(&error, Error::UnexpectedAnswer { url, .. } if *url == asked),
            "{body:?}: {error:?}"
        );
        assert!(!format!("{error} {error:?}").contains("secret"), "{error}");
    }
}

#[tokio::test]
async fn a_page_of_somebody_else_is_told_by_its_status() {
    let server = Receiver::start();
    let page = "<html><body>secret 504</body></html>";
    server.always(Answer::status(504).header("Content-Type", "text/html").body(page));
    let error = client(&server).check_key().await.unwrap_err();
    assert_eq!(error.to_string(), "Gateway Timeout (504)");
    server.always(Answer::endless(413));
    let error = client(&server).check_key().await.unwrap_err();
    assert_eq!(error.to_string(), "Payload Too Large (413)");
}

#[tokio::test]
async fn the_id_of_a_request_is_told_with_its_refusal() {
    let server = Receiver::start();
    server.always(refusal(401, "Invalid API key").header("X-Request-Id", "req-7"));
    let error = client(&server).check_key().await.unwrap_err();
    assert_eq!(error.to_string(), "Invalid API key (401, request req-7)");
    assert!(matches!(&error, Error::Unauthorized(answer) if answer.request_id.as_deref() == Some("req-7")));
}

#[tokio::test]
async fn a_redirect_is_told_and_not_followed() {
    let (server, other) = (Receiver::start(), Receiver::start());
    server.always(Answer::redirect(&other.url("/api/check-key")));
    let client = client_that_must_not_repeat(&server.url("")).build().unwrap();
    let error = at_once(client.check_key()).await.unwrap_err();
    assert_eq!((kind(&error).as_str(), error.status()), ("Api", Some(307)));
    assert!(error.to_string().contains(&other.url("/api/check-key")), "{error}");
    assert_eq!(other.connections(), 0, "the key goes nowhere else");
}

#[tokio::test]
async fn refusals_are_of_the_kinds_of_the_interface() {
    let server = Receiver::start();
    let client = client(&server);
    let inbox = created(&server, &client).await;
    for (status, message, expected) in [
        (404, format!("Inbox not found: {ADDRESS}"), "InboxNotFound"),
        (404, "Email not found: msg_1".to_owned(), "EmailNotFound"),
        (404, "Webhook not found: whk_1".to_owned(), "WebhookNotFound"),
        (404, "Route not found: /api/x".to_owned(), "Api"),
        (
            409,
            "An inbox with this email address already exists".to_owned(),
            "InboxTaken",
        ),
        (409, "Webhook limit reached (100)".to_owned(), "Api"),
        (401, "Invalid API key".to_owned(), "Unauthorized"),
    ] {
        server.script([refusal(status, &message)]);
        let error = inbox.sync_status().await.unwrap_err();
        assert_eq!(kind(&error), expected, "{message}");
        assert_eq!(error.to_string(), format!("{message} ({status})"));
    }
}

#[tokio::test]
async fn pages_of_inboxes_that_lead_nowhere_end() {
    let server = Receiver::start();
    let client = client(&server);
    let page = |next: &str| Answer::status(200).body(json!({"inboxes": [], "next": next}).to_string());
    let (low, high) = ("A".repeat(43), "h".repeat(42) + "A");
    server.script([page(&low), page(&high), Answer::status(200).body(r#"{"inboxes":[]}"#)]);
    assert!(client.list_inboxes().await.unwrap().is_empty());
    let asked: Vec<String> = server.requests().into_iter().map(|request| request.target).collect();
    let expected = ["", &format!("&after={low}"), &format!("&after={high}")];
    assert_eq!(asked, expected.map(|after| format!("/api/inboxes?limit=500{after}")));

    server.always(page(&low));
    let error = at_once(client.list_inboxes()).await.unwrap_err();
    assert!(matches!(error, Error::UnexpectedAnswer { .. }), "{error:?}");
}

/// Whoever answers the facts of a server with gigabytes is none; mail may be large.
#[tokio::test]
async fn only_answers_with_mail_may_be_large() {
    let server = Receiver::start();
    let client = client_that_must_not_repeat(&server.url("")).build().unwrap();
    let inbox = created(&server, &client).await;
    let announced = |length: u64| Answer::raw(format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n"));
    let id = "msg_0198c3e1f00070008000000000000001".parse().unwrap();

    server.always(announced(16 * 1024 * 1024 + 1));
    for error in [
        at_once(client.server_info()).await.unwrap_err(),
        at_once(client.health()).await.unwrap_err(),
        at_once(client.list_inboxes()).await.unwrap_err(),
        at_once(inbox.sync_status()).await.unwrap_err(),
    ] {
        assert!(error.to_string().contains("larger than 16777216 bytes"), "{error}");
    }
    server.always(announced(1024 * 1024 * 1024 + 1));
    for error in [
        at_once(inbox.email(id)).await.unwrap_err(),
        at_once(inbox.raw(id)).await.unwrap_err(),
        at_once(inbox.emails()).await.unwrap_err(),
    ] {
        assert!(error.to_string().contains("larger than 1073741824 bytes"), "{error}");
    }
}
