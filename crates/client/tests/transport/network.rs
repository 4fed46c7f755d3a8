//! Servers that are not there, say nothing, or say something else.

use std::net::TcpListener;
use std::time::Duration;

use restante_client::Error;
use restante_testkit::receiver::{Answer, Receiver, Stage};

use super::stage::{at_once, client_that_must_not_repeat};

/// A time-out that is over soon.
const SOON: Duration = Duration::from_millis(50);

#[tokio::test]
async fn a_refused_connection_is_told_at_once() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let client = client_that_must_not_repeat(&url).build().unwrap();
    let error = at_once(client.check_key()).await.unwrap_err();
    assert!(
        matches!(&error, Error::Network { url: named, reason } if *named == url && reason.contains("refused")),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_silent_server_is_a_time_out_of_the_request() {
    for (silent, stage) in [
        (Receiver::start_mute(), None),
        (Receiver::start(), Some(Stage::BeforeStatus)),
        (Receiver::start(), Some(Stage::InHeaders)),
        (Receiver::start(), Some(Stage::InBody)),
    ] {
        if let Some(stage) = stage {
            silent.always(Answer::stalled(stage));
        }
        let url = silent.url("");
        let client = client_that_must_not_repeat(&url).timeout(SOON).build().unwrap();
        let error = at_once(client.check_key()).await.unwrap_err();
        assert!(
            matches!(&error, Error::RequestTimeout { url: named, limit } if *named == url && *limit == SOON),
            "{stage:?}: {error:?}"
        );
        assert_eq!(error.to_string(), format!("no answer from {url} within 0.05 s"));
        assert!(error.is_transient());
    }
}

#[tokio::test]
async fn a_server_that_speaks_something_else_is_told_at_once() {
    let server = Receiver::start();
    server.always(Answer::raw("220 mail.test ESMTP secret\r\n"));
    let client = client_that_must_not_repeat(&server.url("")).build().unwrap();
    let error = at_once(client.check_key()).await.unwrap_err();
    assert!(matches!(&error, Error::UnexpectedAnswer { .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("it is not HTTP") && !text.contains("secret"), "{text}");
    assert_eq!(server.requests().len(), 1);
}
