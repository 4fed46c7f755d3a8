//! Creating inboxes: every field, its limits and its refusals (interface, "Inboxes"; decisions, section 3).

use std::sync::Arc;

use insta::assert_snapshot;
use restante_envelope::digest::sha256;
use restante_envelope::{DecapsulationKey, base64url};
use restante_model::Timestamp;
use restante_testkit::FakeClock;
use serde_json::{Value, json};

use crate::harness::{API_KEY, Answer, TestServer, shape};

fn public_key(key: &DecapsulationKey) -> String {
    base64url::encode(key.encapsulation_key().as_bytes())
}

/// Any body is refused with these words.
fn assert_refused(server: &TestServer, body: &Value, status: u16, message: &str) {
    let answer = server.create(body);
    assert_eq!(answer.status, status, "{body}: {}", answer.body);
    assert_eq!(answer.json()["message"], message, "{body}");
}

fn address(answer: &Answer) -> String {
    answer.json()["emailAddress"].as_str().unwrap().to_owned()
}

#[test]
fn a_plain_inbox_has_exactly_these_fields() {
    let server = TestServer::start(&[]);
    let answer = server
        .create(&json!({ "emailAddress": "bob@restante.test" }))
        .expect_status(201);
    assert_eq!(answer.header("content-type"), "application/json");
    assert_snapshot!("plain_inbox", shape(&answer.body));
    let hash = base64url::encode(sha256(b"plain:bob@restante.test"));
    assert_eq!(answer.json()["inboxHash"], hash);
}

#[test]
fn an_encrypted_inbox_has_the_server_key_as_well() {
    let server = TestServer::start(&[]);
    let key = DecapsulationKey::generate();
    let body = json!({
        "clientKemPk": public_key(&key), "ttl": 60, "emailAddress": "bob@restante.test",
        "encryption": "encrypted", "emailAuth": true,
    });
    let answer = server.create(&body).expect_status(201);
    assert_snapshot!("encrypted_inbox", shape(&answer.body));
    let hash = base64url::encode(sha256(key.encapsulation_key().as_bytes()));
    assert_eq!(answer.json()["inboxHash"], hash);
}

#[test]
fn without_a_body_everything_is_the_default_of_the_server() {
    let server = TestServer::start(&[]);
    let (key, json) = (("X-API-Key", API_KEY), ("Content-Type", "application/json"));
    let text = ("Content-Type", "text/plain");
    for (headers, body) in [
        (&[key][..], ""),
        (&[key, json], ""),
        (&[key, text], ""),
        (&[key, json], "{}"),
        (&[key, ("Content-Type", "Application/JSON; charset=utf-8")], " {} "),
    ] {
        let answer = server
            .bare_request("POST", "/api/inboxes", headers, body)
            .expect_status(201);
        let address = address(&answer);
        let (alias, domain) = address.split_once('@').unwrap();
        assert_eq!(domain, "restante.test");
        assert!(
            alias.len() == 8 && alias.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')),
            "{alias}"
        );
    }
}

#[test]
fn null_is_as_good_as_absent() {
    let server = TestServer::start(&[]);
    let body = json!({
        "clientKemPk": null, "ttl": null, "emailAddress": null, "encryption": null, "emailAuth": null,
        "spamAnalysis": null, "persistence": null, "chaos": null,
    });
    let inbox = server.create(&body).expect_status(201).json();
    assert_eq!(inbox["encrypted"], false);
    assert_eq!(inbox["emailAuth"], false);
    assert_eq!(inbox["spamAnalysis"], false);
    assert_eq!(inbox["persistent"], true);
    assert!(inbox.get("chaos").is_none());
}

