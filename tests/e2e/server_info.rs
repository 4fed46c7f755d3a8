//! What the server says of itself (interface, "Server info").

use insta::assert_snapshot;
use serde_json::json;

use crate::harness::{TestServer, shape};

#[test]
fn the_laptop_without_any_setting() {
    let server = TestServer::start(&[]);
    let answer = server.get("/api/server-info").expect_status(200);
    assert_eq!(answer.header("content-type"), "application/json");
    assert_snapshot!("server_info", shape(&answer.body));
}

#[test]
fn the_vaultsandbox_wire_profile() {
    let server = TestServer::start(&[("WIRE_PROFILE", "vaultsandbox")]);
    assert_snapshot!(
        "server_info_vaultsandbox",
        shape(&server.get("/api/server-info").expect_status(200).body)
    );
}

#[test]
fn a_production_server_with_settings_of_its_own() {
    let server = TestServer::start(&[
        ("SMTP_ALLOWED_RECIPIENT_DOMAINS", "One.example,two.example"),
        ("LOCAL_INBOX_MAX_TTL", "7200"),
        ("LOCAL_INBOX_DEFAULT_TTL", "120"),
        ("SERVER_HOST", "127.0.0.1"),
        ("SMTP_HOST", "127.0.0.1"),
    ]);
    assert_snapshot!(
        "server_info_production",
        shape(&server.get("/api/server-info").expect_status(200).body)
    );
}

#[test]
fn every_policy_is_named() {
    for policy in ["always", "enabled", "disabled", "never"] {
        let server = TestServer::start(&[("ENCRYPTION_ENABLED", policy)]);
        let info = server.get("/api/server-info").expect_status(200).json();
        assert_eq!(info["encryptionPolicy"], policy);
    }
}

#[test]
fn the_signing_key_survives_a_restart_and_is_the_one_that_inboxes_pin() {
    let server = TestServer::start(&[]);
    let key = server.get("/api/server-info").json()["serverSigPk"].clone();
    let client = restante_envelope::DecapsulationKey::generate();
    let inbox = server.create_encrypted("bob@restante.test", &client);
    assert_eq!(inbox["serverSigPk"], key);
    let data = server.stop();
    let server = TestServer::start_in(data, &[], std::sync::Arc::new(restante_model::SystemClock));
    assert_eq!(server.get("/api/server-info").json()["serverSigPk"], key);
    server.get("/api/inboxes/bob@restante.test").expect_status(200);
}

#[test]
fn every_feature_that_can_be_switched_is_told_in_both_profiles() {
    for profile in ["service", "vaultsandbox"] {
        for (setting, value, field, told) in [
            ("CHAOS_ENABLED", "true", "chaosEnabled", json!(true)),
            ("CHAOS_ENABLED", "false", "chaosEnabled", json!(false)),
            ("SPAM_ANALYSIS_ENABLED", "true", "spamAnalysisEnabled", json!(true)),
            ("SPAM_ANALYSIS_ENABLED", "false", "spamAnalysisEnabled", json!(false)),
            ("SSE_CONSOLE_ENABLED", "true", "sseConsole", json!(true)),
            ("SSE_CONSOLE_ENABLED", "false", "sseConsole", json!(false)),
            (
                "LOCAL_ALLOW_CLEAR_ALL_INBOXES",
                "true",
                "allowClearAllInboxes",
                json!(true),
            ),
            (
                "LOCAL_ALLOW_CLEAR_ALL_INBOXES",
                "false",
                "allowClearAllInboxes",
                json!(false),
            ),
            ("PERSISTENCE_POLICY", "never", "persistencePolicy", json!("never")),
            ("WEBHOOK_ENABLED", "false", "webhookEnabled", json!(false)),
            (
                "WEBHOOK_REQUIRE_AUTH_DEFAULT",
                "true",
                "webhookRequireAuthDefault",
                json!(true),
            ),
        ] {
            let server = TestServer::start(&[("WIRE_PROFILE", profile), (setting, value)]);
            let info = server.get("/api/server-info").expect_status(200).json();
            assert_eq!(info[field], told, "{profile} {setting}={value}");
            assert_eq!(info["persistentGlobalWebhooks"], true);
        }
    }
}
