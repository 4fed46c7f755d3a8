//! What is and what is not accepted as a key.

use std::ops::Range;

use restante_envelope::{
    DecapsulationKey, EncapsulationKey, KeyError, PayloadPart, SealedPayload, SigningKey, VerifyingKey, WireProfile,
    base64url, seal,
};

/// First, middle and last byte of a part.
fn spots(part: Range<usize>) -> [usize; 3] {
    [part.start, part.start.midpoint(part.end), part.end - 1]
}

/// `bytes` with one bit of one byte changed.
fn flipped(bytes: &[u8], spot: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[spot] ^= 1;
    bytes
}

fn refusal<T>(result: Result<T, KeyError>) -> Option<KeyError> {
    result.err()
}

#[test]
fn decapsulation_key_survives_export_and_import() {
    let key = DecapsulationKey::generate();
    let imported = DecapsulationKey::parse(key.expose()).unwrap();
    assert_eq!(imported.expose(), key.expose());
    assert_eq!(imported.encapsulation_key(), key.encapsulation_key());
    assert_eq!(imported.encapsulation_key().as_bytes(), &key.expose()[1152..2336]);
}

#[test]
fn decapsulation_key_with_a_changed_private_part_is_refused() {
    let key = DecapsulationKey::generate();
    for spot in spots(0..1152) {
        assert_eq!(
            refusal(DecapsulationKey::parse(&flipped(key.expose(), spot))),
            Some(KeyError::Mismatch),
            "{spot}"
        );
    }
}

#[test]
fn decapsulation_key_with_a_changed_public_part_is_refused() {
    let key = DecapsulationKey::generate();
    for spot in spots(1152..2336) {
        assert_eq!(
            refusal(DecapsulationKey::parse(&flipped(key.expose(), spot))),
            Some(KeyError::Hash),
            "{spot}"
        );
    }
}

#[test]
fn decapsulation_key_with_a_changed_hash_is_refused() {
    let key = DecapsulationKey::generate();
    for spot in spots(2336..2368) {
        assert_eq!(
            refusal(DecapsulationKey::parse(&flipped(key.expose(), spot))),
            Some(KeyError::Hash),
            "{spot}"
        );
    }
}

/// `z` is 32 independent random bytes: any value makes a valid key (FIPS 203 section 7.3 checks none of it), and only
/// what a forged ciphertext decapsulates to depends on it. So a changed `z` cannot be refused, and does no harm.
#[test]
fn decapsulation_key_with_a_changed_z_is_another_valid_key_that_opens_the_same_mail() {
    let (profile, part) = (WireProfile::Service, PayloadPart::Raw);
    let key = DecapsulationKey::generate();
    let server = SigningKey::generate();
    for spot in spots(2368..2400) {
        let imported = DecapsulationKey::parse(&flipped(key.expose(), spot)).unwrap();
        let sealed = seal(profile, part, key.encapsulation_key(), b"hello");
        let signature = sealed.sign(profile, part, &server);
        let payload = SealedPayload::new(sealed, profile, part, signature, server.verifying_key().clone());
        let verified = payload.verify(server.verifying_key(), profile).unwrap();
        assert_eq!(verified.open(&imported).unwrap().expose(), b"hello");
    }
}

#[test]
fn decapsulation_key_made_of_two_keys_is_refused() {
    let (one, other) = (DecapsulationKey::generate(), DecapsulationKey::generate());
    let mixed = [&one.expose()[..1152], &other.expose()[1152..]].concat();
    assert_eq!(refusal(DecapsulationKey::parse(&mixed)), Some(KeyError::Mismatch));
}

#[test]
fn encapsulation_key_with_an_unreduced_coefficient_is_refused() {
    let key = DecapsulationKey::generate();
    let mut bytes = *key.encapsulation_key().as_bytes();
    assert_eq!(EncapsulationKey::parse(&bytes).unwrap().as_bytes(), &bytes);
    // The first coefficient, 12 bits, becomes 3329.
    bytes[0] = 0x01;
    bytes[1] = (bytes[1] & 0xf0) | 0x0d;
    assert_eq!(refusal(EncapsulationKey::parse(&bytes)), Some(KeyError::Modulus));
}

#[test]
fn lengths_are_exact() {
    type Parse = fn(&[u8]) -> Option<KeyError>;
    let keys: [(usize, Parse); 4] = [
        (1184, |bytes| refusal(EncapsulationKey::parse(bytes))),
        (2400, |bytes| refusal(DecapsulationKey::parse(bytes))),
        (1952, |bytes| refusal(VerifyingKey::parse(bytes))),
        (4032, |bytes| refusal(SigningKey::from_raw(bytes))),
    ];
    for (expected, parse) in keys {
        for actual in [0, expected - 1, expected + 1] {
            assert_eq!(parse(&vec![0; actual]), Some(KeyError::Length { expected, actual }));
        }
    }
}

#[test]
fn public_keys_are_read_from_strict_base64url_only() {
    let kem = base64url::encode(DecapsulationKey::generate().encapsulation_key().as_bytes());
    let sig = base64url::encode(SigningKey::generate().verifying_key().as_bytes());
    assert_eq!(
        base64url::encode(EncapsulationKey::from_base64url(&kem).unwrap().as_bytes()),
        kem
    );
    assert_eq!(
        base64url::encode(VerifyingKey::from_base64url(&sig).unwrap().as_bytes()),
        sig
    );
    for suffix in ["=", "+", "/", "\n"] {
        let refused = Some(KeyError::Encoding(base64url::InvalidBase64Url));
        assert_eq!(
            refusal(EncapsulationKey::from_base64url(&format!("{kem}{suffix}"))),
            refused
        );
        assert_eq!(
            refusal(VerifyingKey::from_base64url(&format!("{sig}{suffix}"))),
            refused
        );
    }
}

#[test]
fn signing_key_survives_export_and_import() {
    let key = SigningKey::generate();
    let raw = key.expose();
    assert_eq!(raw.len(), SigningKey::LEN);
    let imported = SigningKey::from_raw(&raw).unwrap();
    assert_eq!(imported.verifying_key(), key.verifying_key());
    assert_eq!(imported.expose(), raw);
}

/// `K` only feeds the randomness of signatures, so any value is valid and belongs to the same public key.
#[test]
fn signing_key_with_any_changed_part_but_k_is_refused() {
    let key = SigningKey::generate();
    let raw = key.expose();
    // FIPS 204 skEncode: rho, K, tr, s1, s2, t0.
    let (rho, k, tr, s1, s2, t0) = (0..32, 32..64, 64..128, 128..768, 768..1536, 1536..4032);
    for spot in [rho, tr, s1, s2, t0].into_iter().flat_map(spots) {
        assert_eq!(
            refusal(SigningKey::from_raw(&flipped(&raw, spot))),
            Some(KeyError::Refused),
            "{spot}"
        );
    }
    for spot in spots(k) {
        assert_eq!(
            SigningKey::from_raw(&flipped(&raw, spot)).unwrap().verifying_key(),
            key.verifying_key()
        );
    }
}

#[test]
fn debug_shows_no_secret() {
    let kem = DecapsulationKey::generate();
    let sig = SigningKey::generate();
    assert_eq!(format!("{kem:?}"), "DecapsulationKey { .. }");
    let shown = format!("{sig:?}");
    assert!(
        shown.starts_with("SigningKey { verifying_key: VerifyingKey(") && shown.ends_with(", .. }"),
        "{shown}"
    );
}