#[test]
fn a_body_that_is_not_json_is_refused() {
    let server = TestServer::start(&[]);
    let key = ("X-API-Key", API_KEY);
    let json = ("Content-Type", "application/json");
    for content_type in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/jsonp",
        "application/merge-patch+json",
    ] {
        let headers = [key, ("Content-Type", content_type)];
        let answer = server
            .bare_request("POST", "/api/inboxes", &headers, "{}")
            .expect_status(415);
        assert_snapshot!("not_json", shape(&answer.body));
    }
    let answer = server
        .bare_request("POST", "/api/inboxes", &[key, json], r#"{"ttl": 60,}"#)
        .expect_status(400);
    assert_snapshot!("malformed_json", shape(&answer.body));
    for body in ["[]", "null", "\"a\"", "1"] {
        let answer = server
            .bare_request("POST", "/api/inboxes", &[key, json], body)
            .expect_status(400);
        assert_eq!(answer.json()["message"], "Request body must be a JSON object", "{body}");
    }
    let deep = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
    server
        .bare_request("POST", "/api/inboxes", &[key, json], &deep)
        .expect_status(400);
    assert_eq!(
        server.get("/api/inboxes").json()["inboxes"],
        json!([]),
        "nothing was created"
    );
}

#[test]
fn wrong_types_and_unknown_fields_are_all_named() {
    let server = TestServer::start(&[]);
    assert_refused(&server, &json!({ "ttll": 60 }), 400, "property ttll should not exist");
    assert_refused(
        &server,
        &json!({ "emailAddress": 1 }),
        400,
        "emailAddress must be a string",
    );
    assert_refused(
        &server,
        &json!({ "encryption": true }),
        400,
        "encryption must be a string",
    );
    assert_refused(
        &server,
        &json!({ "encryption": "none" }),
        400,
        "encryption must be 'encrypted' or 'plain'",
    );
    assert_refused(
        &server,
        &json!({ "emailAuth": "true" }),
        400,
        "emailAuth must be a boolean",
    );
    assert_refused(
        &server,
        &json!({ "spamAnalysis": "true" }),
        400,
        "spamAnalysis must be a boolean",
    );
    let key = json!({ "encryption": "encrypted", "clientKemPk": 1 });
    assert_refused(&server, &key, 400, "clientKemPk must be a string");
    let one = server.create(&json!({ "ttll": 60 })).expect_status(400);
    assert_snapshot!("unknown_field", shape(&one.body));
    let several = json!({ "ttl": "60", "emailAuth": 1, "ttll": 60 });
    assert_snapshot!(
        "several_wrong_types",
        shape(&server.create(&several).expect_status(400).body)
    );
    let several = json!({ "ttl": 59, "emailAddress": "a@b@c", "encryption": "encrypted" });
    assert_snapshot!(
        "several_broken_rules",
        shape(&server.create(&several).expect_status(400).body)
    );
}

#[test]
fn a_ttl_is_taken_as_it_is_or_refused() {
    let now = Timestamp::parse("2026-01-25T11:41:16.000Z").unwrap();
    let server = TestServer::start_with_clock(&[], Arc::new(FakeClock::at(now)));
    for (ttl, expires_at) in [
        (json!(null), "2026-01-25T12:41:16.000Z"),
        (json!(60), "2026-01-25T11:42:16.000Z"),
        (json!(60.0), "2026-01-25T11:42:16.000Z"),
        (json!(604_800), "2026-02-01T11:41:16.000Z"),
    ] {
        let inbox = server.create(&json!({ "ttl": ttl })).expect_status(201).json();
        assert_eq!(inbox["expiresAt"], expires_at, "{ttl}");
    }
    for ttl in [
        json!(59),
        json!(604_801),
        json!(0),
        json!(-5),
        json!(-60.0),
        json!(u64::MAX),
        json!(1e300),
    ] {
        assert_refused(
            &server,
            &json!({ "ttl": ttl }),
            400,
            "ttl must be between 60 and 604800 seconds",
        );
    }
    for ttl in [
        json!("60"),
        json!(60.5),
        json!(-60.5),
        json!(true),
        json!([60]),
        json!({}),
    ] {
        assert_refused(&server, &json!({ "ttl": ttl }), 400, "ttl must be a whole number");
    }
}

