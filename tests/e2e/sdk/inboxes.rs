//! Inboxes through the SDK: creation, listing, finding, removal, expiry, and what goes wrong.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use restante_client::{Client, Encryption, Error, NewInbox, Strategy, Timestamp};
use restante_testkit::FakeClock;

use super::{MODES, PROFILES, bob, builder, client, client_with, run, wanted};
use crate::harness::{API_KEY, TestServer};

#[test]
fn an_inbox_is_created_listed_found_and_deleted() {
    for profile in PROFILES {
        for mode in MODES {
            let server = TestServer::start(profile);
            run(async {
                let client = client(&server);
                let wish = wanted(mode).address("Bob@restante.test").ttl(Duration::from_mins(2));
                let inbox = client.create_inbox(wish.email_auth(true)).await.unwrap();
                assert_eq!(inbox.address(), "bob@restante.test");
                assert_eq!(inbox.is_encrypted(), mode == Encryption::Encrypted);
                assert_eq!(inbox.email_auth(), Some(true));

                let listed = client.list_inboxes().await.unwrap();
                assert_eq!(listed.len(), 1);
                assert_eq!(listed[0].inbox_hash, inbox.hash());
                assert_eq!(listed[0].expires_at, inbox.expires_at());
                let found = client.inbox("BOB@restante.test").await.unwrap();
                assert_eq!(found.hash(), inbox.hash());

                let empty = inbox.sync_status().await.unwrap();
                assert_eq!(empty.email_count, 0);
                server.send(inbox.address(), "hello", "text");
                let full = inbox.sync_status().await.unwrap();
                assert_eq!(full.email_count, 1);
                assert_ne!(full.emails_hash, empty.emails_hash);

                inbox.delete().await.unwrap();
                inbox.delete().await.unwrap();
                let gone = inbox.sync_status().await.unwrap_err();
                assert!(matches!(gone, Error::InboxNotFound(_)), "{gone:?}");
                let gone = client.inbox("bob@restante.test").await.unwrap_err();
                assert!(matches!(gone, Error::InboxNotFound(_)), "{gone:?}");
                assert!(client.known_inboxes().is_empty());
            });
        }
    }
}

#[test]
fn without_a_wish_the_server_decides() {
    for (policy, encrypted) in [
        ("disabled", false),
        ("enabled", true),
        ("always", true),
        ("never", false),
    ] {
        let server = TestServer::start(&[("ENCRYPTION_ENABLED", policy)]);
        run(async {
            let inbox = client(&server).create_inbox(NewInbox::new()).await.unwrap();
            assert_eq!(inbox.is_encrypted(), encrypted, "{policy}");
            server.send(inbox.address(), "hello", "text");
            assert_eq!(inbox.emails().await.unwrap()[0].subject(), "hello", "{policy}");
        });
    }
}

#[test]
fn a_server_of_the_other_profile_decides_against_a_wish() {
    for (policy, wish, encrypted) in [
        ("always", Encryption::Plain, true),
        ("never", Encryption::Encrypted, false),
    ] {
        let server = TestServer::start(&[("WIRE_PROFILE", "vaultsandbox"), ("ENCRYPTION_ENABLED", policy)]);
        run(async {
            let inbox = bob(&client(&server), wish).await;
            assert_eq!(inbox.is_encrypted(), encrypted, "{policy}");
            server.send(inbox.address(), "hello", "text");
            assert_eq!(inbox.emails().await.unwrap()[0].subject(), "hello", "{policy}");
        });
    }
}

#[test]
fn an_inbox_that_cannot_be_is_refused_with_what_the_server_says() {
    let server = TestServer::start(&[("ENCRYPTION_ENABLED", "never")]);
    run(async {
        let client = client(&server);
        bob(&client, Encryption::Plain).await;
        let taken = client
            .create_inbox(NewInbox::new().address("bob@restante.test"))
            .await
            .unwrap_err();
        assert!(matches!(taken, Error::InboxTaken(_)), "{taken:?}");
        assert_eq!(taken.status(), Some(409));
        for (wish, status, part) in [
            (NewInbox::new().ttl(Duration::from_secs(59)), 400, "ttl"),
            (
                NewInbox::new().address("bob@elsewhere.test"),
                400,
                "Domain is not allowed",
            ),
            (NewInbox::new().encrypted(), 400, "never"),
        ] {
            let refused = client.create_inbox(wish).await.unwrap_err();
            let answer = refused.answer().unwrap();
            assert!(answer.status == status && answer.message.contains(part), "{refused}");
            assert!(answer.request_id.is_some(), "{refused}");
        }
    });
}

