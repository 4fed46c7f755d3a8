//! What is sealed opens, and nothing else does.

use std::sync::LazyLock;

use proptest::prelude::*;
use restante_envelope::{
    DecapsulationKey, OpenError, PayloadPart, Sealed, SealedPayload, SealedTooShort, Signature, SigningKey,
    VerifyingKey, WireProfile, seal,
};

static CLIENT: LazyLock<DecapsulationKey> = LazyLock::new(DecapsulationKey::generate);
static SERVER: LazyLock<SigningKey> = LazyLock::new(SigningKey::generate);

fn profiles() -> impl Strategy<Value = WireProfile> {
    prop_oneof![Just(WireProfile::Service), Just(WireProfile::VaultSandbox)]
}

fn parts() -> impl Strategy<Value = PayloadPart> {
    prop_oneof![
        Just(PayloadPart::Metadata),
        Just(PayloadPart::Parsed),
        Just(PayloadPart::Raw)
    ]
}

fn payload(profile: WireProfile, part: PayloadPart, plaintext: &[u8]) -> SealedPayload {
    let sealed = seal(profile, part, CLIENT.encapsulation_key(), plaintext);
    let signature = sealed.sign(profile, part, &SERVER);
    SealedPayload::new(sealed, profile, part, signature, SERVER.verifying_key().clone())
}

/// The stage at which a payload is refused; `None` when it opens.
fn refusal(payload: SealedPayload, profile: WireProfile) -> Option<OpenError> {
    payload
        .verify(SERVER.verifying_key(), profile)
        .and_then(|verified| verified.open(&CLIENT))
        .err()
}

proptest! {
    #[test]
    fn what_is_sealed_opens(profile in profiles(), part in parts(), plaintext: Vec<u8>) {
        let json = serde_json::to_vec(&payload(profile, part, &plaintext)).unwrap();
        let read = SealedPayload::from_json(&json).unwrap();
        let verified = read.verify(SERVER.verifying_key(), profile).unwrap();
        let opened = verified.open(&CLIENT).unwrap();
        prop_assert_eq!(opened.expose(), plaintext);
    }

    /// The store keeps the sealed part and the signature, and puts them together later.
    #[test]
    fn what_was_stored_opens(part in parts(), plaintext: Vec<u8>) {
        let profile = WireProfile::Service;
        let stored = seal(profile, part, CLIENT.encapsulation_key(), &plaintext).into_bytes();
        prop_assert_eq!(stored.len(), plaintext.len() + Sealed::OVERHEAD);

        let sealed = Sealed::from_bytes(stored).unwrap();
        let signature = Signature::parse(sealed.sign(profile, part, &SERVER).as_bytes()).unwrap();
        let payload = SealedPayload::new(sealed, profile, part, signature, SERVER.verifying_key().clone());
        prop_assert_eq!(refusal(payload, profile), None);
    }

    #[test]
    fn another_profile_does_not_verify(part in parts(), plaintext: Vec<u8>) {
        let payload = payload(WireProfile::Service, part, &plaintext);
        prop_assert_eq!(refusal(payload, WireProfile::VaultSandbox), Some(OpenError::Signature));
    }

    #[test]
    fn a_changed_bit_in_the_sealed_part_does_not_verify(plaintext: Vec<u8>, spot: prop::sample::Index, bit in 0..8) {
        let (profile, part) = (WireProfile::Service, PayloadPart::Raw);
        let sealed = seal(profile, part, CLIENT.encapsulation_key(), &plaintext);
        let signature = sealed.sign(profile, part, &SERVER);
        let mut bytes = sealed.into_bytes();
        let spot = spot.index(bytes.len());
        bytes[spot] ^= 1u8 << bit;
        let changed = Sealed::from_bytes(bytes).unwrap();
        let payload = SealedPayload::new(changed, profile, part, signature, SERVER.verifying_key().clone());
        prop_assert_eq!(refusal(payload, profile), Some(OpenError::Signature));
    }

    #[test]
    fn a_changed_bit_that_is_signed_does_not_decrypt(plaintext: Vec<u8>, spot: prop::sample::Index, bit in 0..8) {
        let (profile, part) = (WireProfile::Service, PayloadPart::Raw);
        let mut bytes = seal(profile, part, CLIENT.encapsulation_key(), &plaintext).into_bytes();
        let spot = spot.index(bytes.len());
        bytes[spot] ^= 1u8 << bit;
        let changed = Sealed::from_bytes(bytes).unwrap();
        let signature = changed.sign(profile, part, &SERVER);
        let payload = SealedPayload::new(changed, profile, part, signature, SERVER.verifying_key().clone());
        prop_assert_eq!(refusal(payload, profile), Some(OpenError::Decryption));
    }

    #[test]
    fn reading_never_panics(bytes: Vec<u8>) {
        prop_assert_eq!(SealedPayload::from_json(&bytes), Err(OpenError::Malformed));
    }

    /// A payload whose text was changed in one place is refused or says the same.
    #[test]
    fn a_changed_byte_of_the_text_is_refused(spot: prop::sample::Index, byte: u8) {
        let profile = WireProfile::Service;
        let original = payload(profile, PayloadPart::Metadata, b"hello");
        let mut json = serde_json::to_vec(&original).unwrap();
        let spot = spot.index(json.len());
        json[spot] = byte;
        match SealedPayload::from_json(&json) {
            Err(stage) => prop_assert_eq!(stage, OpenError::Malformed),
            Ok(read) if read == original => (),
            Ok(read) => prop_assert!(matches!(
                refusal(read, profile),
                Some(OpenError::KeyMismatch | OpenError::Signature)
            )),
        }
    }

    #[test]
    fn the_compact_form_has_room_for_its_parts(bytes in prop::collection::vec(any::<u8>(), 1_000..1_200)) {
        let sealed = Sealed::from_bytes(bytes.clone());
        if bytes.len() < Sealed::OVERHEAD {
            prop_assert_eq!(sealed, Err(SealedTooShort));
        } else {
            prop_assert_eq!(sealed.unwrap().into_bytes(), bytes);
        }
    }
}

