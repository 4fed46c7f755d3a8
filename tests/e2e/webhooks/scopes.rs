//! Whose a webhook is: everybody's, or an inbox's (interface, "Inbox webhooks"; decisions, section 7).

use super::*;

#[test]
fn a_webhook_is_found_under_its_own_scope_only() {
    let server = start(&[]);
    server.create_plain(BOB);
    server.create_plain(EVE);
    let body = wanted(NOBODY, &["email.stored"], &json!({}));
    let hooks = [GLOBAL.to_owned(), webhooks_of(BOB), webhooks_of(EVE)].map(|at| Hook::create(&server, &at, &body));
    for at in [GLOBAL.to_owned(), webhooks_of(BOB), webhooks_of(EVE)] {
        for hook in &hooks {
            let path = format!("{at}/{}", hook.id());
            if path == hook.path {
                server.get(&path).expect_status(200);
                continue;
            }
            let not_found = format!("Webhook not found: {}", hook.id());
            let delivery = "deliveries/dlv_0123456789abcdef0123456789abcdef/redeliver";
            for (method, operation) in [
                ("GET", ""),
                ("PATCH", ""),
                ("DELETE", ""),
                ("POST", "/test"),
                ("POST", "/rotate-secret"),
                ("GET", "/deliveries"),
                ("POST", &format!("/{delivery}")),
            ] {
                let answer = server.request(method, &format!("{path}{operation}"), None);
                assert_refused(&answer, 404, not_found.as_str());
            }
        }
        let list = server.get(&at).json();
        assert_eq!(list["total"], 1, "{at}");
    }
}

#[test]
fn a_webhook_of_an_inbox_names_it() {
    let server = start(&[]);
    let hash = server.create_plain(BOB);
    let hook = Hook::create(
        &server,
        "/api/inboxes/BOB@Restante.test/webhooks",
        &wanted(NOBODY, &["email.stored"], &json!({})),
    );
    assert_eq!(hook.created["scope"], "inbox");
    assert_eq!(hook.created["inboxEmail"], BOB);
    assert_eq!(hook.created["inboxHash"], hash);
    let global = Hook::create(&server, GLOBAL, &wanted(NOBODY, &["email.stored"], &json!({})));
    assert_eq!(global.created["scope"], "global");
    assert_eq!(
        (global.created.get("inboxEmail"), global.created.get("inboxHash")),
        (None, None)
    );
}

#[test]
fn with_their_inbox_its_webhooks_vanish_from_everywhere() {
    let server = start(&[("WEBHOOK_MAX_INBOX", "1")]);
    server.create_plain(BOB);
    let body = wanted(NOBODY, &["email.stored"], &json!({}));
    let global = Hook::create(&server, GLOBAL, &body);
    let hook = Hook::create(&server, &webhooks_of(BOB), &body);
    let counts = |global: u64, inbox: u64| json!({ "global": global, "inbox": inbox, "enabled": global + inbox, "total": global + inbox });
    let metrics = || server.get("/api/webhooks/metrics").expect_status(200).json()["webhooks"].clone();
    assert_eq!(metrics(), counts(1, 1));
    server.delete(&format!("/api/inboxes/{BOB}")).expect_status(204);
    assert_eq!(metrics(), counts(1, 0));
    assert_refused(&server.get(&hook.path), 404, format!("Inbox not found: {BOB}"));
    // A later inbox at the address has none of them, and the whole of its limit.
    server.create_plain(BOB);
    assert_refused(
        &server.get(&hook.path),
        404,
        format!("Webhook not found: {}", hook.id()),
    );
    assert_eq!(server.get(&webhooks_of(BOB)).json()["total"], 0);
    Hook::create(&server, &webhooks_of(BOB), &body);
    assert_eq!(metrics(), counts(1, 1));
    server.get(&global.path).expect_status(200);
}

#[test]
fn a_global_webhook_hears_of_all_inboxes_and_that_of_an_inbox_of_its_own() {
    let (everybody, bobs) = (Receiver::start(), Receiver::start());
    let server = start(&[]);
    let hashes = [server.create_plain(BOB), server.create_plain(EVE)];
    Hook::new(&server, GLOBAL, &everybody, &["email.received"]);
    Hook::new(&server, &webhooks_of(BOB), &bobs, &["email.received"]);
    let ids = server.send_to(&[BOB, EVE], "Subject: both\r\n\r\nhi\r\n");
    let mut told: Vec<_> = everybody
        .block_for(2)
        .iter()
        .map(restante_testkit::receiver::Request::json)
        .collect();
    told.sort_by_key(|event| event["data"]["inboxEmail"].as_str().unwrap().to_owned());
    for (index, address) in [BOB, EVE].into_iter().enumerate() {
        let data = &told[index]["data"];
        assert_eq!(data["inboxEmail"], address);
        assert_eq!(data["inboxId"], hashes[index]);
        assert!(ids.contains(&data["id"].as_str().unwrap().to_owned()));
    }
    // What would be told of Eve's mail wrongly is told of Bob's next mail rightly.
    server.send_raw(BOB, "Subject: one\r\n\r\nhi\r\n");
    let subjects: Vec<_> = bobs
        .block_for(2)
        .iter()
        .map(|request| request.json()["data"]["subject"].clone())
        .collect();
    assert_eq!(subjects, ["both", "one"]);
}
