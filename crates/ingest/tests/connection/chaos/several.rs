//! A message for several inboxes, each with faults of its own.

use super::*;

const PERMANENT: [&str; 5] = ["550 5.1.1 ", "551 5.1.6 ", "552 5.3.4 ", "553 5.1.3 ", "554 5.0.0 "];

/// What a client hears to a message for bob, carol, dave and bob once more, whatever that is.
async fn heard(fixture: &Fixture) -> String {
    let act = async |mut client: Client| {
        client.greet().await;
        client
            .offer("a@sender.test", &["bob", "carol", "dave", "bob+again"])
            .await;
        let _ = client.send(b"QUIT\r\n").await;
        client.heard().await
    };
    fixture.serve(act).await.1
}

/// Inboxes that have asked for these.
async fn inboxes(bob: Value, carol: Value, dave: Value) -> Fixture {
    let fixture = with_bob(bob).await;
    create(&fixture, "carol", carol).await;
    create(&fixture, "dave", dave).await;
    fixture
}

async fn stored(fixture: &Fixture) -> [Vec<String>; 3] {
    [
        ids(fixture, "bob").await,
        ids(fixture, "carol").await,
        ids(fixture, "dave").await,
    ]
}

#[tokio::test]
async fn what_is_thrown_away_is_kept_from_no_neighbour_and_its_id_has_its_place() {
    let off = || json!({ "enabled": false });
    for (chaos, thrown_away) in [
        ([blackhole(), off(), off()], [true, false, false]),
        ([off(), blackhole(), off()], [false, true, false]),
        ([off(), off(), blackhole()], [false, false, true]),
        ([blackhole(), off(), blackhole()], [true, false, true]),
        ([blackhole(), blackhole(), blackhole()], [true, true, true]),
        ([off(), off(), off()], [false, false, false]),
    ] {
        let [bob, carol, dave] = chaos;
        let fixture = inboxes(bob, carol, dave).await;
        let heard = heard(&fixture).await;
        let told = heard.lines().next().unwrap().strip_prefix("250 2.0.0 Ok: ").unwrap();
        let told: Vec<_> = told.split(' ').map(str::to_owned).collect();
        assert_eq!(told.len(), 3, "each inbox has one: {told:?}");
        for ((emails, id), thrown_away) in stored(&fixture).await.into_iter().zip(told).zip(thrown_away) {
            let expected = if thrown_away { vec![] } else { vec![id] };
            assert_eq!(emails, expected);
        }
    }
}

#[tokio::test]
async fn the_strictest_reply_holds_for_all_and_nothing_is_stored() {
    let off = || json!({ "enabled": false });
    let temporary = || greylist("ip", 100);
    let permanent = || error(1.0, &["permanent"]);
    for (chaos, expected, is_reset) in [
        ([temporary(), off(), blackhole()], &["451 4.7.1 "][..], false),
        ([temporary(), permanent(), off()], &PERMANENT, false),
        ([permanent(), temporary(), blackhole()], &PERMANENT, false),
        ([permanent(), connection_drop(true), temporary()], &[""], false),
        (
            [connection_drop(true), connection_drop(false), permanent()],
            &[""],
            true,
        ),
        ([connection_drop(false), connection_drop(true), off()], &[""], true),
    ] {
        let [bob, carol, dave] = chaos;
        let fixture = inboxes(bob.clone(), carol.clone(), dave.clone()).await;
        let heard = heard(&fixture).await;
        let heard = heard.get(..10).unwrap_or_default();
        assert!(expected.contains(&heard), "{heard} for {bob} {carol} {dave}");
        assert_eq!(fixture.was_reset.load(Ordering::Relaxed), is_reset);
        assert!(stored(&fixture).await.iter().all(Vec::is_empty));
    }
}

#[tokio::test]
async fn an_inbox_that_is_named_twice_meets_its_faults_once() {
    let fixture = inboxes(greylist("ip", 3), json!({}), json!({})).await;
    for expected in ["451 4.7.1 ", "451 4.7.1 ", "250 2.0.0 "] {
        assert!(heard(&fixture).await.starts_with(expected));
    }
    assert_eq!(fixture.monitor.counts().met(Fault::Greylist), 2);
}

#[tokio::test(start_paused = true)]
async fn the_longest_delay_holds_for_all() {
    let fixture = inboxes(latency(0, 2000, false), latency(0, 7000, false), json!({})).await;
    let act = async |mut client: Client| {
        client.greet().await;
        let reply = client.deliver_to("a@sender.test", &["bob", "carol", "dave"]).await;
        client.send(b"QUIT\r\n").await.unwrap();
        (reply, client.rest().await.1)
    };
    let (_, (reply, seconds)) = fixture.serve(act).await;
    assert!(reply.starts_with("250 "), "{reply}");
    assert_eq!(seconds, 7);
    assert_eq!(fixture.monitor.counts().met(Fault::Latency), 2);
}
