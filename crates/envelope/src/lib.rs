//! Seal and open the v1 encrypted payload.
//!
//! An encrypted inbox has an ML-KEM-768 key of its client.
//! Whatever arrives for it is sealed to that key, signed with the server's ML-DSA-65 key and handed out as one JSON
//! object; only the client can open it, and it opens nothing that the server it knows has not signed.
//!
//! # What it refuses to know
//!
//! What is sealed: a plaintext is bytes.
//! Where keys and payloads are kept, what time it is, what an inbox is.
//! It does no IO; its only source of randomness is the system's generator.
//!
//! # The paved path
//!
//! ```
//! use restante_envelope::{DecapsulationKey, PayloadPart, SealedPayload, SigningKey, WireProfile, seal};
//!
//! let profile = WireProfile::Service;
//! let server = SigningKey::generate();
//! let client = DecapsulationKey::generate();
//!
//! // The server seals at arrival and signs now or at first read.
//! let sealed = seal(profile, PayloadPart::Metadata, client.encapsulation_key(), b"{\"subject\":\"hello\"}");
//! let signature = sealed.sign(profile, PayloadPart::Metadata, &server);
//! let payload =
//!     SealedPayload::new(sealed, profile, PayloadPart::Metadata, signature, server.verifying_key().clone());
//! let json = serde_json::to_vec(&payload)?;
//!
//! // The client pinned the server's key when it created the inbox.
//! let payload = SealedPayload::from_json(&json)?;
//! let plaintext = payload.verify(server.verifying_key(), profile)?.open(&client)?;
//! assert_eq!(plaintext.expose(), b"{\"subject\":\"hello\"}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Modules, in reading order
//!
//! - `profile`: the context string and the additional data of each part, per wire profile.
//! - `kem` and `signing`: the key types; a value of one is a key that works.
//! - `seal`, `sealed`: plaintext to the compact form that is stored.
//! - `transcript`: what a signature covers.
//! - `payload`: the JSON form, written and strictly read.
//! - `open`: verify, then open.
//! - `payload_key`: the AES key of one payload.
//! - `at_rest`: what the server keeps for itself.
//! - [`base64url`] and [`digest`]: what the other crates need of the same primitives.
//!
//! # Invariants
//!
//! - The only order there is: [`SealedPayload`] → `verify` → [`VerifiedPayload`] → `open` → [`Plaintext`].
//!   Nothing is decapsulated before the signature has been verified under the pinned key.
//! - An [`EncapsulationKey`] has been encapsulated to, a [`DecapsulationKey`] has decapsulated: later use cannot fail.
//! - The text of every [`OpenError`] is the same; only the type tells the stages apart.
//! - Secret keys, shared secrets, derived keys and plaintexts are wiped when dropped, and their `Debug` shows nothing.

mod at_rest;
pub mod base64url;
#[cfg(test)]
mod differential_tests;
pub mod digest;
mod kem;
mod key_error;
mod open;
mod payload;
mod payload_key;
mod profile;
mod seal;
mod sealed;
mod signing;
mod transcript;
#[cfg(test)]
mod wycheproof_tests;

pub use at_rest::AtRestKey;
pub use kem::{DecapsulationKey, EncapsulationKey};
pub use key_error::KeyError;
pub use open::{OpenError, Plaintext, VerifiedPayload};
pub use payload::{Algs, SealedPayload};
pub use profile::{PayloadPart, UnknownWireProfile, WireProfile};
pub use seal::{seal, seal_with};
pub use sealed::{Sealed, SealedTooShort};
pub use signing::{Signature, SigningKey, VerifyingKey};
