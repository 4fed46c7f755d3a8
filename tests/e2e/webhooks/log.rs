//! The log of deliveries, and delivering again (decisions, section 7).

use insta::assert_snapshot;
use restante_model::Timestamp;
use restante_testkit::receiver::Answer;

use super::*;
use crate::harness::shape;

fn moment(value: &Value) -> u64 {
    Timestamp::parse(value.as_str().unwrap()).unwrap().unix_ms()
}

#[test]
fn the_log_says_what_became_of_each_delivery() {
    let receiver = Receiver::start();
    let server = start(&[]);
    server.create_plain(BOB);
    let hook = Hook::new(&server, GLOBAL, &receiver, &["email.received"]);
    assert_eq!(
        server.get(&hook.at("deliveries")).expect_status(200).json(),
        json!({ "deliveries": [] })
    );
    receiver.script([
        Answer::status(201).body("thanks"),
        Answer::status(500).body("x".repeat(2000)),
    ]);
    server.send_raw(BOB, "\r\n");
    hook.after(&server, 1);
    server.send_raw(BOB, "\r\n");
    hook.after(&server, 2);
    let log = server.get(&hook.at("deliveries")).expect_status(200);
    assert_snapshot!(
        "webhook_deliveries",
        shape(&log.body).replace(&"x".repeat(1024), "[1024 times x]")
    );
    let deliveries = hook.deliveries(&server);
    let failed = &deliveries[0];
    // The second attempt is due 30 seconds after the first one ended.
    let wait = moment(&failed["nextAttemptAt"]) - moment(&failed["createdAt"]);
    assert!((30_000..50_000).contains(&wait), "{failed}");
    let ids: Vec<_> = receiver
        .requests()
        .iter()
        .map(|request| request.header("X-Vault-Delivery").unwrap().to_owned())
        .collect();
    assert_eq!(
        [&deliveries[1]["id"], &deliveries[0]["id"]],
        [&json!(ids[0]), &json!(ids[1])]
    );
}

#[test]
fn with_one_attempt_a_failure_is_the_end() {
    let receiver = Receiver::start();
    receiver.always(Answer::status(410));
    let server = start(&[("WEBHOOK_MAX_RETRIES", "1")]);
    server.create_plain(BOB);
    let hook = Hook::new(&server, GLOBAL, &receiver, &["email.received"]);
    server.send_raw(BOB, "\r\n");
    hook.after(&server, 1);
    let delivery = hook.deliveries(&server).remove(0);
    assert_eq!(
        (&delivery["status"], &delivery["statusCode"]),
        (&json!("failed"), &json!(410))
    );
    assert_eq!(
        (delivery.get("nextAttemptAt"), delivery.get("completedAt").is_some()),
        (None, true)
    );
}

#[test]
fn the_log_is_read_page_by_page() {
    let receiver = Receiver::start();
    let server = start(&[]);
    server.create_plain(BOB);
    let hook = Hook::new(&server, GLOBAL, &receiver, &["email.received"]);
    server.send_many(BOB, 5);
    hook.after(&server, 5);
    let all: Vec<_> = hook
        .deliveries(&server)
        .iter()
        .map(|delivery| delivery["id"].clone())
        .collect();
    assert_eq!(all.len(), 5);
    let (mut read, mut query) = (Vec::new(), "?limit=2".to_owned());
    loop {
        let page = server
            .get(&hook.at(&format!("deliveries{query}")))
            .expect_status(200)
            .json();
        let deliveries = page["deliveries"].as_array().unwrap();
        assert!(deliveries.len() <= 2);
        read.extend(deliveries.iter().map(|delivery| delivery["id"].clone()));
        let Some(next) = page.get("next") else { break };
        assert_eq!(next, read.last().unwrap());
        query = format!("?limit=2&before={}", next.as_str().unwrap());
    }
    assert_eq!(read, all);
    for (query, message) in [
        ("?limit=0", "limit must be a number from 1 to 1000"),
        ("?limit=1001", "limit must be a number from 1 to 1000"),
        ("?before=x", "before: expected dlv_ and 32 lowercase hex digits"),
    ] {
        assert_refused(&server.get(&hook.at(&format!("deliveries{query}"))), 400, message);
    }
}

#[test]
fn the_last_hundred_deliveries_are_kept() {
    let receiver = Receiver::start();
    let server = start(&[]);
    server.create_plain(BOB);
    let hook = Hook::new(&server, GLOBAL, &receiver, &["email.received"]);
    server.send_many(BOB, 105);
    hook.after(&server, 105);
    let log = server.get(&hook.at("deliveries?limit=1000")).expect_status(200).json();
    assert_eq!(log["deliveries"].as_array().unwrap().len(), 100);
}

#[test]
fn a_delivery_is_made_once_more_with_the_next_number() {
    let receiver = Receiver::start();
    let server = start(&[]);
    server.create_plain(BOB);
    let hook = Hook::new(&server, GLOBAL, &receiver, &["email.received"]);
    let id = server.send_raw(BOB, "Subject: again\r\n\r\n");
    hook.after(&server, 1);
    let delivery = hook.deliveries(&server)[0]["id"].as_str().unwrap().to_owned();
    let redeliver = hook.at(&format!("deliveries/{delivery}/redeliver"));
    for attempt in ["2", "3"] {
        let answer = server.request("POST", &redeliver, None).expect_status(202);
        assert_eq!(answer.json(), json!({ "id": delivery }));
        hook.after(&server, attempt.parse().unwrap());
        let requests = receiver.requests();
        let (first, last) = (&requests[0], requests.last().unwrap());
        assert_eq!(last.header("X-Vault-Attempt"), Some(attempt));
        assert_eq!(last.header("X-Vault-Delivery"), Some(delivery.as_str()));
        assert_eq!(last.body, first.body);
    }
    let log = hook.deliveries(&server);
    assert_eq!((log.len(), &log[0]["attempt"]), (1, &json!(3)));
    // One that fails is not tried again by itself.
    receiver.script([Answer::status(500)]);
    server.request("POST", &redeliver, None).expect_status(202);
    hook.after(&server, 4);
    let failed = hook.deliveries(&server).remove(0);
    assert_eq!(
        (&failed["status"], failed.get("nextAttemptAt")),
        (&json!("failed"), None)
    );

    server
        .delete(&format!("/api/inboxes/{BOB}/emails/{id}"))
        .expect_status(204);
    let gone = server.request("POST", &redeliver, None);
    assert_refused(
        &gone,
        409,
        "What this delivery told of is gone, it cannot be sent again",
    );
    assert_eq!(receiver.requests().len(), 4);
}

#[test]
fn a_delivery_that_there_is_not_is_404() {
    let server = start(&[]);
    let hook = Hook::create(&server, GLOBAL, &wanted(NOBODY, &["email.stored"], &json!({})));
    for id in ["dlv_0123456789abcdef0123456789abcdef", "x"] {
        let answer = server.request("POST", &hook.at(&format!("deliveries/{id}/redeliver")), None);
        assert_refused(&answer, 404, format!("Delivery not found: {id}"));
    }
}
