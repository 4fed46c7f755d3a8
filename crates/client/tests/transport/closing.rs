//! A client that is closed, in the middle of something or before it.

use restante_client::{Client, Error, NewInbox};
use restante_testkit::receiver::{Answer, Receiver};

use super::stage::{ADDRESS, at_once, client, client_that_must_not_repeat, created, fine, refusal};

/// Closes a clone of the client once the server has its request.
async fn close_during(server: &Receiver, client: &Client) -> Result<(), Error> {
    let other = client.clone();
    let closing = async {
        server.wait_for(1).await;
        other.close();
    };
    let (asked, ()) = at_once(async { tokio::join!(client.check_key(), closing) }).await;
    asked
}

#[tokio::test]
async fn a_request_under_way_ends() {
    let server = Receiver::start();
    server.always(fine().held());
    let ended = close_during(&server, &client(&server)).await;
    assert!(matches!(ended, Err(Error::Closed)), "{ended:?}");
    server.release();
    server.wait_for_no_connection().await;
}

#[tokio::test]
async fn a_pause_between_attempts_ends() {
    let server = Receiver::start();
    server.always(refusal(503, "later"));
    let client = client_that_must_not_repeat(&server.url("")).build().unwrap();
    let ended = close_during(&server, &client).await;
    assert!(matches!(ended, Err(Error::Closed)), "{ended:?}");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn nothing_begins_afterwards() {
    let server = Receiver::start();
    let client = client(&server);
    let inbox = created(&server, &client).await;
    client.close();
    server.always(Answer::status(204));
    for (what, ended) in [
        ("check_key", client.check_key().await.err()),
        ("server_info", client.server_info().await.err()),
        ("health", client.health().await.err()),
        ("create_inbox", client.create_inbox(NewInbox::new()).await.err()),
        ("list_inboxes", client.list_inboxes().await.err()),
        ("inbox that is known", client.inbox(ADDRESS).await.err()),
        ("inbox that is not", client.inbox("b@restante.test").await.err()),
        ("delete_inbox", client.delete_inbox(ADDRESS).await.err()),
        ("delete_all_inboxes", client.delete_all_inboxes().await.err()),
        ("emails", inbox.emails().await.err()),
        ("sync_status", inbox.sync_status().await.err()),
    ] {
        assert!(matches!(ended, Some(Error::Closed)), "{what}: {ended:?}");
    }
    assert_eq!(server.requests().len(), 1, "the creation before");
}
