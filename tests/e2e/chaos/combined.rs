//! Several faults of one inbox: the first that strikes decides, and a delay goes with any.

use super::*;

const DELAY: Duration = Duration::from_millis(300);

/// Faults that come with a delay, each with what its reply begins with or how the connection ends.
#[test]
fn a_delay_comes_before_whatever_else_is_done() {
    type Expected = Result<&'static str, ErrorKind>;
    let server = with_bob(&json!({}));
    let ended: [(Value, Expected); 6] = [
        (connection_drop(true), Err(ErrorKind::UnexpectedEof)),
        (connection_drop(false), Err(ErrorKind::ConnectionReset)),
        (error(1.0, &["temporary"]), Ok("4")),
        (error(1.0, &["permanent"]), Ok("5")),
        (json!({ "greylist": { "enabled": true } }), Ok("451 4.7.1 ")),
        (blackhole(false), Ok("250 2.0.0 Ok: msg_")),
    ];
    for (mut chaos, expected) in ended {
        let delay = DELAY.as_millis();
        chaos["latency"] = json!({ "enabled": true, "minDelayMs": delay, "maxDelayMs": delay });
        set(&server, BOB, &chaos);
        let mut peer = Peer::greeted(server.smtp);
        peer.open_transaction(&[BOB]);
        let began = Instant::now();
        let answer = peer.data(MAIL);
        let took = began.elapsed();
        assert!(took >= DELAY, "{chaos}: {took:?}");
        match (&answer, expected) {
            (Ok(reply), Ok(start)) => assert!(reply.starts_with(start), "{chaos}: {reply}"),
            (Err(error), Err(kind)) => assert_eq!(error.kind(), kind, "{chaos}"),
            _ => panic!("{chaos}: {answer:?}"),
        }
    }
    assert!(server.email_ids(BOB).is_empty());
}

#[test]
fn a_greylist_has_the_first_word_and_a_random_error_the_next() {
    let mut chaos = error(1.0, &["permanent"]);
    chaos["greylist"] = json!({ "enabled": true, "maxAttempts": 3 });
    let server = with_bob(&chaos);
    let replies: Vec<_> = (0..4).map(|_| answer(&server).unwrap()).collect();
    assert!(
        replies[..2].iter().all(|reply| reply.starts_with("451 4.7.1 ")),
        "{replies:?}"
    );
    assert!(
        replies[2..]
            .iter()
            .all(|reply| PERMANENT.iter().any(|code| reply.starts_with(code))),
        "{replies:?}"
    );
    // A connection that ends comes before both, and is no attempt.
    chaos["connectionDrop"] = json!({ "enabled": true });
    set(&server, BOB, &chaos);
    assert_eq!(answer(&server).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    assert!(server.email_ids(BOB).is_empty());
}

#[test]
fn what_a_random_error_leaves_is_thrown_away_as_the_seed_says() {
    let codes = |seed| -> Vec<String> {
        let server = start(&[("CHAOS_SEED", seed)]);
        server.create_plain(BOB);
        let mut chaos = error(0.5, &["permanent"]);
        chaos["blackhole"] = json!({ "enabled": true });
        set(&server, BOB, &chaos);
        let codes = (0..24).map(|_| answer(&server).unwrap()[..10].to_owned()).collect();
        assert!(server.email_ids(BOB).is_empty());
        codes
    };
    let first = codes("42");
    assert_eq!(codes("42"), first);
    assert_ne!(codes("43"), first);
    let taken = first.iter().filter(|code| *code == "250 2.0.0 ").count();
    assert!((1..24).contains(&taken), "{first:?}");
    let known = |code: &String| code == "250 2.0.0 " || PERMANENT.contains(&code.as_str());
    assert!(first.iter().all(known), "{first:?}");
}
