//! Plaintext to sealed part.

use crate::digest::random_bytes;
use crate::payload_key::{NONCE_LEN, PayloadKey};
use crate::sealed::{CIPHERTEXT_START, CT_KEM_LEN};
use crate::{EncapsulationKey, PayloadPart, Sealed, WireProfile};

/// Seals one part of an email to a client's key, with an encapsulation and a nonce of its own.
///
/// The plaintext is encrypted straight into the one buffer that is stored.
///
/// Source: interface, "Encrypted payload", rules 3 to 5; decisions, section 5.
pub fn seal(profile: WireProfile, part: PayloadPart, key: &EncapsulationKey, plaintext: &[u8]) -> Sealed {
    let (ct_kem, shared_secret) = key.encapsulate();
    let nonce = random_bytes::<NONCE_LEN>();
    let aad = profile.aad(part);

    let mut bytes = vec![0; plaintext.len() + Sealed::OVERHEAD];
    bytes[..CT_KEM_LEN].copy_from_slice(ct_kem.as_ref());
    bytes[CT_KEM_LEN..CIPHERTEXT_START].copy_from_slice(&nonce);
    PayloadKey::derive(&shared_secret, ct_kem.as_ref(), profile.context(), aad).seal(
        nonce,
        aad,
        plaintext,
        &mut bytes[CIPHERTEXT_START..],
    );
    Sealed::from_bytes(bytes).expect("the buffer has the overhead")
}
