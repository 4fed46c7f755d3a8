//! What a client may ask for, and what it gets.

use restante_envelope::{DecapsulationKey, WireProfile, base64url, digest::sha256};
use restante_inbox::{
    ChoicePolicy, ClientKey, CreateError, CreateRequest, EncryptionChoice, FieldError, Idempotency, InboxPolicy,
};

use crate::fixture::{Fixture, policy};

fn error_texts(error: &CreateError) -> Vec<String> {
    match error {
        CreateError::Invalid(errors) => errors.iter().map(ToString::to_string).collect(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_address_is_an_address_a_domain_or_nothing() {
    let fixture = Fixture::new();
    let exact = fixture.create(" Bob+tag@Restante.TEST ").await.unwrap();
    assert_eq!(exact.address.as_str(), "bob@restante.test");
    let at_domain = fixture.create("LOCALHOST").await.unwrap();
    assert_eq!(at_domain.address.domain().as_str(), "localhost");
    for nothing in [None, Some(String::new()), Some("  ".into())] {
        let request = CreateRequest {
            address: nothing,
            ..CreateRequest::default()
        };
        let alias = fixture.inboxes.create(request).await.unwrap();
        let (local, domain) = alias.address.as_str().split_once('@').unwrap();
        assert_eq!(domain, "restante.test");
        assert_eq!(local.len(), 8);
        assert!(local.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')), "{local}");
    }
}

#[tokio::test]
async fn a_forbidden_domain_and_a_bad_address_are_refused_with_the_rule() {
    let fixture = Fixture::new();
    let long = format!("{}@restante.test", "a".repeat(255));
    for (address, text) in [
        ("bob@other.test", "Domain is not allowed"),
        ("other.test", "Domain is not allowed"),
        ("sub.restante.test", "Domain is not allowed"),
        ("a@b@restante.test", "emailAddress must contain exactly one @"),
        ("a..b@restante.test", "emailAddress local part must not contain '..'"),
        (long.as_str(), "emailAddress must be at most 254 characters"),
    ] {
        let error = fixture.create(address).await.unwrap_err();
        assert_eq!(error_texts(&error), [text], "{address}");
    }
}

#[tokio::test]
async fn ttl_is_in_range_or_refused() {
    let fixture = Fixture::new();
    for (ttl, fits) in [(59, false), (60, true), (604_800, true), (604_801, false), (0, false)] {
        let request = CreateRequest {
            ttl: restante_inbox::TtlWish::Secs(ttl),
            ..CreateRequest::default()
        };
        let created = fixture.inboxes.create(request).await;
        match created {
            Ok(inbox) => {
                assert!(fits, "{ttl}");
                assert_eq!(inbox.expires_at.unix_ms() - inbox.created_at.unix_ms(), ttl * 1000);
            }
            Err(error) => {
                assert!(!fits, "{ttl}");
                assert_eq!(error_texts(&error), ["ttl must be between 60 and 604800 seconds"]);
            }
        }
    }
    let default = fixture.inboxes.create(CreateRequest::default()).await.unwrap();
    assert_eq!(default.expires_at.unix_ms() - default.created_at.unix_ms(), 3_600_000);
}

#[tokio::test]
async fn all_wrong_fields_are_told_at_once() {
    let fixture = Fixture::new();
    let request = CreateRequest {
        address: Some("a@b@c".into()),
        ttl: restante_inbox::TtlWish::Secs(1),
        encryption: Some(EncryptionChoice::Encrypted),
        ..CreateRequest::default()
    };
    let error = fixture.inboxes.create(request).await.unwrap_err();
    assert_eq!(error_texts(&error).len(), 3);
}

#[tokio::test]
async fn a_taken_address_is_refused_and_free_again_when_it_is_removed() {
    let fixture = Fixture::new();
    let first = fixture.create("bob@restante.test").await.unwrap();
    assert_eq!(
        fixture.create("BOB+x@restante.test").await.unwrap_err(),
        CreateError::AddressTaken
    );
    fixture.inboxes.delete("bob@restante.test").await.unwrap();
    let second = fixture.create("bob@restante.test").await.unwrap();
    assert_ne!(first.key, second.key);
    assert_eq!(first.hash, second.hash);
}

#[tokio::test]
async fn in_the_other_profile_a_taken_address_becomes_an_alias_and_a_forbidden_wish_is_ignored() {
    let fixture = Fixture::with(InboxPolicy {
        profile: WireProfile::VaultSandbox,
        encryption: ChoicePolicy::Never,
        ..policy()
    });
    fixture.create("bob@localhost").await.unwrap();
    let request = CreateRequest {
        address: Some("bob@localhost".into()),
        encryption: Some(EncryptionChoice::Encrypted),
        ..CreateRequest::default()
    };
    let alias = fixture.inboxes.create(request).await.unwrap();
    assert_ne!(alias.address.as_str(), "bob@localhost");
    assert_eq!(alias.address.domain().as_str(), "localhost");
    assert!(!alias.mode.is_encrypted());
}

#[tokio::test]
async fn the_policy_decides_what_may_be_chosen() {
    use EncryptionChoice::{Encrypted, Plain};
    let key = || {
        ClientKey::Text(base64url::encode(
            DecapsulationKey::generate().encapsulation_key().as_bytes(),
        ))
    };
    for (encryption, wish, outcome) in [
        (ChoicePolicy::Always, None, Ok(true)),
        (ChoicePolicy::Always, Some(Encrypted), Ok(true)),
        (ChoicePolicy::Always, Some(Plain), Err(ChoicePolicy::Always)),
        (ChoicePolicy::Enabled, None, Ok(true)),
        (ChoicePolicy::Enabled, Some(Plain), Ok(false)),
        (ChoicePolicy::Disabled, None, Ok(false)),
        (ChoicePolicy::Disabled, Some(Encrypted), Ok(true)),
        (ChoicePolicy::Never, Some(Plain), Ok(false)),
        (ChoicePolicy::Never, Some(Encrypted), Err(ChoicePolicy::Never)),
    ] {
        let fixture = Fixture::with(InboxPolicy { encryption, ..policy() });
        let request = CreateRequest {
            encryption: wish,
            client_key: key(),
            ..CreateRequest::default()
        };
        let created = fixture
            .inboxes
            .create(request)
            .await
            .map(|inbox| inbox.mode.is_encrypted());
        let expected = outcome.map_err(|policy| CreateError::Invalid(vec![FieldError::Encryption(policy)]));
        assert_eq!(created, expected, "{encryption} {wish:?}");
    }
}

#[tokio::test]
async fn spam_analysis_is_the_clients_choice_where_the_server_has_it() {
    for (available, default, wish, granted) in [
        (true, false, None, false),
        (true, false, Some(true), true),
        (true, true, None, true),
        (true, true, Some(false), false),
        (false, true, None, false),
        (false, false, Some(true), false),
    ] {
        let fixture = Fixture::with(InboxPolicy {
            spam_analysis_available: available,
            spam_analysis_default: default,
            ..policy()
        });
        let request = CreateRequest {
            address: Some("bob@restante.test".into()),
            spam_analysis: wish,
            ..CreateRequest::default()
        };
        let created = fixture.inboxes.create(request).await.unwrap();
        assert_eq!(created.spam_analysis, granted, "{available} {default} {wish:?}");
        let found = fixture.inboxes.find("bob@restante.test").await.unwrap();
        assert_eq!(found.spam_analysis, granted, "{available} {default} {wish:?}");
    }
}

#[tokio::test]
async fn an_unusable_client_key_is_refused_and_a_plain_inbox_ignores_it() {
    let fixture = Fixture::new();
    let good = DecapsulationKey::generate();
    let good = good.encapsulation_key().as_bytes();
    let mut beyond_modulus = good.to_vec();
    beyond_modulus[..3].fill(0xff);
    for (key, text) in [
        (ClientKey::Absent, "clientKemPk is required for an encrypted inbox"),
        (ClientKey::NotText, "clientKemPk must be a string"),
        (
            ClientKey::Text(base64url::encode(&good[..1183])),
            "is not a key of 1184 bytes: it has 1183",
        ),
        (
            ClientKey::Text(base64url::encode([good.as_slice(), &[0]].concat())),
            "1184",
        ),
        (ClientKey::Text(base64url::encode(beyond_modulus)), "modulus"),
        (ClientKey::Text(format!("{}=", base64url::encode(good))), "base64url"),
    ] {
        let encryption = Some(EncryptionChoice::Encrypted);
        let request = CreateRequest {
            encryption,
            client_key: key.clone(),
            ..CreateRequest::default()
        };
        let error = fixture.inboxes.create(request).await.unwrap_err();
        let texts = error_texts(&error);
        assert!(
            texts.len() == 1 && texts[0].starts_with("clientKemPk ") && texts[0].contains(text),
            "{texts:?}"
        );
        let plain = CreateRequest {
            client_key: key,
            ..CreateRequest::default()
        };
        assert!(!fixture.inboxes.create(plain).await.unwrap().mode.is_encrypted());
    }
}

#[tokio::test]
async fn a_client_key_has_one_live_inbox() {
    let fixture = Fixture::new();
    let (first, key) = fixture.create_encrypted("bob@restante.test").await;
    let again = || CreateRequest {
        encryption: Some(EncryptionChoice::Encrypted),
        client_key: ClientKey::Text(base64url::encode(key.encapsulation_key().as_bytes())),
        ..CreateRequest::default()
    };
    assert_eq!(
        fixture.inboxes.create(again()).await.unwrap_err(),
        CreateError::KeyTaken
    );
    fixture.inboxes.delete(first.address.as_str()).await.unwrap();
    assert_eq!(fixture.inboxes.create(again()).await.unwrap().hash, first.hash);
}

#[tokio::test]
async fn a_repeated_request_gets_the_first_answer_for_ten_minutes() {
    let fixture = Fixture::new();
    let request = |key: &[u8], body: &[u8]| CreateRequest {
        idempotency: Some(Idempotency {
            key: sha256(key),
            body: sha256(body),
        }),
        ..CreateRequest::default()
    };
    let first = fixture.inboxes.create(request(b"k", b"{}")).await.unwrap();
    fixture.advance_secs(599);
    let second = fixture.inboxes.create(request(b"k", b"{}")).await.unwrap();
    assert_eq!(first.key, second.key);
    let other_body = fixture.inboxes.create(request(b"k", b"{ }")).await.unwrap_err();
    assert_eq!(other_body, CreateError::IdempotencyReused);
    let other_key = fixture.inboxes.create(request(b"l", b"{}")).await.unwrap();
    assert_ne!(first.key, other_key.key);
    fixture.advance_secs(1);
    let later = fixture.inboxes.create(request(b"k", b"{}")).await.unwrap();
    assert_ne!(first.key, later.key);
}
