//! What the checks are said to have said: forced, in both profiles, and what follows from it.

use restante_envelope::{DecapsulationKey, SealedPayload, VerifyingKey, WireProfile, base64url};
use restante_testkit::receiver::Receiver;

use super::*;
use crate::harness::mail::EMPTY;

const OTHER_PROFILE: (&str, &str) = ("WIRE_PROFILE", "vaultsandbox");

#[test]
fn every_result_can_be_had_whether_the_inbox_is_checked_or_not() {
    const SPF: [&str; 7] = ["pass", "fail", "softfail", "neutral", "none", "temperror", "permerror"];
    const OTHERS: [&str; 3] = ["pass", "fail", "none"];
    for (profile, name) in [
        ("service", "test.restante.local"),
        ("vaultsandbox", "test.vaultsandbox.local"),
    ] {
        let server = TestServer::start(&[SERVED, ("WIRE_PROFILE", profile)]);
        for is_checked in [true, false] {
            let inbox = json!({ "emailAddress": BOB, "encryption": "plain", "emailAuth": is_checked });
            server.create(&inbox).expect_status(201);
            for (spf, other) in SPF.iter().zip(OTHERS.iter().cycle()) {
                let auth = json!({ "spf": spf, "dkim": other, "dmarc": other, "reverseDns": other });
                let body = json!({ "to": BOB, "from": "A <a@x.test>", "auth": auth });
                let [_, content] = shown(&server, &made(&server, &body));
                let mut reverse_dns = json!({
                    "result": other,
                    "ip": "127.0.0.1",
                    "hostname": if *other == "pass" { name } else { "" },
                });
                if profile == "vaultsandbox" {
                    reverse_dns["verified"] = (*other == "pass").into();
                }
                let expected = json!({
                    "spf": {
                        "result": spf,
                        "domain": "x.test",
                        "ip": "127.0.0.1",
                        "details": format!("spf={spf} (test email)"),
                    },
                    "dkim": [{
                        "result": other,
                        "domain": "x.test",
                        "selector": "test",
                        "signature": format!("dkim={other} (test email)"),
                    }],
                    "dmarc": { "result": other, "policy": "none", "aligned": true, "domain": "x.test" },
                    "reverseDns": reverse_dns,
                });
                assert_eq!(content["authResults"], expected);
            }
            server.delete(&format!("/api/inboxes/{BOB}")).expect_status(204);
        }
    }
}

#[test]
fn reverse_dns_takes_booleans_in_the_other_profile_only() {
    let body = |value: Value| json!({ "to": BOB, "auth": { "reverseDns": value } });
    let (service, other) = (start(&[]), start(&[OTHER_PROFILE]));
    for (flag, word) in [(true, "pass"), (false, "fail")] {
        let message = json!("auth.reverseDns must be one of pass, fail, none");
        refused(&post(&service, &body(flag.into())), 400, &message);
        let [_, content] = shown(&other, &made(&other, &body(flag.into())));
        let result = &content["authResults"]["reverseDns"];
        assert_eq!([&result["result"], &result["verified"]], [&json!(word), &json!(flag)]);
    }
    let message = json!("auth.reverseDns must be one of pass, fail, none, true, false");
    refused(&post(&other, &body("skipped".into())), 400, &message);
}

#[test]
fn mail_over_smtp_says_whether_reverse_dns_was_verified_in_the_other_profile_only() {
    for (profile, verified) in [("service", None), ("vaultsandbox", Some(&json!(false)))] {
        let server = TestServer::start(&[("WIRE_PROFILE", profile)]);
        server.create_plain(BOB);
        let [_, content] = shown(&server, &server.send_raw(BOB, EMPTY));
        assert_eq!(content["authResults"]["reverseDns"]["result"], "skipped");
        assert_eq!(content["authResults"]["reverseDns"].get("verified"), verified);
    }
}

#[test]
fn an_encrypted_inbox_gets_the_same_sealed() {
    for (name, profile) in [
        ("service", WireProfile::Service),
        ("vaultsandbox", WireProfile::VaultSandbox),
    ] {
        let server = TestServer::start(&[SERVED, ("WIRE_PROFILE", name)]);
        let key = DecapsulationKey::generate();
        let inbox = server.create_encrypted(BOB, &key);
        let pinned = base64url::decode(inbox["serverSigPk"].as_str().unwrap()).unwrap();
        let pinned = VerifyingKey::parse(&pinned).unwrap();
        let opened = |id: &str| -> Value {
            let email = server
                .get(&format!("/api/inboxes/{BOB}/emails/{id}"))
                .expect_status(200);
            let payload = SealedPayload::from_json(email.json()["encryptedParsed"].to_string().as_bytes()).unwrap();
            let plaintext = payload.verify(&pinned, profile).unwrap().open(&key).unwrap();
            serde_json::from_slice(plaintext.expose()).unwrap()
        };
        let body = json!({ "to": BOB, "subject": "Grüße", "html": "<b>x</b>", "auth": { "reverseDns": "pass" } });
        let content = opened(&made(&server, &body));
        assert_eq!([&content["subject"], &content["html"]], ["Grüße", "<b>x</b>"]);
        let over_smtp = opened(&server.send_raw(BOB, EMPTY));
        let verified = |content: &Value| content["authResults"]["reverseDns"].get("verified").cloned();
        let expected = match profile {
            WireProfile::Service => [None, None],
            WireProfile::VaultSandbox => [Some(json!(true)), Some(json!(false))],
        };
        assert_eq!([verified(&content), verified(&over_smtp)], expected, "{name}");
    }
}

#[test]
fn webhooks_hear_of_it_and_their_filters_go_by_the_forced_results() {
    let server = start(&[("WEBHOOK_ALLOW_HTTP", "true")]);
    let (strict, witness) = (Receiver::start(), Receiver::start());
    for (receiver, is_strict) in [(&strict, true), (&witness, false)] {
        let body = json!({
            "url": receiver.url("/hook"),
            "events": ["email.received"],
            "filter": { "requireAuth": is_strict },
        });
        server.request("POST", "/api/webhooks", Some(&body)).expect_status(201);
    }
    let auths = [
        (json!({ "spf": "softfail" }), false),
        (json!({ "dkim": "none" }), false),
        (json!({ "dmarc": "fail" }), false),
        (json!({ "reverseDns": "fail" }), true),
        (json!({}), true),
    ];
    let mut expected = Vec::new();
    for (auth, is_told) in &auths {
        let id = made(&server, &json!({ "to": BOB, "auth": auth }));
        expected.extend(is_told.then_some(id));
    }
    witness.block_for(auths.len());
    let mut told: Vec<String> = strict
        .block_for(expected.len())
        .iter()
        .map(|request| {
            let event: Value = serde_json::from_slice(&request.body).unwrap();
            event["data"]["id"].as_str().unwrap().to_owned()
        })
        .collect();
    told.sort();
    assert_eq!(told, expected);
}
