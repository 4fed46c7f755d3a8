//! The vectors of `tests/vectors/webhook-signature`, which another implementation made (`cargo xtask vectors`).

#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as the tests do")]

use std::fs;
use std::path::{Path, PathBuf};

use restante_model::EventType;
use restante_webhook::{Signable, WebhookSecret, sign};
use serde::Deserialize;

/// One attempt and the headers that it must carry.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Vector {
    secret: String,
    previous_secret: Option<String>,
    event_id: String,
    event_type: EventType,
    delivery_id: String,
    attempt: u32,
    timestamp: u64,
    body: String,
    headers: Vec<(String, String)>,
}

fn vectors() -> Vec<(PathBuf, Vector)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/webhook-signature");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths
        .map(|path| (path.clone(), serde_json::from_slice(&fs::read(path).unwrap()).unwrap()))
        .collect()
}

fn signed(vector: &Vector) -> Vec<(&'static str, String)> {
    let previous = vector
        .previous_secret
        .as_deref()
        .map(|text| WebhookSecret::parse(text).unwrap());
    let attempt = Signable {
        event_id: &vector.event_id,
        event_type: vector.event_type,
        delivery_id: &vector.delivery_id,
        attempt: vector.attempt,
        timestamp: vector.timestamp,
        body: vector.body.as_bytes(),
    };
    sign(
        &attempt,
        &WebhookSecret::parse(&vector.secret).unwrap(),
        previous.as_ref(),
    )
}

#[test]
fn each_vector_is_signed_as_another_implementation_signs_it() {
    let vectors = vectors();
    assert!(vectors.len() >= 15, "only {} vectors", vectors.len());
    for (path, vector) in vectors {
        let headers: Vec<_> = signed(&vector)
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        assert_eq!(headers, vector.headers, "{}", path.display());
    }
}

#[test]
fn every_event_type_and_both_states_of_a_rotation_have_a_vector() {
    let vectors = vectors();
    for event in EventType::ALL {
        assert!(vectors.iter().any(|(_, vector)| vector.event_type == event), "{event}");
    }
    let rotations = vectors.iter().filter(|(_, vector)| vector.previous_secret.is_some());
    assert!((1..vectors.len()).contains(&rotations.count()));
}

/// A header is one line of printable ASCII, whatever the body holds.
#[test]
fn values_are_one_line() {
    for (path, vector) in vectors() {
        for (name, value) in signed(&vector) {
            let is_plain = value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
            assert!(is_plain && !value.is_empty(), "{}: {name}: {value:?}", path.display());
        }
    }
}
