//! Identifiers: made by the node, safe to repeat, never a sequence of the database.

use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use restante_envelope::EncapsulationKey;
use restante_envelope::digest::sha256;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::{ContextV7, Uuid};

use crate::{InboxAddress, Timestamp};

/// The public name of an inbox in the API: 32 bytes, shown as 43 base64url characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InboxHash([u8; 32]);

impl InboxHash {
    /// The hash of an encrypted inbox: SHA-256 of the client's 1184-byte encapsulation key.
    pub fn of_key(key: &EncapsulationKey) -> Self {
        Self(sha256(key.as_bytes()))
    }

    /// The hash of a plain inbox: SHA-256 of `plain:` and its address.
    pub fn of_address(address: &InboxAddress) -> Self {
        Self(sha256(format!("plain:{address}").as_bytes()))
    }

    /// Takes 32 bytes that were a hash before.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for InboxHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

/// A text that is not an id of the expected kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}")]
pub struct IdError {
    expected: &'static str,
}

impl FromStr for InboxHash {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let error = IdError {
            expected: "43 base64url characters",
        };
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| error)?;
        Ok(Self(bytes.try_into().map_err(|_| error)?))
    }
}

/// The id of an email: a `UUIDv7`, so that sorting by id is arrival order.
///
/// Shown as `msg_` and 32 lowercase hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EmailId([u8; 16]);

impl EmailId {
    /// A new id for an email that arrives at `now`; greater than every id that this process made before.
    pub fn new(now: Timestamp) -> Self {
        static COUNTER: Mutex<ContextV7> = Mutex::new(ContextV7::new());
        let nanos = u32::try_from(now.unix_ms() % 1000).unwrap_or(0) * 1_000_000;
        let counter = COUNTER.lock().unwrap_or_else(PoisonError::into_inner);
        Self(Uuid::new_v7(uuid::Timestamp::from_unix(&*counter, now.unix_secs(), nanos)).into_bytes())
    }

    /// Takes 16 bytes that were an id before.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The 16 bytes, in the order that sorts by arrival.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

const EMAIL_PREFIX: &str = "msg_";

impl fmt::Display for EmailId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{EMAIL_PREFIX}{}", Uuid::from_bytes(self.0).simple())
    }
}

impl FromStr for EmailId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let error = IdError {
            expected: "msg_ and 32 lowercase hex digits",
        };
        let hex = text.strip_prefix(EMAIL_PREFIX).ok_or(error)?;
        if hex.len() != 32 || hex.bytes().any(|b| !matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(error);
        }
        Ok(Self(u128::from_str_radix(hex, 16).map_err(|_| error)?.to_be_bytes()))
    }
}

macro_rules! serde_as_text {
    ($($id:ty),+) => {$(
        impl Serialize for $id {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $id {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    )+};
}

serde_as_text!(InboxHash, EmailId);

/// One life of an inbox: new each time that an address is taken, never reused.
///
/// A later inbox at the same address has another key, so that what was meant for the earlier one cannot reach it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InboxKey([u8; 16]);

impl InboxKey {
    /// A new key; its first bits are the time, so that keys of one day lie together on disk.
    pub fn new(now: Timestamp) -> Self {
        Self(*EmailId::new(now).as_bytes())
    }

    /// Takes 16 bytes that were a key before.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The 16 bytes.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_email_id_reads_back_and_sorts_by_arrival() {
        let early = EmailId::new(Timestamp::from_unix_ms(1_000_000));
        let late = EmailId::new(Timestamp::from_unix_ms(1_000_001));
        assert!(early < late);
        assert!(late < EmailId::new(Timestamp::from_unix_ms(1_000_001)));
        assert!(early.to_string() < late.to_string());
        assert_eq!(early.to_string().parse(), Ok(early));
        assert_eq!(early.to_string().len(), 36);
    }

    #[test]
    fn other_texts_are_no_email_ids() {
        for text in [
            "",
            "msg_",
            "msg_zz",
            "MSG_0123456789abcdef0123456789abcdef",
            "msg_0123456789ABCDEF0123456789abcdef",
        ] {
            assert!(text.parse::<EmailId>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_hash_of_a_plain_inbox_is_that_of_its_prefixed_address() {
        let address = InboxAddress::parse("bob@restante.test").unwrap();
        let hash = InboxHash::of_address(&address);
        assert_eq!(hash.as_bytes(), &sha256(b"plain:bob@restante.test"));
        assert_eq!(hash.to_string().parse(), Ok(hash));
        assert_eq!(hash.to_string().len(), 43);
    }
}
