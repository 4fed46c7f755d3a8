//! The live subscription through the SDK: inboxes that are deleted and made anew at their addresses.

use restante_client::{Encryption, Error, Existing, Inbox, Strategy};

use super::stream::{client, create, each_way, ids, next, start};
use super::{MODES, STRATEGIES, bob, run, wanted};

/// Deletes it, and makes one of another life at its address.
async fn made_anew(inbox: &Inbox, mode: Encryption) -> Inbox {
    inbox.delete().await.unwrap();
    let wish = wanted(mode).address(inbox.address());
    let anew = inbox.client().create_inbox(wish).await.unwrap();
    assert_ne!(anew.expires_at(), inbox.expires_at(), "two lives begin at two moments");
    anew
}

#[test]
fn mail_of_an_encrypted_inbox_made_anew_is_not_that_of_the_former() {
    for strategy in STRATEGIES {
        for mode in MODES {
            let (server, cutter) = start(&[]);
            run(async {
                let client = client(&cutter, strategy);
                let former = bob(&client, Encryption::Encrypted).await;
                let eve = create(&client, "eve", mode).await;
                let mut watch = client
                    .watch(&[former.clone(), eve.clone()], Existing::Skip)
                    .await
                    .unwrap();
                let anew = made_anew(&former, mode).await;
                server.send(anew.address(), "second life", "text");
                // What follows is the comparison of each minute, too.
                cutter.cut();
                let lost = next(&mut watch).await.unwrap().unwrap_err();
                assert!(matches!(lost, Error::InboxNotFound(_)), "{lost:?}");
                let sent = server.send_many(eve.address(), 1);
                assert_eq!(ids(&mut watch, 1).await, sent);
                watch.add(&anew).await.unwrap();
                let sent = server.send_many(anew.address(), 1);
                assert_eq!(ids(&mut watch, 1).await, sent);
            });
        }
    }
}

#[test]
fn an_inbox_made_anew_is_followed_from_its_own_baseline_on() {
    each_way(&async |server, cutter, strategy, mode| {
        let client = client(cutter, strategy);
        let former = bob(&client, mode).await;
        // A client that polls may ask while there is none at the address; another inbox keeps the subscription up.
        let eve = create(&client, "eve", mode).await;
        let mut watch = client.watch(&[former.clone(), eve], Existing::Skip).await.unwrap();
        let first = server.send_many(former.address(), 2);
        assert_eq!(ids(&mut watch, 2).await, first);
        let anew = made_anew(&former, mode).await;
        watch.add(&anew).await.unwrap();
        let second = server.send_many(anew.address(), 2);
        let mut heard = Vec::new();
        while heard.len() < 2 {
            match next(&mut watch).await.unwrap() {
                Ok(arrival) => {
                    assert_eq!(arrival.inbox.expires_at(), anew.expires_at());
                    heard.push(arrival.email.id.to_string());
                }
                // The former one, which has another hash, or was asked for in between.
                Err(error) => assert!(
                    matches!(error, Error::InboxNotFound(_))
                        && (mode == Encryption::Encrypted || strategy == Strategy::Polling),
                    "{error}"
                ),
            }
        }
        assert_eq!(heard, second);
    });
}

#[test]
fn mail_before_the_baseline_of_an_inbox_made_anew_is_skipped_or_delivered_as_asked() {
    for existing in [Existing::Skip, Existing::Deliver] {
        let (server, cutter) = start(&[]);
        run(async {
            // Over the stream alone, which does not tell of the new one.
            let client = client(&cutter, Strategy::Sse);
            let former = bob(&client, Encryption::Plain).await;
            let mut watch = former.watch(existing).await.unwrap();
            let first = server.send_many(former.address(), 1);
            assert_eq!(ids(&mut watch, 1).await, first);
            let anew = made_anew(&former, Encryption::Plain).await;
            let before = server.send_many(anew.address(), 2);
            watch.add(&anew).await.unwrap();
            let mut expected = server.send_many(anew.address(), 1);
            if existing == Existing::Deliver {
                expected.splice(..0, before);
            }
            assert_eq!(ids(&mut watch, expected.len()).await, expected, "{existing:?}");
        });
    }
}

#[test]
fn an_inbox_made_anew_is_not_read_with_the_handle_of_the_former() {
    for mode in MODES {
        let (server, cutter) = start(&[]);
        run(async {
            let client = client(&cutter, Strategy::Auto);
            let former = bob(&client, Encryption::Encrypted).await;
            let anew = made_anew(&former, mode).await;
            let id = server.send_many(anew.address(), 1).remove(0).parse().unwrap();
            let refusals = [
                former.emails().await.err(),
                former.summaries().await.err(),
                former.email(id).await.err(),
                former.raw(id).await.err(),
                former.watch(Existing::Skip).await.err(),
                former.watch(Existing::Deliver).await.err(),
            ];
            for refusal in refusals {
                assert!(
                    matches!(&refusal, Some(Error::InboxNotFound(answer)) if answer.message.contains("another one")),
                    "{refusal:?}"
                );
            }
            assert_eq!(anew.email(id).await.unwrap().id(), id);
        });
    }
}
