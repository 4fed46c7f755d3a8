//! How the parts of a stored email are laid out in bytes. What the store keeps, only this module reads.
//!
//! | Part | Plain inbox | Encrypted inbox |
//! |---|---|---|
//! | `Metadata` | JSON | sealed JSON ‖ MAC (32) |
//! | `Facts` | JSON of session facts, authentication results and spam analysis | – |
//! | `Raw` | the message as received | sealed base64 text of the message ‖ MAC (32) |
//! | `Parsed` | – (made from `Raw` when read) | sealed JSON ‖ MAC (32) |
//! | `MetadataSignature`, `ParsedSignature`, `RawSignature` | – | signature (3309), made when first read |

use bytes::Bytes;
use restante_envelope::digest::{ct_eq, hmac_sha256, sha256};
use restante_envelope::{PayloadPart, Sealed, Signature};
use restante_model::{AuthResults, EmailId, SessionFacts, SpamAnalysis};
use serde::{Deserialize, Serialize};

const MAC_BYTES: usize = 32;

/// What is kept beside a message of a plain inbox.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Facts {
    pub(crate) session: SessionFacts,
    pub(crate) auth: AuthResults,
    /// Absent in what earlier versions stored.
    #[serde(default)]
    pub(crate) spam: SpamAnalysis,
}

/// The stored bytes are not what this server wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a stored part does not have the expected layout or MAC")]
pub(crate) struct Damaged;

impl Facts {
    pub(crate) fn to_bytes(&self) -> Bytes {
        serde_json::to_vec(self)
            .expect("facts have no map with other keys than strings")
            .into()
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, Damaged> {
        serde_json::from_slice(bytes).map_err(|_| Damaged)
    }
}

pub(crate) fn signature_from_bytes(bytes: &[u8]) -> Result<Signature, Damaged> {
    Signature::parse(bytes).ok_or(Damaged)
}

/// Guards a part against change on disk until it is signed: nothing whose MAC fails is ever signed.
pub(crate) fn unsigned_to_bytes(mac_key: &[u8], email: EmailId, part: PayloadPart, sealed: Sealed) -> Bytes {
    let mac = part_mac(mac_key, email, part, sealed.as_bytes());
    let mut bytes = sealed.into_bytes();
    bytes.extend_from_slice(&mac);
    bytes.into()
}

pub(crate) fn unsigned_from_bytes(
    mac_key: &[u8],
    email: EmailId,
    part: PayloadPart,
    bytes: &[u8],
) -> Result<Sealed, Damaged> {
    let (sealed, mac) = bytes.split_last_chunk::<MAC_BYTES>().ok_or(Damaged)?;
    if !ct_eq(mac, &part_mac(mac_key, email, part, sealed)) {
        return Err(Damaged);
    }
    Sealed::from_bytes(sealed).map_err(|_| Damaged)
}

/// HMAC-SHA-256 over the email's id, the SHA-256 of the sealed bytes, and the part's name: no part can stand in for
/// another.
fn part_mac(mac_key: &[u8], email: EmailId, part: PayloadPart, sealed: &[u8]) -> [u8; 32] {
    let name: &[u8] = match part {
        PayloadPart::Metadata => b"metadata",
        PayloadPart::Parsed => b"parsed",
        PayloadPart::Raw => b"raw",
    };
    hmac_sha256(mac_key, &[email.as_bytes().as_slice(), &sha256(sealed), name].concat())
}
