//! Reading an exported inbox: the rules of the interface in their order, then whether its parts belong together.
//!
//! Source: interface, "Exported inbox data".

mod error;
mod fields;
mod moment;

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use restante_envelope::{DecapsulationKey, VerifyingKey};
use restante_model::{InboxHash, Timestamp};
use zeroize::Zeroizing;

pub use self::error::{ImportError, JsonError};

use self::fields::{Fields, Value};
use crate::export::VERSION;
use crate::inbox::{InboxFacts, InboxKeys, KnownInbox};
use crate::{Client, Error, ExportedInbox, Inbox};

/// What an import does about an inbox that the client knows already, by its address or its hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfKnown {
    /// Keeps it and ends with [`Error::InboxAlreadyExists`].
    Refuse,
    /// Forgets it, with its key, for the imported one.
    Replace,
}

impl Client {
    /// Takes in an inbox that was exported, by this client or another; asks the server nothing.
    ///
    /// Handles of a replaced inbox go on with the key that they had.
    ///
    /// # Errors
    /// [`Error::InboxAlreadyExists`], [`Error::Closed`].
    pub fn import_inbox(&self, export: ExportedInbox, if_known: IfKnown) -> Result<Inbox, Error> {
        self.http().check_open()?;
        let known = export.into_known();
        match self.registry().import(Arc::clone(&known), if_known) {
            Ok(()) => Ok(Inbox::new(self.clone(), known)),
            Err(other) => Err(Error::InboxAlreadyExists {
                address: other.facts.address.clone(),
            }),
        }
    }
}

impl ExportedInbox {
    /// Reads the document of an export; fields that the interface does not name are ignored.
    ///
    /// # Errors
    /// The first rule that it breaks, in the order of [`ImportError::RULES`].
    pub fn parse(json: &[u8]) -> Result<Self, ImportError> {
        let fields = Fields::read(json)?;
        check_version(fields.version)?;
        let required = fields.required()?;
        let address = address(&required.email_address)?;
        let hash = hash_text(&required.inbox_hash)?;
        let keys = if encrypted(&required.encrypted)? {
            Some((secret_key(fields.secret_key)?, server_key(fields.server_sig_pk)?))
        } else {
            None
        };
        let expires_at = moment::read("expiresAt", &required.expires_at)?;
        // An inbox that does not end by itself is exported with the last moment of all.
        let expires_at = Some(expires_at).filter(|end| *end != Timestamp::MAX);
        let exported_at = moment::read("exportedAt", &required.exported_at)?;
        let hash = parse_hash(&hash)?;
        let keys = match keys {
            Some((secret, pinned)) => matching_keys(&secret, pinned, hash)?,
            None => InboxKeys::Plain,
        };
        let facts = InboxFacts {
            address,
            hash,
            expires_at,
            terms: None,
        };
        Ok(Self::new(Arc::new(KnownInbox { facts, keys }), exported_at))
    }
}

fn check_version(version: Option<Value<'_>>) -> Result<(), ImportError> {
    let found = match version {
        Some(value) if value.integer() == Some(VERSION.into()) => return Ok(()),
        Some(value) => value.shown(),
        None => "nothing".to_owned(),
    };
    Err(ImportError::Version { found })
}

fn address(value: &Value<'_>) -> Result<String, ImportError> {
    let fault = |found| ImportError::EmailAddress { found };
    let text = value.text().ok_or_else(|| fault(value.kind().to_owned()))?;
    match text.matches('@').count() {
        // No server has such an address, and on a terminal it would be an order.
        1 if text.contains(char::is_control) => Err(fault("one with a control character".to_owned())),
        1 => Ok(text.to_owned()),
        _ if text.is_empty() => Err(fault("an empty text".to_owned())),
        count => Err(fault(format!("one with {count}"))),
    }
}

fn hash_text(value: &Value<'_>) -> Result<String, ImportError> {
    let fault = |found| ImportError::InboxHash { found };
    let text = value.text().ok_or_else(|| fault(value.kind()))?;
    if text.is_empty() {
        return Err(fault("an empty one"));
    }
    Ok(text.to_owned())
}

fn encrypted(value: &Value<'_>) -> Result<bool, ImportError> {
    value
        .boolean()
        .ok_or_else(|| ImportError::Encrypted { found: value.kind() })
}

fn secret_key(value: Option<Value<'_>>) -> Result<Zeroizing<Vec<u8>>, ImportError> {
    let value = present(value).map_err(|found| ImportError::SecretKeyMissing { found })?;
    let bytes = base64url(&value).map_err(|found| ImportError::SecretKeyEncoding { found })?;
    match bytes.len() {
        DecapsulationKey::LEN => Ok(bytes),
        actual => Err(ImportError::SecretKeySize { actual }),
    }
}

fn server_key(value: Option<Value<'_>>) -> Result<VerifyingKey, ImportError> {
    let value = present(value).map_err(|found| ImportError::ServerSigPkMissing { found })?;
    let bytes = base64url(&value).map_err(|found| ImportError::ServerSigPkEncoding { found })?;
    VerifyingKey::parse(&bytes).map_err(|_| ImportError::ServerSigPkSize { actual: bytes.len() })
}

/// The value of a field that only encrypted inboxes need, or what stands in its place.
fn present(value: Option<Value<'_>>) -> Result<Value<'_>, &'static str> {
    match value {
        Some(value) if value.is_null() => Err("null"),
        Some(value) => Ok(value),
        None => Err("nothing"),
    }
}

/// The bytes of a text, or what stands in its place; wiped whether it decodes or not.
fn base64url(value: &Value<'_>) -> Result<Zeroizing<Vec<u8>>, &'static str> {
    let text = value.text().ok_or_else(|| value.kind())?;
    // Room for all from the start: a buffer that grew would leave a part of the key behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(text.len()));
    match URL_SAFE_NO_PAD.decode_vec(&*text, &mut bytes) {
        Ok(()) => Ok(bytes),
        Err(_) => Err("another text"),
    }
}

/// An inbox of any server has a SHA-256 for its hash: of its key, or of what the server likes for a plain one.
fn parse_hash(text: &str) -> Result<InboxHash, ImportError> {
    text.parse().map_err(|_| ImportError::InboxHashForm {
        characters: text.chars().count(),
    })
}

fn matching_keys(secret: &[u8], pinned: VerifyingKey, hash: InboxHash) -> Result<InboxKeys, ImportError> {
    let key = DecapsulationKey::parse(secret).map_err(ImportError::SecretKeyRefused)?;
    let expected = InboxHash::of_key(key.encapsulation_key());
    if hash != expected {
        return Err(ImportError::InboxHashMismatch { expected, found: hash });
    }
    Ok(InboxKeys::Encrypted { key, pinned })
}
