//! The live subscription through the SDK: how it ends, and what does not end it.

use restante_client::{Encryption, Error, Existing, Strategy};

use super::stream::{client, client_of, create, each_way, ids, next, nowhere, start};
use super::{STRATEGIES, bob, run};
use crate::harness::TestServer;

#[test]
fn an_inbox_that_is_gone_leaves_and_the_last_one_ends_it() {
    each_way(&async |server, cutter, strategy, mode| {
        let client = client(cutter, strategy);
        let (bob, eve) = (create(&client, "bob", mode).await, create(&client, "eve", mode).await);
        let inboxes = [bob.clone(), eve.clone()];
        let mut watch = client.watch(&inboxes, Existing::Skip).await.unwrap();
        bob.delete().await.unwrap();
        cutter.cut();
        assert!(matches!(next(&mut watch).await, Some(Err(Error::InboxNotFound(_)))));
        let sent = server.send_many(eve.address(), 1);
        assert_eq!(ids(&mut watch, 1).await, sent, "the other one is followed");
        eve.delete().await.unwrap();
        cutter.cut();
        assert!(matches!(next(&mut watch).await, Some(Err(Error::InboxNotFound(_)))));
        assert!(next(&mut watch).await.is_none());
        let over = watch.remove(&bob).await.unwrap_err();
        assert!(matches!(over, Error::Stream(_)), "{over}");
    });
}

#[test]
fn a_stream_that_was_never_open_reports_every_inbox_that_is_gone() {
    let (_server, cutter) = start(&[]);
    run(async {
        let client = client(&cutter, Strategy::Sse);
        let bob = bob(&client, Encryption::Plain).await;
        let mut watch = client.watch(&[], Existing::Skip).await.unwrap();
        watch.add(&bob).await.unwrap();
        bob.delete().await.unwrap();
        cutter.cut();
        assert!(matches!(next(&mut watch).await, Some(Err(Error::InboxNotFound(_)))));
        assert!(next(&mut watch).await.is_none());
    });
}

#[test]
fn closing_the_client_ends_it_with_a_word() {
    each_way(&async |server, cutter, strategy, mode| {
        let client = client(cutter, strategy);
        let bob = bob(&client, mode).await;
        let mut watch = bob.watch(Existing::Skip).await.unwrap();
        server.send_many(bob.address(), 1);
        assert!(next(&mut watch).await.unwrap().is_ok());
        client.close();
        assert!(matches!(next(&mut watch).await, Some(Err(Error::Closed))));
        assert!(next(&mut watch).await.is_none());
        assert!(matches!(bob.watch(Existing::Skip).await, Err(Error::Closed)));
    });
}

#[test]
fn an_inbox_that_is_not_there_is_not_followed() {
    each_way(&async |_, cutter, strategy, mode| {
        let client = client(cutter, strategy);
        let bob = bob(&client, mode).await;
        bob.delete().await.unwrap();
        for existing in [Existing::Skip, Existing::Deliver] {
            assert!(matches!(bob.watch(existing).await, Err(Error::InboxNotFound(_))));
        }
    });
}

#[test]
fn a_server_that_no_longer_takes_the_key_ends_it() {
    for strategy in STRATEGIES {
        let (server, cutter) = start(&[]);
        let other = TestServer::start(&[("LOCAL_API_KEY", "another-key-0123456789-0123456789-0123456789")]);
        run(async {
            let client = client(&cutter, strategy);
            let bob = bob(&client, Encryption::Plain).await;
            let mut watch = bob.watch(Existing::Skip).await.unwrap();
            server.send_many(bob.address(), 1);
            assert!(next(&mut watch).await.unwrap().is_ok());
            cutter.retarget(other.http);
            cutter.cut();
            assert!(matches!(next(&mut watch).await, Some(Err(Error::Unauthorized(_)))));
            assert!(next(&mut watch).await.is_none());
        });
    }
}

#[test]
fn the_stream_alone_gives_up_after_its_attempts() {
    let (server, cutter) = start(&[]);
    run(async {
        let client = client_of(&cutter, Strategy::Sse, 3);
        let bob = bob(&client, Encryption::Plain).await;
        let mut watch = bob.watch(Existing::Skip).await.unwrap();
        let sent = server.send_many(bob.address(), 1);
        assert_eq!(ids(&mut watch, 1).await, sent);
        cutter.retarget(nowhere());
        cutter.cut();
        assert!(matches!(next(&mut watch).await, Some(Err(Error::Stream(_)))));
        assert!(next(&mut watch).await.is_none());
    });
}
