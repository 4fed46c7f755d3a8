//! Plaintext to sealed part.

use crate::digest::random_bytes;
use crate::payload_key::{NONCE_LEN, PayloadKey, TAG_LEN};
use crate::sealed::CIPHERTEXT_START;
use crate::{EncapsulationKey, PayloadPart, Sealed, WireProfile};

/// Seals one part of an email to a client's key, with an encapsulation and a nonce of its own.
///
/// Source: interface, "Encrypted payload", rules 3 to 5; decisions, section 5.
pub fn seal(profile: WireProfile, part: PayloadPart, key: &EncapsulationKey, plaintext: &[u8]) -> Sealed {
    seal_with(profile, part, key, |buffer| {
        buffer.reserve_exact(plaintext.len() + TAG_LEN);
        buffer.extend_from_slice(plaintext);
    })
}

/// The same for a plaintext that `write` appends to a buffer: it is encrypted in place, so that a large one is in memory
/// once.
///
/// # Panics
/// If `write` takes away what is in the buffer.
pub fn seal_with(
    profile: WireProfile,
    part: PayloadPart,
    key: &EncapsulationKey,
    write: impl FnOnce(&mut Vec<u8>),
) -> Sealed {
    let (ct_kem, shared_secret) = key.encapsulate();
    let nonce = random_bytes::<NONCE_LEN>();
    let aad = profile.aad(part);
    let payload_key = PayloadKey::derive(&shared_secret, ct_kem.as_ref(), profile.context(), aad);

    let mut bytes = Vec::with_capacity(Sealed::OVERHEAD);
    bytes.extend_from_slice(ct_kem.as_ref());
    bytes.extend_from_slice(&nonce);
    write(&mut bytes);
    let tag = payload_key.seal(nonce, aad, &mut bytes[CIPHERTEXT_START..]);
    bytes.extend_from_slice(tag.as_ref());
    Sealed::from_bytes(bytes).expect("the buffer has the overhead")
}
