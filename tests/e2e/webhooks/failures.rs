//! What becomes of a webhook whose target fails, and what is counted (interface, "States and transitions").

use restante_testkit::receiver::Answer;

use super::*;
use crate::harness::shape::is_moment;

/// Sends so many mails; the webhook after the attempts of all.
fn after_mails(server: &TestServer, hook: &Hook, count: usize, attempts: u64) -> Value {
    server.send_many(BOB, count);
    hook.after(server, attempts)
}

#[test]
fn attempts_are_counted_and_the_last_one_is_shown() {
    let receiver = Receiver::start();
    let server = start(&[]);
    server.create_plain(BOB);
    let hook = Hook::new(&server, GLOBAL, &receiver, &["email.received"]);
    let fresh = hook.get(&server);
    let none = json!({ "totalDeliveries": 0, "successfulDeliveries": 0, "failedDeliveries": 0 });
    assert_eq!(fresh["stats"], none);
    assert_eq!(
        (fresh.get("lastDeliveryAt"), fresh.get("lastDeliveryStatus")),
        (None, None)
    );
    receiver.script([Answer::status(200), Answer::status(503)]);
    let webhook = after_mails(&server, &hook, 1, 1);
    assert_eq!(webhook["lastDeliveryStatus"], "success");
    let webhook = after_mails(&server, &hook, 1, 2);
    let both = json!({ "totalDeliveries": 2, "successfulDeliveries": 1, "failedDeliveries": 1 });
    assert_eq!(
        (&webhook["stats"], &webhook["lastDeliveryStatus"]),
        (&both, &json!("failed"))
    );
    assert!(is_moment(webhook["lastDeliveryAt"].as_str().unwrap()));
    let listed = server.get(GLOBAL).json()["webhooks"][0].clone();
    assert_eq!(
        (&listed["lastDeliveryStatus"], listed.get("stats")),
        (&json!("failed"), None)
    );
}

#[test]
fn five_failures_in_a_row_disable_a_webhook() {
    let receiver = Receiver::start();
    receiver.always(Answer::status(500));
    let server = start(&[]);
    server.create_plain(BOB);
    let hook = Hook::new(&server, GLOBAL, &receiver, &["email.received"]);
    let other = Receiver::start();
    let well = Hook::new(&server, GLOBAL, &other, &["email.received"]);
    let webhook = after_mails(&server, &hook, 4, 4);
    assert_eq!(webhook["enabled"], true);
    let webhook = after_mails(&server, &hook, 1, 5);
    assert_eq!(
        (&webhook["enabled"], &webhook["disabledReason"]),
        (&json!(false), &json!("failures"))
    );
    assert_eq!(well.after(&server, 5)["enabled"], true);
    // Nothing is sent now, and what comes is missed.
    server.send_raw(BOB, "Subject: missed\r\n\r\n");
    well.after(&server, 6);
    assert_eq!(receiver.requests().len(), 5);
    // Enabled again it has five more.
    let enabled = hook.patch(&server, &json!({ "enabled": true }));
    assert_eq!(
        (&enabled["enabled"], enabled.get("disabledReason")),
        (&json!(true), None)
    );
    let webhook = after_mails(&server, &hook, 4, 9);
    assert_eq!(webhook["enabled"], true);
    assert_eq!(after_mails(&server, &hook, 1, 10)["disabledReason"], "failures");
}

#[test]
fn a_success_forgets_the_failures_before_it() {
    let receiver = Receiver::start();
    let server = start(&[]);
    server.create_plain(BOB);
    let hook = Hook::new(&server, GLOBAL, &receiver, &["email.received"]);
    receiver.script(std::iter::repeat_n(Answer::status(500), 4));
    after_mails(&server, &hook, 4, 4);
    after_mails(&server, &hook, 1, 5);
    receiver.script(std::iter::repeat_n(Answer::status(500), 4));
    let webhook = after_mails(&server, &hook, 4, 9);
    assert_eq!(webhook["enabled"], true);
    assert_eq!(webhook["stats"]["successfulDeliveries"], 1);
}

#[test]
fn the_metrics_count_webhooks_and_attempts() {
    let receiver = Receiver::start();
    let server = start(&[]);
    server.create_plain(BOB);
    let metrics = || server.get("/api/webhooks/metrics").expect_status(200).json();
    let expected = |webhooks: [u64; 4], deliveries: [u64; 3]| {
        let [global, inbox, enabled, total] = webhooks;
        let [all, successful, failed] = deliveries;
        json!({
            "webhooks": { "global": global, "inbox": inbox, "enabled": enabled, "total": total },
            "deliveries": { "total": all, "successful": successful, "failed": failed },
        })
    };
    assert_eq!(metrics(), expected([0; 4], [0; 3]));
    let global = Hook::new(&server, GLOBAL, &receiver, &["email.received"]);
    let of_bob = Hook::new(&server, &webhooks_of(BOB), &receiver, &["email.stored"]);
    Hook::new(&server, &webhooks_of(BOB), &receiver, &["email.deleted"]).patch(&server, &json!({ "enabled": false }));
    assert_eq!(metrics(), expected([1, 2, 2, 3], [0; 3]));
    after_mails(&server, &global, 1, 1);
    of_bob.after(&server, 1);
    receiver.script([Answer::status(500), Answer::status(500)]);
    after_mails(&server, &global, 1, 2);
    of_bob.after(&server, 2);
    assert_eq!(metrics(), expected([1, 2, 2, 3], [4, 2, 2]));
    server.delete(&global.path).expect_status(204);
    assert_eq!(metrics(), expected([0, 2, 1, 2], [2, 1, 1]));
}