#[test]
fn many_inboxes_are_listed_whole_and_deleted_at_once() {
    let server = TestServer::start(&[]);
    run(async {
        let client = client(&server);
        for number in 0..501 {
            let wish = NewInbox::new().plain().address(format!("n{number}@restante.test"));
            client.create_inbox(wish).await.unwrap();
        }
        let listed = client.list_inboxes().await.unwrap();
        assert_eq!(listed.len(), 501);
        assert!(listed.is_sorted_by_key(|inbox| *inbox.inbox_hash.as_bytes()));
        assert_eq!(client.known_inboxes().len(), 501);
        assert_eq!(client.delete_all_inboxes().await.unwrap(), 501);
        assert!(client.known_inboxes().is_empty());
        assert!(client.list_inboxes().await.unwrap().is_empty());
    });
}

#[test]
fn an_inbox_of_another_client_is_read_if_it_is_plain() {
    let server = TestServer::start(&[]);
    run(async {
        let (one, other) = (client(&server), client(&server));
        let plain = bob(&one, Encryption::Plain).await;
        let sealed = one.create_inbox(NewInbox::new().encrypted()).await.unwrap();
        server.send(plain.address(), "hello", "text");
        let found = other.inbox(plain.address()).await.unwrap();
        assert_eq!(found.summaries().await.unwrap()[0].subject(), "hello");
        let refused = other.inbox(sealed.address()).await.unwrap_err();
        assert!(
            matches!(&refused, Error::KeyMissing { address } if address == sealed.address()),
            "{refused:?}"
        );
    });
}

#[test]
fn an_expired_inbox_is_not_found() {
    for mode in MODES {
        let clock = Arc::new(FakeClock::at(Timestamp::parse("2026-01-25T11:41:16.000Z").unwrap()));
        let server = TestServer::start_with_clock(&[], Arc::<FakeClock>::clone(&clock));
        run(async {
            let client = client_with(&server, Strategy::Auto);
            let wish = wanted(mode).address("bob@restante.test").ttl(Duration::from_mins(1));
            let inbox = client.create_inbox(wish).await.unwrap();
            assert_eq!(inbox.expires_at(), Timestamp::parse("2026-01-25T11:42:16.000Z"));
            server.send(inbox.address(), "hello", "text");
            let id = inbox.summaries().await.unwrap()[0].id;
            clock.advance(Duration::from_mins(1));
            let refusals = [
                inbox.emails().await.err(),
                inbox.summaries().await.err(),
                inbox.email(id).await.err(),
                inbox.raw(id).await.err(),
                inbox.mark_read(id).await.err(),
                inbox.delete_email(id).await.err(),
                inbox.sync_status().await.err(),
            ];
            for refusal in refusals {
                assert!(matches!(refusal, Some(Error::InboxNotFound(_))), "{refusal:?}");
            }
            inbox.delete().await.unwrap();
        });
    }
}

#[test]
fn a_wrong_key_is_unauthorized_everywhere() {
    let server = TestServer::start(&[]);
    server.create_plain("bob@restante.test");
    let wrong = "wrong-key-0123456789-0123456789-0123456789";
    run(async {
        let client = Client::new(format!("http://{}", server.http), wrong).unwrap();
        let refusals = [
            client.check_key().await.err(),
            client.create_inbox(NewInbox::new().plain()).await.err(),
            client.list_inboxes().await.err(),
            client.inbox("bob@restante.test").await.err(),
            client.server_info().await.err(),
        ];
        for refusal in refusals {
            let refusal = refusal.unwrap();
            assert!(matches!(refusal, Error::Unauthorized(_)), "{refusal:?}");
            assert!(!format!("{refusal} {refusal:?} {client:?}").contains(wrong));
        }
    });
}

#[test]
fn without_a_server_the_error_names_where_it_should_be() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    run(async {
        let client = builder(&format!("http://{free}"), Strategy::Auto).build().unwrap();
        let refused = client.create_inbox(NewInbox::new()).await.unwrap_err();
        assert!(matches!(refused, Error::Network { .. }), "{refused:?}");
        assert!(refused.to_string().contains(&free.to_string()), "{refused}");
    });
}

#[test]
fn a_closed_client_does_nothing_more() {
    let server = TestServer::start(&[]);
    run(async {
        let client = client(&server);
        let inbox = bob(&client, Encryption::Plain).await;
        client.clone().close();
        let refused = inbox.emails().await.unwrap_err();
        assert!(matches!(refused, Error::Closed), "{refused:?}");
    });
    assert_eq!(server.get("/api/check-key").status, 200, "{API_KEY} is still good");
}