#[test]
fn the_ttl_settings_move_the_default_and_the_limit() {
    let now = Timestamp::parse("2026-01-25T11:41:16.007Z").unwrap();
    let settings = [("LOCAL_INBOX_DEFAULT_TTL", "61"), ("LOCAL_INBOX_MAX_TTL", "62")];
    let server = TestServer::start_with_clock(&settings, Arc::new(FakeClock::at(now)));
    let inbox = server.create(&json!({})).expect_status(201).json();
    assert_eq!(inbox["expiresAt"], "2026-01-25T11:42:17.007Z");
    server.create(&json!({ "ttl": 62 })).expect_status(201);
    assert_refused(
        &server,
        &json!({ "ttl": 63 }),
        400,
        "ttl must be between 60 and 62 seconds",
    );
}

#[test]
fn an_address_is_normalised_on_the_way_in() {
    let server = TestServer::start(&[]);
    for (wish, given) in [
        ("Bob.Smith_1-x@Restante.TEST", "bob.smith_1-x@restante.test"),
        ("  eve@localhost\t", "eve@localhost"),
        ("carol+tag+more@restante.test", "carol@restante.test"),
        ("a@restante.test", "a@restante.test"),
    ] {
        let answer = server.create(&json!({ "emailAddress": wish })).expect_status(201);
        assert_eq!(address(&answer), given, "{wish}");
    }
    for (wish, domain) in [
        ("", "restante.test"),
        ("  ", "restante.test"),
        ("localhost", "localhost"),
        (" LocalHost ", "localhost"),
    ] {
        let answer = server.create(&json!({ "emailAddress": wish })).expect_status(201);
        let address = address(&answer);
        assert_eq!(address.split_once('@').unwrap().1, domain, "{wish:?}");
        assert_eq!(address.len(), 8 + 1 + domain.len());
    }
}

#[test]
fn the_alias_is_as_random_as_the_setting_says() {
    let server = TestServer::start(&[("INBOX_ALIAS_RANDOM_BYTES", "32")]);
    let first = address(&server.create(&json!({})).expect_status(201));
    assert_eq!(first.len(), 64 + "@restante.test".len());
    assert_ne!(first, address(&server.create(&json!({})).expect_status(201)));
}

#[test]
fn every_rule_of_an_address_has_its_own_words() {
    let server = TestServer::start(&[]);
    let characters = "emailAddress local part may contain only a-z, 0-9, '.', '_' and '-'";
    let edges = "emailAddress local part must start and end with a letter or digit";
    let length = "emailAddress local part must have 1 to 64 characters";
    let long = format!("{}@restante.test", "a".repeat(65));
    for (wish, message) in [
        ("a@b@restante.test", "emailAddress must contain exactly one @"),
        ("@restante.test", length),
        ("+tag@restante.test", length),
        (long.as_str(), length),
        ("a b@restante.test", characters),
        ("ä@restante.test", characters),
        ("a/b@restante.test", characters),
        ("\"a\"@restante.test", characters),
        (".a@restante.test", edges),
        ("a-@restante.test", edges),
        ("_@restante.test", edges),
        ("a..b@restante.test", "emailAddress local part must not contain '..'"),
        ("a@", "emailAddress domain must be a valid domain name"),
        ("a@-restante.test", "emailAddress domain must be a valid domain name"),
        ("a@elsewhere.test", "Domain is not allowed"),
        ("a@sub.restante.test", "Domain is not allowed"),
        ("a@test", "Domain is not allowed"),
        ("elsewhere.test", "Domain is not allowed"),
        ("just a name", "Domain is not allowed"),
    ] {
        assert_refused(&server, &json!({ "emailAddress": wish }), 400, message);
    }
    let longest_local = format!("{}@restante.test", "a".repeat(64));
    server
        .create(&json!({ "emailAddress": longest_local }))
        .expect_status(201);
}

