//! Identifiers: made by the node, safe to repeat, never a sequence of the database.

use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use restante_envelope::EncapsulationKey;
use restante_envelope::digest::{random_bytes, sha256};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::{ContextV7, Uuid};

use crate::{EventType, InboxAddress, RemovalReason, Timestamp};

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
        let expected = "msg_ and 32 lowercase hex digits";
        parse_hex(EMAIL_PREFIX, text).map(Self).ok_or(IdError { expected })
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

serde_as_text!(InboxHash, EmailId, WebhookId, EventId, DeliveryId);

macro_rules! prefixed_id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; 16]);

        impl $name {
            /// Takes 16 bytes that were an id before.
            pub const fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(bytes)
            }

            /// The 16 bytes.
            pub const fn as_bytes(&self) -> &[u8; 16] {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), Uuid::from_bytes(self.0).simple())
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                let expected = concat!($prefix, " and 32 lowercase hex digits");
                parse_hex($prefix, text).map(Self).ok_or(IdError { expected })
            }
        }
    };
}

prefixed_id! {
    /// The id of a webhook: random; shown as `whk_` and 32 lowercase hex digits.
    WebhookId, "whk_"
}

prefixed_id! {
    /// The id of an event: derived, so that the same event always has the same; shown as `evt_` and 32 lowercase hex
    /// digits.
    EventId, "evt_"
}

prefixed_id! {
    /// The id of what one webhook gets of one event, the same at every attempt; shown as `dlv_` and 32 lowercase hex
    /// digits.
    DeliveryId, "dlv_"
}

impl WebhookId {
    /// A new id.
    pub fn random() -> Self {
        Self(random_bytes())
    }
}

impl EventId {
    /// The id of what happened to an email: the first 16 bytes of SHA-256 of the email's id, the type and, of a removal,
    /// the reason, each as on the wire (decisions, section 7).
    pub fn of(email: EmailId, event: EventType, reason: Option<RemovalReason>) -> Self {
        let reason = reason.map_or("", RemovalReason::as_str);
        Self(first_half(sha256(format!("{email}{event}{reason}").as_bytes())))
    }
}

impl DeliveryId {
    /// The id of the delivery of an event to a webhook: the first 16 bytes of SHA-256 of both ids, as on the wire.
    pub fn of(event: EventId, webhook: WebhookId) -> Self {
        Self(first_half(sha256(format!("{event}{webhook}").as_bytes())))
    }
}

fn first_half(digest: [u8; 32]) -> [u8; 16] {
    *digest.first_chunk().expect("16 are fewer than 32")
}

/// The 16 bytes that a prefix and 32 lowercase hex digits stand for.
fn parse_hex(prefix: &str, text: &str) -> Option<[u8; 16]> {
    let hex = text.strip_prefix(prefix)?;
    if hex.len() != 32 || hex.bytes().any(|b| !matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    u128::from_str_radix(hex, 16).ok().map(u128::to_be_bytes)
}

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
    fn ids_of_events_and_deliveries_are_derived() {
        let email: EmailId = "msg_0123456789abcdef0123456789abcdef".parse().unwrap();
        let received = EventId::of(email, EventType::EmailReceived, None);
        let digest = sha256(b"msg_0123456789abcdef0123456789abcdefemail.received");
        assert_eq!(received.as_bytes()[..], digest[..16]);
        let deleted = EventId::of(email, EventType::EmailDeleted, Some(RemovalReason::Ttl));
        let digest = sha256(b"msg_0123456789abcdef0123456789abcdefemail.deletedttl");
        assert_eq!(deleted.as_bytes()[..], digest[..16]);
        let webhook = WebhookId::from_bytes([1; 16]);
        let delivery = DeliveryId::of(received, webhook);
        assert_eq!(
            delivery.as_bytes()[..],
            sha256(format!("{received}whk_{}", "01".repeat(16)).as_bytes())[..16]
        );
        assert_eq!(delivery.to_string().parse(), Ok(delivery));
        assert!("whk_1".parse::<WebhookId>().is_err());
        assert_ne!(WebhookId::random(), WebhookId::random());
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
