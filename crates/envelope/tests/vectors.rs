//! The vectors of `tests/vectors/envelope`, which another implementation made (`cargo xtask vectors`).

#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as the tests do")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use restante_envelope::{
    DecapsulationKey, OpenError, PayloadPart, Plaintext, SealedPayload, VerifyingKey, WireProfile, base64url,
};
use serde::Deserialize;

/// One scenario.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Vector {
    expect: Expect,
    profile: String,
    client_secret_key: String,
    pinned_server_key: String,
    plaintext: String,
    payload: serde_json::Value,
}

/// `success`, or the stage that must refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Expect {
    Success,
    Malformed,
    KeyMismatch,
    Signature,
    Decryption,
}

impl From<OpenError> for Expect {
    fn from(stage: OpenError) -> Self {
        match stage {
            OpenError::Malformed => Self::Malformed,
            OpenError::KeyMismatch => Self::KeyMismatch,
            OpenError::Signature => Self::Signature,
            OpenError::Decryption => Self::Decryption,
        }
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/envelope")
}

fn read(path: &Path) -> Vector {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn vectors() -> Vec<(PathBuf, Vector)> {
    let paths = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    paths.map(|path| (path.clone(), read(&path))).collect()
}

fn open(vector: &Vector) -> Result<Plaintext, OpenError> {
    let client = DecapsulationKey::parse(&base64url::decode(&vector.client_secret_key).unwrap()).unwrap();
    let pinned = VerifyingKey::from_base64url(&vector.pinned_server_key).unwrap();
    let profile: WireProfile = vector.profile.parse().unwrap();
    let json = serde_json::to_vec(&vector.payload).unwrap();
    SealedPayload::from_json(&json)?.verify(&pinned, profile)?.open(&client)
}

#[test]
fn each_vector_ends_at_its_stage() {
    let mut counts = BTreeMap::<Expect, usize>::new();
    for (path, vector) in vectors() {
        let path = path.display();
        match open(&vector) {
            Ok(plaintext) => {
                assert_eq!(vector.expect, Expect::Success, "{path} opened");
                assert_eq!(
                    plaintext.expose(),
                    base64url::decode(&vector.plaintext).unwrap(),
                    "{path}"
                );
            }
            Err(stage) => assert_eq!(Expect::from(stage), vector.expect, "{path}"),
        }
        *counts.entry(vector.expect).or_default() += 1;
    }
    println!("{counts:?}");
    let expected = [
        (Expect::Success, 13),
        (Expect::Malformed, 73),
        (Expect::KeyMismatch, 5),
        (Expect::Signature, 14),
        (Expect::Decryption, 10),
    ];
    assert_eq!(counts, BTreeMap::from(expected));
}

#[test]
fn genuine_payloads_are_written_as_they_were_read() {
    for (path, vector) in vectors() {
        // Fields that version 1 does not know are not kept.
        let known = vector.payload.as_object().unwrap().len() == 8
            && vector.payload["algs"].as_object().is_some_and(|algs| algs.len() == 4);
        if vector.expect == Expect::Success && known {
            let payload: SealedPayload = serde_json::from_value(vector.payload.clone()).unwrap();
            assert_eq!(
                serde_json::to_value(&payload).unwrap(),
                vector.payload,
                "{}",
                path.display()
            );
        }
    }
}

#[test]
fn each_part_has_the_additional_data_of_its_vector() {
    for profile in [WireProfile::Service, WireProfile::VaultSandbox] {
        for (part, name) in [
            (PayloadPart::Metadata, "metadata"),
            (PayloadPart::Parsed, "parsed"),
            (PayloadPart::Raw, "raw"),
        ] {
            let vector = read(&folder().join(format!("success-{profile}-{name}.json")));
            assert_eq!(vector.payload["aad"], base64url::encode(profile.aad(part)));
        }
    }
}