#[test]
fn an_address_has_at_most_254_characters() {
    let domain = format!("{0}.{0}.{1}", "d".repeat(63), "e".repeat(61));
    let settings = [
        ("SMTP_ALLOWED_RECIPIENT_DOMAINS", domain.as_str()),
        ("PROFILE", "laptop"),
    ];
    let server = TestServer::start(&settings);
    let longest = format!("{}@{domain}", "a".repeat(64));
    assert_eq!(longest.len(), 254);
    let answer = server.create(&json!({ "emailAddress": longest })).expect_status(201);
    assert_eq!(address(&answer), longest);
    // A tag counts, although it is stripped.
    let too_long = format!("b+{}@{domain}", "t".repeat(63));
    assert_eq!(too_long.len(), 255);
    let body = json!({ "emailAddress": too_long });
    assert_refused(&server, &body, 400, "emailAddress must be at most 254 characters");
}

#[test]
fn a_taken_address_is_a_conflict_until_it_is_free() {
    let server = TestServer::start(&[]);
    let body = json!({ "emailAddress": "bob@restante.test" });
    server.create(&body).expect_status(201);
    let answer = server.create(&body).expect_status(409);
    assert_snapshot!("taken_address", shape(&answer.body));
    let taken = "An inbox with this email address already exists";
    assert_refused(&server, &json!({ "emailAddress": "BOB+x@restante.test" }), 409, taken);
    server
        .create(&json!({ "emailAddress": "bob@localhost" }))
        .expect_status(201);
    server.delete("/api/inboxes/bob@restante.test").expect_status(204);
    server.create(&body).expect_status(201);
}

#[test]
fn a_client_key_belongs_to_one_live_inbox() {
    let server = TestServer::start(&[]);
    let key = DecapsulationKey::generate();
    server.create_encrypted("bob@restante.test", &key);
    let body = json!({ "encryption": "encrypted", "clientKemPk": public_key(&key) });
    let answer = server.create(&body).expect_status(409);
    assert_snapshot!("taken_key", shape(&answer.body));
    server.delete("/api/inboxes/bob@restante.test").expect_status(204);
    server.create(&body).expect_status(201);
}

#[test]
fn a_client_key_that_would_make_later_mail_fail_is_refused() {
    let server = TestServer::start(&[]);
    let good = DecapsulationKey::generate();
    let bytes = good.encapsulation_key().as_bytes();
    let body = |key: &str| json!({ "encryption": "encrypted", "clientKemPk": key });
    let encoding = "clientKemPk is not base64url without padding (RFC 4648 section 5)";
    let text = public_key(&good);
    // 1184 bytes make 1579 characters, of which the last holds two bits that must be zero.
    let last = text.as_bytes()[1578];
    let trailing = format!("{}{}", &text[..1578], char::from(last + 1));
    for text in [
        format!("{text}="),
        format!("+{}", &text[1..]),
        format!("/{}", &text[1..]),
        format!(" {text}"),
        trailing,
    ] {
        assert_refused(&server, &body(&text), 400, encoding);
    }
    let short = base64url::encode(&bytes[..1183]);
    assert_refused(
        &server,
        &body(&short),
        400,
        "clientKemPk is not a key of 1184 bytes: it has 1183",
    );
    let long = base64url::encode([bytes.as_slice(), &[0]].concat());
    assert_refused(
        &server,
        &body(&long),
        400,
        "clientKemPk is not a key of 1184 bytes: it has 1185",
    );
    assert_refused(
        &server,
        &body(""),
        400,
        "clientKemPk is not a key of 1184 bytes: it has 0",
    );
    // The first coefficient becomes 4095, which is not below 3329 (FIPS 203 section 7.2).
    let mut no_key = *bytes;
    no_key[0] = 0xff;
    no_key[1] |= 0x0f;
    let modulus = "clientKemPk is not an ML-KEM-768 encapsulation key: it fails the FIPS 203 modulus check";
    assert_refused(&server, &body(&base64url::encode(no_key)), 400, modulus);
    let required = "clientKemPk is required for an encrypted inbox";
    assert_refused(&server, &json!({ "encryption": "encrypted" }), 400, required);
    server.create(&body(&text)).expect_status(201);
}

