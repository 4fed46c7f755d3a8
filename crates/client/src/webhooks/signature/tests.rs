//! The vectors of `tests/vectors/webhook-signature`, and each way in which a delivery is refused.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::*;

/// One attempt and the headers that it carries.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Vector {
    secret: String,
    previous_secret: Option<String>,
    timestamp: u64,
    body: String,
    headers: Vec<(String, String)>,
}

impl Vector {
    fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    fn signature_headers(&self) -> SignatureHeaders<'_> {
        SignatureHeaders::find(|name| self.header(name)).unwrap()
    }

    /// The verdict on it when it is received at once.
    fn verdict(&self, secret: &str, body: &[u8]) -> Result<(), DeliveryError> {
        let now = Timestamp::from_unix_ms(self.timestamp * 1000);
        verify_signature(secret, &self.signature_headers(), body, Duration::ZERO, now)
    }
}

fn vectors() -> Vec<(PathBuf, Vector)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/webhook-signature");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let read = |path: &PathBuf| serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let vectors: Vec<_> = paths.map(|path| (path.clone(), read(&path))).collect();
    assert!(vectors.len() >= 15, "only {} vectors", vectors.len());
    vectors
}

#[test]
fn what_another_implementation_signed_is_verified() {
    for (path, vector) in vectors() {
        let verdict = vector.verdict(&vector.secret, vector.body.as_bytes());
        assert_eq!(verdict, Ok(()), "{}", path.display());
    }
}

#[test]
fn a_receiver_with_the_former_secret_goes_on_during_a_rotation() {
    let mut rotations = 0;
    for (path, vector) in vectors() {
        if let Some(previous) = &vector.previous_secret {
            rotations += 1;
            assert_eq!(
                vector.verdict(previous, vector.body.as_bytes()),
                Ok(()),
                "{}",
                path.display()
            );
        }
    }
    assert!(rotations > 0);
}

#[test]
fn another_secret_and_another_body_are_mismatches() {
    for (path, vector) in vectors() {
        let other = format!("{}x", vector.secret);
        let body = vector.body.as_bytes();
        assert_eq!(
            vector.verdict(&other, body),
            Err(DeliveryError::Mismatch),
            "{}",
            path.display()
        );
        let longer = [body, b"\n"].concat();
        let verdict = vector.verdict(&vector.secret, &longer);
        assert_eq!(verdict, Err(DeliveryError::Mismatch), "{}", path.display());
    }
}

/// A delivery, signed at 1,000,000 s, and how it is judged when received so many milliseconds later.
fn received_at(now_ms: u64) -> Result<(), DeliveryError> {
    let code = hmac_sha256(b"whsec_a", b"1000000.body");
    let signature = hex(&code);
    let headers = SignatureHeaders {
        timestamp: "1000000",
        signature: &signature,
        previous_signature: None,
    };
    verify_signature("whsec_a", &headers, b"body", TOLERANCE, Timestamp::from_unix_ms(now_ms))
}

fn hex(code: &[u8]) -> String {
    let digits: Vec<_> = code.iter().map(|byte| format!("{byte:02X}")).collect();
    format!("sha256={}", digits.concat())
}

#[test]
fn the_tolerance_is_five_minutes_in_both_directions() {
    assert_eq!(received_at(1_000_300_000), Ok(()));
    assert_eq!(
        received_at(1_000_300_001),
        Err(DeliveryError::TooOld(Duration::from_millis(300_001)))
    );
    assert_eq!(received_at(999_700_000), Ok(()));
    assert_eq!(
        received_at(999_699_999),
        Err(DeliveryError::TooNew(Duration::from_millis(300_001)))
    );
}

#[test]
fn headers_that_are_missing_or_malformed_are_named() {
    let good = hex(&[0; 32]);
    let verdict = |timestamp: Option<&'static str>, signature: Option<&str>, previous: Option<&str>| {
        let header = |name| match name {
            TIMESTAMP => timestamp,
            SIGNATURE => signature,
            _ => previous,
        };
        let headers = SignatureHeaders::find(header)?;
        verify_signature("whsec_a", &headers, b"", TOLERANCE, Timestamp::from_unix_ms(0))
    };
    assert_eq!(verdict(None, Some(&good), None), Err(DeliveryError::Missing(TIMESTAMP)));
    assert_eq!(
        verdict(Some("0"), None, Some(&good)),
        Err(DeliveryError::Missing(SIGNATURE))
    );
    for timestamp in ["", "+1", "-1", "1.0", " 1", "1e3", "18446744073709551616", "٣"] {
        let refused = Err(DeliveryError::Malformed(TIMESTAMP));
        assert_eq!(verdict(Some(timestamp), Some(&good), None), refused, "{timestamp:?}");
    }
    let (short, long, no_hex) = (&good[..good.len() - 1], format!("{good}0"), good.replace('0', "g"));
    for signature in [
        "",
        "sha256=",
        short,
        &long,
        &no_hex,
        &good["sha256=".len()..],
        "sha1=00",
    ] {
        let refused = Err(DeliveryError::Malformed(SIGNATURE));
        assert_eq!(verdict(Some("0"), Some(signature), None), refused, "{signature:?}");
        let refused = Err(DeliveryError::Malformed(PREVIOUS_SIGNATURE));
        assert_eq!(
            verdict(Some("0"), Some(&good), Some(signature)),
            refused,
            "{signature:?}"
        );
    }
    assert_eq!(verdict(Some("0"), Some(&good), None), Err(DeliveryError::Mismatch));
}

/// A receiver whose secret was not configured must not believe who signs with nothing.
#[test]
fn nothing_is_verified_without_a_secret() {
    for secret in ["", "whsec_", "secret"] {
        let signature = hex(&hmac_sha256(secret.as_bytes(), b"0."));
        let headers = SignatureHeaders {
            timestamp: "0",
            signature: &signature,
            previous_signature: None,
        };
        let verdict = verify_signature(secret, &headers, b"", TOLERANCE, Timestamp::from_unix_ms(0));
        assert_eq!(verdict, Err(DeliveryError::Secret), "{secret}");
    }
}
