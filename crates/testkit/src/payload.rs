//! An independent, obvious builder of encrypted payloads.
//!
//! It follows the interface rule by rule, from seeds, with other libraries for the post-quantum parts than the server
//! has, and shares no code with it: what it makes tests the `envelope` crate.
//!
//! Source: interface, "Encrypted payload"; FIPS 203; FIPS 204.

mod client;
mod object;
mod scenario;
mod vectors;

pub use client::Client;
pub use scenario::{Expect, Vector};
pub use vectors::vectors;

use aws_lc_rs::{aead, digest, hkdf};
use fips203::ml_kem_768;
use fips203::traits::{Encaps as _, KeyGen as _, SerDes as _};
use fips204::ml_dsa_65;
use fips204::traits::{KeyGen as _, SerDes as _, Signer as _};

/// 32 bytes from which keys or randomness are made.
type Seed = [u8; 32];

/// The seeds of an ML-KEM-768 key pair.
#[derive(Debug, Clone, Copy)]
struct KemSeeds {
    d: Seed,
    z: Seed,
}

impl KemSeeds {
    fn pair(&self) -> (ml_kem_768::EncapsKey, ml_kem_768::DecapsKey) {
        ml_kem_768::KG::keygen_from_seed(self.d, self.z)
    }

    /// The 2400 bytes that a client keeps.
    fn secret_key(&self) -> Vec<u8> {
        self.pair().1.into_bytes().to_vec()
    }
}

/// The 1184 bytes of the encapsulation key of some client, always the same one.
pub fn client_public_key() -> Vec<u8> {
    let seeds = KemSeeds { d: [1; 32], z: [2; 32] };
    seeds.pair().0.into_bytes().to_vec()
}

/// The 2400 bytes that a client keeps, from its seeds.
pub(crate) fn client_secret_key(d: Seed, z: Seed) -> Vec<u8> {
    KemSeeds { d, z }.secret_key()
}

/// The 1952 bytes that clients pin.
pub(crate) fn server_public_key(xi: &Seed) -> Vec<u8> {
    ml_dsa_65::KG::keygen_from_seed(xi).0.into_bytes().to_vec()
}

/// Everything that goes into sealing one payload.
struct Recipe<'a> {
    recipient: KemSeeds,
    encapsulation: Seed,
    nonce: [u8; 12],
    /// The context of the key derivation.
    context: &'a str,
    aad: &'a [u8],
    plaintext: &'a [u8],
}

/// The binary fields of a payload that its signature covers.
#[derive(Debug, Clone)]
struct Sealed {
    ct_kem: Vec<u8>,
    nonce: Vec<u8>,
    aad: Vec<u8>,
    /// With the tag at its end.
    ciphertext: Vec<u8>,
    server_sig_pk: Vec<u8>,
}

/// Rules 3 to 5: encapsulate, derive, encrypt.
fn seal(recipe: &Recipe<'_>, server_sig_pk: Vec<u8>) -> Sealed {
    let (shared_secret, ct_kem) = recipe.recipient.pair().0.encaps_from_seed(&recipe.encapsulation);
    let ct_kem = ct_kem.into_bytes().to_vec();
    let key = aes_key(&shared_secret.into_bytes(), &ct_kem, recipe.context, recipe.aad);

    let mut ciphertext = recipe.plaintext.to_vec();
    aead::LessSafeKey::new(aead::UnboundKey::new(&aead::AES_256_GCM, &key).expect("32 bytes"))
        .seal_in_place_append_tag(
            aead::Nonce::assume_unique_for_key(recipe.nonce),
            aead::Aad::from(recipe.aad),
            &mut ciphertext,
        )
        .expect("vectors are short");
    Sealed {
        ct_kem,
        nonce: recipe.nonce.to_vec(),
        aad: recipe.aad.to_vec(),
        ciphertext,
        server_sig_pk,
    }
}

/// Rule 4: HKDF-SHA-512, salt = SHA-256(`ct_kem`), info = context, length of the additional data, additional data.
fn aes_key(shared_secret: &[u8], ct_kem: &[u8], context: &str, aad: &[u8]) -> [u8; 32] {
    let salt = digest::digest(&digest::SHA256, ct_kem);
    let aad_len = u32::try_from(aad.len()).expect("vectors are short").to_be_bytes();
    let mut key = [0; 32];
    hkdf::Salt::new(hkdf::HKDF_SHA512, salt.as_ref())
        .extract(shared_secret)
        .expand(&[context.as_bytes(), &aad_len, aad], &aead::AES_256_GCM)
        .and_then(|okm| okm.fill(&mut key))
        .expect("32 bytes");
    key
}

/// Rule 1: what is signed.
fn transcript(context: &str, sealed: &Sealed) -> Vec<u8> {
    let mut bytes = vec![1];
    bytes.extend_from_slice(b"ML-KEM-768:ML-DSA-65:AES-256-GCM:HKDF-SHA-512");
    bytes.extend_from_slice(context.as_bytes());
    bytes.extend_from_slice(&sealed.ct_kem);
    bytes.extend_from_slice(&sealed.nonce);
    bytes.extend_from_slice(&sealed.aad);
    bytes.extend_from_slice(&sealed.ciphertext);
    bytes.extend_from_slice(&sealed.server_sig_pk);
    bytes
}

/// Rule 2: the signature; `fips_context` is empty in a genuine payload.
fn sign(xi: &Seed, randomness: &Seed, message: &[u8], fips_context: &[u8]) -> Vec<u8> {
    let (_, key) = ml_dsa_65::KG::keygen_from_seed(xi);
    key.try_sign_with_seed(randomness, message, fips_context)
        .expect("the context is short")
        .to_vec()
}
