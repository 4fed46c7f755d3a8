//! The fields of an export as they stand in its text, of whatever kind: which of them is read first is up to the rules.

use std::ops::Deref;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use zeroize::Zeroizing;

use super::{ImportError, JsonError};

/// What fits on a line of an error.
const SHOWN_CHARACTERS: usize = 40;

/// The fields of the interface; others are ignored, however deep they go.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Fields<'a> {
    #[serde(default, borrow, deserialize_with = "value")]
    pub(super) version: Option<Value<'a>>,
    #[serde(default, borrow, deserialize_with = "value")]
    email_address: Option<Value<'a>>,
    #[serde(default, borrow, deserialize_with = "value")]
    expires_at: Option<Value<'a>>,
    #[serde(default, borrow, deserialize_with = "value")]
    inbox_hash: Option<Value<'a>>,
    #[serde(default, borrow, deserialize_with = "value")]
    encrypted: Option<Value<'a>>,
    #[serde(default, borrow, deserialize_with = "value")]
    pub(super) server_sig_pk: Option<Value<'a>>,
    #[serde(default, borrow, deserialize_with = "value")]
    pub(super) secret_key: Option<Value<'a>>,
    #[serde(default, borrow, deserialize_with = "value")]
    exported_at: Option<Value<'a>>,
}

/// The fields that every export has beside its version; none is null.
pub(super) struct Required<'a> {
    pub(super) email_address: Value<'a>,
    pub(super) expires_at: Value<'a>,
    pub(super) inbox_hash: Value<'a>,
    pub(super) encrypted: Value<'a>,
    pub(super) exported_at: Value<'a>,
}

/// A JSON value where it stands: nothing of it is copied before it is asked for.
#[derive(Clone, Copy)]
pub(super) struct Value<'a>(&'a RawValue);

/// The text of a value; one that had to be written anew, because of an escape, is wiped.
pub(super) enum Text<'a> {
    AsItStands(&'a str),
    Unescaped(Zeroizing<String>),
}

impl<'a> Fields<'a> {
    pub(super) fn read(json: &'a [u8]) -> Result<Self, JsonError> {
        let text = utf8(json)?;
        // An array would be read as the fields in their order.
        match text.trim_ascii_start().bytes().next() {
            None => Err(JsonError::Empty),
            Some(b'{') => serde_json::from_str(text).map_err(|error| JsonError::Syntax(error.to_string())),
            Some(_) => Err(not_an_object(text)),
        }
    }

    pub(super) fn required(&self) -> Result<Required<'a>, ImportError> {
        Ok(Required {
            email_address: required("emailAddress", self.email_address)?,
            expires_at: required("expiresAt", self.expires_at)?,
            inbox_hash: required("inboxHash", self.inbox_hash)?,
            encrypted: required("encrypted", self.encrypted)?,
            exported_at: required("exportedAt", self.exported_at)?,
        })
    }
}

impl<'a> Value<'a> {
    pub(super) fn is_null(self) -> bool {
        self.0.get() == "null"
    }

    pub(super) fn boolean(self) -> Option<bool> {
        self.read()
    }

    /// A number without fraction and exponent.
    pub(super) fn integer(self) -> Option<u64> {
        self.read()
    }

    /// A text of whole characters.
    pub(super) fn text(self) -> Option<Text<'a>> {
        match self.read() {
            Some(text) => Some(Text::AsItStands(text)),
            None => self.read().map(|text| Text::Unescaped(Zeroizing::new(text))),
        }
    }

    /// What kind of value it is.
    pub(super) fn kind(self) -> &'static str {
        match self.0.get().as_bytes()[0] {
            b'"' if self.text().is_some() => "a text",
            b'"' => "a text of half characters",
            b'[' => "an array",
            b'{' => "an object",
            b't' | b'f' => "a boolean",
            b'n' => "null",
            _ => "a number",
        }
    }

    /// The value itself if it is a short number, else its kind.
    pub(super) fn shown(self) -> String {
        let text = self.0.get();
        match self.kind() {
            "a number" if text.len() <= SHOWN_CHARACTERS => text.to_owned(),
            kind => kind.to_owned(),
        }
    }

    /// The value itself if it is a short text, escaped for a terminal, else its kind or length.
    pub(super) fn shown_text(self) -> String {
        match self.text() {
            None => self.kind().to_owned(),
            Some(text) if text.len() <= SHOWN_CHARACTERS => format!("{:?}", &*text),
            Some(text) => format!("a text of {} characters", text.chars().count()),
        }
    }

    fn read<T: Deserialize<'a>>(self) -> Option<T> {
        serde_json::from_str(self.0.get()).ok()
    }
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::AsItStands(text) => text,
            Self::Unescaped(text) => text,
        }
    }
}

fn utf8(json: &[u8]) -> Result<&str, JsonError> {
    // Of UTF-8, and of UTF-16 in either order.
    let marks: [&[u8]; 3] = [b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"];
    if marks.iter().any(|mark| json.starts_with(mark)) {
        return Err(JsonError::ByteOrderMark);
    }
    std::str::from_utf8(json).map_err(|error| JsonError::Encoding {
        at: error.valid_up_to() + 1,
    })
}

fn not_an_object(text: &str) -> JsonError {
    match serde_json::from_str(text) {
        Ok(value) => JsonError::Kind {
            found: Value(value).kind(),
        },
        Err(error) => JsonError::Syntax(error.to_string()),
    }
}

/// Any value: null is one, so that it can be told from nothing.
fn value<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value<'a>>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(|raw| Some(Value(raw)))
}

fn required<'a>(field: &'static str, value: Option<Value<'a>>) -> Result<Value<'a>, ImportError> {
    super::present(value).map_err(|found| ImportError::Required { field, found })
}