#[test]
fn a_plain_inbox_does_not_look_at_the_client_key() {
    let server = TestServer::start(&[]);
    for key in [json!("no key"), json!(7), json!({ "a": [1] }), json!(""), json!(false)] {
        let inbox = server.create(&json!({ "clientKemPk": key })).expect_status(201).json();
        assert_eq!(inbox["encrypted"], false, "{key}");
        assert!(inbox.get("serverSigPk").is_none());
    }
    // Not even when it is the key of another inbox.
    let key = DecapsulationKey::generate();
    server.create_encrypted("bob@restante.test", &key);
    server
        .create(&json!({ "clientKemPk": public_key(&key) }))
        .expect_status(201);
}

#[test]
fn the_policy_decides_the_mode_and_whether_there_is_a_choice() {
    let forbidden = |policy: &str| format!("encryption cannot be chosen: the server's encryption policy is '{policy}'");
    for (policy, wish, outcome) in [
        ("always", None, Ok(true)),
        ("always", Some("encrypted"), Ok(true)),
        ("always", Some("plain"), Err(forbidden("always"))),
        ("enabled", None, Ok(true)),
        ("enabled", Some("encrypted"), Ok(true)),
        ("enabled", Some("plain"), Ok(false)),
        ("disabled", None, Ok(false)),
        ("disabled", Some("encrypted"), Ok(true)),
        ("disabled", Some("plain"), Ok(false)),
        ("never", None, Ok(false)),
        ("never", Some("encrypted"), Err(forbidden("never"))),
        ("never", Some("plain"), Ok(false)),
    ] {
        let server = TestServer::start(&[("ENCRYPTION_ENABLED", policy)]);
        let key = public_key(&DecapsulationKey::generate());
        let body = json!({ "encryption": wish, "clientKemPk": key });
        match outcome {
            Ok(encrypted) => {
                let inbox = server.create(&body).expect_status(201).json();
                assert_eq!(inbox["encrypted"], encrypted, "{policy} {wish:?}");
                assert_eq!(inbox.get("serverSigPk").is_some(), encrypted, "{policy} {wish:?}");
            }
            Err(message) => assert_refused(&server, &body, 400, &message),
        }
    }
}

/// What may be done with mail, wherever the server has it, and the client's wish for it.
fn assert_is_the_clients_choice(feature: &str, field: &str) {
    let [switch, default] = ["ENABLED", "INBOX_DEFAULT"].map(|name| format!("{feature}_{name}"));
    for (available, by_default, wish, granted) in [
        ("true", "false", None, false),
        ("true", "false", Some(true), true),
        ("true", "true", None, true),
        ("true", "true", Some(false), false),
        ("false", "true", None, false),
        ("false", "false", Some(true), false),
    ] {
        let server = TestServer::start(&[(&switch, available), (&default, by_default)]);
        let body = json!({ "emailAddress": "bob@restante.test", field: wish });
        let inbox = server.create(&body).expect_status(201).json();
        assert_eq!(inbox[field], granted, "{available} {by_default} {wish:?}");
        assert_eq!(server.get("/api/inboxes/bob@restante.test").json(), inbox);
    }
}

#[test]
fn email_authentication_is_the_clients_choice_where_the_server_has_it() {
    assert_is_the_clients_choice("EMAIL_AUTH", "emailAuth");
}

#[test]
fn spam_analysis_is_the_clients_choice_where_the_server_has_it() {
    assert_is_the_clients_choice("SPAM_ANALYSIS", "spamAnalysis");
}
