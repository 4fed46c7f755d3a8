//! Refusals at random.

use std::collections::BTreeSet;

use super::*;

/// What is said to so many messages, each on a session of its own, and whether that went on.
async fn outcomes(fixture: &Fixture, count: usize) -> Vec<(String, bool)> {
    let mut outcomes = Vec::new();
    for _ in 0..count {
        let act = async |mut client: Client| {
            client.greet().await;
            let reply = client.deliver().await;
            client.send(b"NOOP\r\nQUIT\r\n").await.unwrap();
            (reply, client.rest().await.0)
        };
        let (ended, (reply, rest)) = fixture.serve(act).await;
        ended.unwrap();
        let goes_on = rest == "250 2.0.0 Ok\r\n221 2.0.0 Bye\r\n";
        assert!(goes_on || rest.is_empty(), "{rest}");
        outcomes.push((reply, goes_on));
    }
    outcomes
}

#[tokio::test]
async fn each_kind_has_its_replies_and_a_421_is_the_last() {
    for (types, expected) in [
        (
            &["temporary"][..],
            &["421 4.7.0 ", "450 4.2.1 ", "451 4.3.0 ", "452 4.3.1 "][..],
        ),
        (
            &["permanent"],
            &["550 5.1.1 ", "551 5.1.6 ", "552 5.3.4 ", "553 5.1.3 ", "554 5.0.0 "],
        ),
    ] {
        let fixture = with_bob(error(1.0, types)).await;
        let mut heard = BTreeSet::new();
        for (reply, goes_on) in outcomes(&fixture, 60).await {
            assert!(reply[10..].starts_with("Simulated fault: "), "{reply}");
            assert_eq!(goes_on, !reply.starts_with("421 "), "{reply}");
            heard.insert(reply[..10].to_owned());
        }
        assert_eq!(heard, expected.iter().map(|code| (*code).to_owned()).collect());
        assert!(ids(&fixture, "bob").await.is_empty());
        assert_eq!(fixture.monitor.counts().refused(Refusal::Chaos), 60);
        assert_eq!(fixture.monitor.counts().met(Fault::RandomError), 60);
    }
}

#[tokio::test]
async fn a_seed_says_the_same_twice_and_another_says_something_else() {
    let mut all = Vec::new();
    for seed in [7, 7, 8] {
        let fixture = Fixture::with(seeded(seed)).await;
        set(&fixture, "bob", error(0.5, &["temporary", "permanent"])).await;
        let outcomes = outcomes(&fixture, 30).await;
        let stored = outcomes.iter().filter(|(reply, _)| reply.starts_with("250 ")).count();
        assert_eq!(ids(&fixture, "bob").await.len(), stored);
        assert!((1..30).contains(&stored), "{stored} of 30");
        let codes: Vec<_> = outcomes.into_iter().map(|(reply, _)| reply[..9].to_owned()).collect();
        all.push(codes);
    }
    assert_eq!(all[0], all[1]);
    assert_ne!(all[0], all[2]);
}

#[tokio::test]
async fn a_session_goes_on_after_a_refusal_that_lets_it() {
    let fixture = with_bob(greylist("ip", 2)).await;
    let act = async |mut client: Client| {
        client.greet().await;
        client
            .send(
                b"MAIL FROM:<a@sender.test>\r\nRCPT TO:<bob@restante.test>\r\nBDAT 5 LAST\r\nfirst\
                  MAIL FROM:<a@sender.test>\r\nRCPT TO:<bob@restante.test>\r\nBDAT 6 LAST\r\nsecondQUIT\r\n",
            )
            .await
            .unwrap();
        client.rest().await.0
    };
    let (_, heard) = fixture.serve(act).await;
    let codes: Vec<_> = heard.lines().map(|line| &line[..9]).collect();
    let opened = ["250 2.1.0", "250 2.1.5"];
    assert_eq!(
        codes,
        [&opened[..], &["451 4.7.1"], &opened, &["250 2.0.0", "221 2.0.0"]].concat()
    );
    let (_, source) = fixture.stored("bob@restante.test").await;
    assert!(source.ends_with("second"), "{source}");
}
