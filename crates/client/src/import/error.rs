//! Which rule an export breaks.

use restante_envelope::{DecapsulationKey, KeyError, VerifyingKey};
use restante_model::InboxHash;

/// Why the document of an export cannot be imported: one variant a rule, in the order in which they are checked.
///
/// The first thirteen rules are those of the interface ("Exported inbox data"); the last three say that the parts belong
/// together. The texts name the field, what was expected and what there is instead, and never show a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// It is not one JSON object.
    #[error("the export is not a JSON object: {0}")]
    Json(#[from] JsonError),
    /// The version is not 1.
    #[error("version: expected 1, got {found}")]
    Version {
        /// A short number, or what kind of value it is.
        found: String,
    },
    /// A field that every inbox has is missing or null.
    #[error("{field}: every export has it, got {found}")]
    Required {
        /// Its name.
        field: &'static str,
        /// `nothing` or `null`.
        found: &'static str,
    },
    /// The address is empty, has not exactly one `@`, or has a control character, which no address has.
    #[error("emailAddress: expected a text with exactly one @, got {found}")]
    EmailAddress {
        /// How many there are, that it has a control character, or what kind of value it is.
        found: String,
    },
    /// The hash is empty.
    #[error("inboxHash: expected a text that is not empty, got {found}")]
    InboxHash {
        /// What kind of value it is.
        found: &'static str,
    },
    /// Whether the inbox is encrypted is no boolean.
    #[error("encrypted: expected true or false, got {found}")]
    Encrypted {
        /// What kind of value it is.
        found: &'static str,
    },
    /// The secret key of an encrypted inbox is missing or null.
    #[error("secretKey: the export of an encrypted inbox has it, got {found}")]
    SecretKeyMissing {
        /// `nothing` or `null`.
        found: &'static str,
    },
    /// The secret key cannot be decoded.
    #[error("secretKey: expected base64url without padding, got {found}")]
    SecretKeyEncoding {
        /// What kind of value it is.
        found: &'static str,
    },
    /// The secret key is not one of ML-KEM-768 by its size.
    #[error("secretKey: expected {} bytes, got {actual}", DecapsulationKey::LEN)]
    SecretKeySize {
        /// Its bytes.
        actual: usize,
    },
    /// The server key of an encrypted inbox is missing or null.
    #[error("serverSigPk: the export of an encrypted inbox has it, got {found}")]
    ServerSigPkMissing {
        /// `nothing` or `null`.
        found: &'static str,
    },
    /// The server key cannot be decoded.
    #[error("serverSigPk: expected base64url without padding, got {found}")]
    ServerSigPkEncoding {
        /// What kind of value it is.
        found: &'static str,
    },
    /// The server key is not one of ML-DSA-65 by its size.
    #[error("serverSigPk: expected {} bytes, got {actual}", VerifyingKey::LEN)]
    ServerSigPkSize {
        /// Its bytes.
        actual: usize,
    },
    /// A timestamp is none.
    #[error("{field}: expected an ISO 8601 date and time, got {found}")]
    Timestamp {
        /// `expiresAt` or `exportedAt`.
        field: &'static str,
        /// A short text, or what kind of value it is.
        found: String,
    },
    /// The hash is no SHA-256.
    #[error("inboxHash: expected the 43 base64url characters of a SHA-256, got another text of {characters}")]
    InboxHashForm {
        /// Its characters.
        characters: usize,
    },
    /// The secret key fails the checks of FIPS 203.
    #[error("secretKey: {0}")]
    SecretKeyRefused(KeyError),
    /// The hash belongs to another key.
    #[error("inboxHash: expected {expected}, which belongs to secretKey, got {found}")]
    InboxHashMismatch {
        /// That of the public part of the secret key.
        expected: InboxHash,
        /// That of the export.
        found: InboxHash,
    },
}

impl ImportError {
    /// The names of all rules, in the order in which they are checked.
    pub const RULES: [&'static str; 16] = [
        "json",
        "version",
        "required",
        "email-address",
        "inbox-hash",
        "encrypted",
        "secret-key-missing",
        "secret-key-encoding",
        "secret-key-size",
        "server-sig-pk-missing",
        "server-sig-pk-encoding",
        "server-sig-pk-size",
        "timestamp",
        "inbox-hash-form",
        "secret-key-refused",
        "inbox-hash-mismatch",
    ];

    /// The name of the rule that is broken, one of [`RULES`](Self::RULES).
    pub const fn rule(&self) -> &'static str {
        Self::RULES[self.place()]
    }

    /// Where the rule stands in the order.
    const fn place(&self) -> usize {
        match self {
            Self::Json(_) => 0,
            Self::Version { .. } => 1,
            Self::Required { .. } => 2,
            Self::EmailAddress { .. } => 3,
            Self::InboxHash { .. } => 4,
            Self::Encrypted { .. } => 5,
            Self::SecretKeyMissing { .. } => 6,
            Self::SecretKeyEncoding { .. } => 7,
            Self::SecretKeySize { .. } => 8,
            Self::ServerSigPkMissing { .. } => 9,
            Self::ServerSigPkEncoding { .. } => 10,
            Self::ServerSigPkSize { .. } => 11,
            Self::Timestamp { .. } => 12,
            Self::InboxHashForm { .. } => 13,
            Self::SecretKeyRefused(_) => 14,
            Self::InboxHashMismatch { .. } => 15,
        }
    }
}

/// How a text is not one JSON object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// There is nothing.
    #[error("it is empty")]
    Empty,
    /// It begins with a byte order mark, which JSON has not (RFC 8259 section 8.1).
    #[error("it begins with a byte order mark; save it as UTF-8 without one")]
    ByteOrderMark,
    /// Its bytes are not UTF-8.
    #[error("byte {at} is not UTF-8")]
    Encoding {
        /// Where, counted from 1.
        at: usize,
    },
    /// It is another value.
    #[error("it is {found}")]
    Kind {
        /// What kind of value.
        found: &'static str,
    },
    /// The syntax is broken, it is cut off, something follows it, or it names a field of the interface twice.
    #[error("{0}")]
    Syntax(String),
}
