//! Persistent inboxes, and those that never end by themselves (interface additions, "Persistence").

use std::sync::Arc;
use std::time::Duration;

use restante_model::{Clock, Timestamp};
use restante_testkit::FakeClock;
use serde_json::{Value, json};

use crate::harness::{API_KEY, TestServer};

const PROFILES: [&str; 2] = ["service", "vaultsandbox"];
const WISHES: [Option<&str>; 3] = [None, Some("persistent"), Some("ephemeral")];

/// Each policy, and whether inboxes are persistent by the wishes in the order of [`WISHES`].
const POLICIES: [(&str, [bool; 3]); 4] = [
    ("always", [true, true, true]),
    ("enabled", [true, true, false]),
    ("disabled", [false, true, false]),
    ("never", [false, false, false]),
];

const NOW: &str = "2026-01-25T11:41:16.000Z";
const IN_AN_HOUR: &str = "2026-01-25T12:41:16.000Z";

fn clock() -> Arc<FakeClock> {
    Arc::new(FakeClock::at(Timestamp::parse(NOW).unwrap()))
}

fn start(profile: &str, policy: &str) -> TestServer {
    let settings = [("WIRE_PROFILE", profile), ("PERSISTENCE_POLICY", policy)];
    TestServer::start_with_clock(&settings, clock())
}

fn plain(fields: Value) -> Value {
    let mut body = fields;
    body["encryption"] = json!("plain");
    body
}

/// What is shown of an inbox, in its creation and later.
fn shown(server: &TestServer, body: Value) -> Value {
    let created = server.create(&plain(body)).expect_status(201).json();
    let path = format!("/api/inboxes/{}", created["emailAddress"].as_str().unwrap());
    let found = server.get(&path).expect_status(200).json();
    assert_eq!(found, created);
    let all = server.get("/api/inboxes").json();
    assert!(all["inboxes"].as_array().unwrap().contains(&created), "{all}");
    created
}

#[test]
fn the_policy_decides_and_a_forbidden_wish_is_no_error() {
    for profile in PROFILES {
        for (policy, outcomes) in POLICIES {
            let server = start(profile, policy);
            for (wish, outcome) in WISHES.into_iter().zip(outcomes) {
                let inbox = shown(&server, json!({ "persistence": wish }));
                assert_eq!(inbox["persistent"], outcome, "{profile} {policy} {wish:?}");
                assert_eq!(inbox["expiresAt"], IN_AN_HOUR, "{profile} {policy} {wish:?}");
                let inbox = shown(&server, json!({ "persistence": wish, "ttl": 60 }));
                assert_eq!(inbox["persistent"], outcome);
                assert_eq!(
                    inbox["expiresAt"], "2026-01-25T11:42:16.000Z",
                    "{profile} {policy} {wish:?}"
                );
            }
            let info = server.get("/api/server-info").json();
            assert_eq!(info["persistencePolicy"], policy);
            assert_eq!(info["persistentGlobalWebhooks"], true);
        }
    }
}

#[test]
fn an_end_that_is_null_is_none_in_the_other_profile_for_what_asks_to_be_persistent() {
    for profile in PROFILES {
        for (policy, outcomes) in POLICIES {
            let server = start(profile, policy);
            let absent = shown(&server, json!({ "ttl": null }));
            assert_eq!(absent["expiresAt"], IN_AN_HOUR, "{profile} {policy}");
            let asked = shown(&server, json!({ "ttl": null, "persistence": "persistent" }));
            let end = if profile == "vaultsandbox" && outcomes[1] {
                Value::Null
            } else {
                json!(IN_AN_HOUR)
            };
            assert_eq!(asked["expiresAt"], end, "{profile} {policy}");
            assert_eq!(asked["persistent"], outcomes[1], "{profile} {policy}");
            let neither = plain(json!({ "ttl": null, "persistence": "ephemeral" }));
            let refused = server.create(&neither).expect_status(400).json();
            assert_eq!(
                refused["message"],
                "ttl must not be null together with persistence 'ephemeral'"
            );
        }
    }
}

#[test]
fn a_wish_that_is_none_is_refused() {
    let server = start("vaultsandbox", "enabled");
    for (wish, message) in [
        (json!("forever"), "persistence must be 'persistent' or 'ephemeral'"),
        (json!("Persistent"), "persistence must be 'persistent' or 'ephemeral'"),
        (json!(""), "persistence must be 'persistent' or 'ephemeral'"),
        (json!(true), "persistence must be a string"),
    ] {
        let answer = server.create(&plain(json!({ "persistence": wish }))).expect_status(400);
        assert_eq!(answer.json()["message"], message);
    }
    let unknown = server.create(&plain(json!({ "persistent": true }))).expect_status(400);
    assert_eq!(unknown.json()["message"], "property persistent should not exist");
    let null = shown(&server, json!({ "persistence": null }));
    assert_eq!(
        (&null["persistent"], &null["expiresAt"]),
        (&json!(true), &json!(IN_AN_HOUR))
    );
}

#[test]
fn every_inbox_survives_a_restart_and_one_without_end_every_year() {
    let clock = clock();
    let settings = [("WIRE_PROFILE", "vaultsandbox")];
    let server = TestServer::start_with_clock(&settings, clock.clone());
    let inbox = |name: &str, persistence: &str, ttl: Option<u64>| {
        let mut body = json!({ "emailAddress": format!("{name}@restante.test"), "persistence": persistence });
        body["ttl"] = json!(ttl);
        shown(&server, body)
    };
    let inboxes = [
        inbox("stays", "persistent", None),
        inbox("ends", "persistent", Some(120)),
        inbox("passes", "ephemeral", Some(120)),
    ];
    server.send_raw("stays@restante.test", "Subject: a\r\n\r\nb\r\n");

    clock.advance(Duration::from_secs(119));
    let server = TestServer::start_in(server.stop(), &settings, clock.clone());
    for inbox in &inboxes {
        let path = format!("/api/inboxes/{}", inbox["emailAddress"].as_str().unwrap());
        assert_eq!(server.get(&path).expect_status(200).json(), *inbox);
    }

    clock.advance(Duration::from_secs(1));
    let server = TestServer::start_in(server.stop(), &settings, clock.clone());
    for (name, status) in [("stays", 200), ("ends", 404), ("passes", 404)] {
        server
            .get(&format!("/api/inboxes/{name}@restante.test"))
            .expect_status(status);
    }

    let last = Timestamp::from_unix_ms(Timestamp::MAX.unix_ms() - 1);
    clock.advance(clock.now().until(last));
    let stays = server.get("/api/inboxes/stays@restante.test").expect_status(200).json();
    assert_eq!(stays, inboxes[0]);
    let server = TestServer::start_in(server.stop(), &settings, clock);
    assert_eq!(server.email_ids("stays@restante.test").len(), 1);
    server.delete("/api/inboxes/stays@restante.test").expect_status(204);
    server.get("/api/inboxes/stays@restante.test").expect_status(404);
}

#[test]
fn a_repeated_creation_without_end_gets_the_first_answer() {
    let server = start("vaultsandbox", "enabled");
    let body = r#"{"encryption":"plain","persistence":"persistent","ttl":null}"#;
    let create = || {
        let headers = [
            ("X-API-Key", API_KEY),
            ("Content-Type", "application/json"),
            ("Idempotency-Key", "key"),
        ];
        let answer = server.bare_request("POST", "/api/inboxes", &headers, body);
        answer.expect_status(201).body
    };
    let first = create();
    assert!(first.contains(r#""expiresAt":null"#), "{first}");
    assert_eq!(create(), first);
}