#[test]
fn the_compact_form_may_hold_an_empty_plaintext() {
    assert_eq!(Sealed::OVERHEAD, 1088 + 12 + 16);
    let bytes: Vec<u8> = (0..=255).cycle().take(Sealed::OVERHEAD + 1).collect();
    assert_eq!(Sealed::from_bytes(&bytes[..Sealed::OVERHEAD - 1]), Err(SealedTooShort));
    assert_eq!(
        Sealed::from_bytes(&bytes[..Sealed::OVERHEAD]).unwrap().as_bytes(),
        &bytes[..Sealed::OVERHEAD]
    );

    let sealed = Sealed::from_bytes(bytes.clone()).unwrap();
    assert_eq!(
        [sealed.ct_kem(), sealed.nonce(), sealed.ciphertext()],
        [&bytes[..1088], &bytes[1088..1100], &bytes[1100..]]
    );
}

#[test]
fn each_payload_has_its_own_encapsulation_and_nonce() {
    let sealed = [(); 2].map(|()| {
        seal(
            WireProfile::Service,
            PayloadPart::Raw,
            CLIENT.encapsulation_key(),
            b"hello",
        )
    });
    assert_ne!(sealed[0].ct_kem(), sealed[1].ct_kem());
    assert_ne!(sealed[0].nonce(), sealed[1].nonce());
    assert_ne!(sealed[0].ciphertext(), sealed[1].ciphertext());
}

#[test]
fn a_large_message_opens() {
    let plaintext = vec![b'x'; 2_000_000];
    let verified = payload(WireProfile::Service, PayloadPart::Raw, &plaintext)
        .verify(SERVER.verifying_key(), WireProfile::Service)
        .unwrap();
    assert!(verified.open(&CLIENT).unwrap().expose() == plaintext);
}

#[test]
fn another_server_or_client_is_refused() {
    let profile = WireProfile::Service;
    let payload = payload(profile, PayloadPart::Metadata, b"hello");
    let other_server: VerifyingKey = SigningKey::generate().verifying_key().clone();
    assert_eq!(
        payload.clone().verify(&other_server, profile).err(),
        Some(OpenError::KeyMismatch)
    );
    let verified = payload.verify(SERVER.verifying_key(), profile).unwrap();
    assert_eq!(
        verified.open(&DecapsulationKey::generate()).err(),
        Some(OpenError::Decryption)
    );
}

#[test]
fn a_refusal_does_not_say_at_which_stage() {
    for stage in [
        OpenError::Malformed,
        OpenError::KeyMismatch,
        OpenError::Signature,
        OpenError::Decryption,
    ] {
        assert_eq!(stage.to_string(), "the payload cannot be opened");
    }
}

#[test]
fn debug_shows_no_plaintext() {
    let verified = payload(WireProfile::Service, PayloadPart::Metadata, b"hello")
        .verify(SERVER.verifying_key(), WireProfile::Service)
        .unwrap();
    assert_eq!(format!("{:?}", verified.open(&CLIENT).unwrap()), "Plaintext { .. }");
}
