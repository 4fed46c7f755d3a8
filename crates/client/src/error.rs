//! What can go wrong, by the kinds of the interface ("Errors", client-side error kinds).

use std::time::Duration;

use restante_envelope::OpenError;
use restante_model::EmailId;

use crate::import::ImportError;

/// Why an operation did not succeed.
///
/// No text of an error holds a key, a secret or anything of a mail's content.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The client cannot be made like this: the URL, the key, a certificate or a setting.
    #[error("{0}")]
    Configuration(String),
    /// There is no server of this machine that the client could find by itself.
    #[error("{0}")]
    NoLocalServer(String),
    /// The server refused the request for another reason than those below.
    #[error("{0}")]
    Api(ApiError),
    /// 401: the API key is missing or wrong.
    #[error("{0}")]
    Unauthorized(ApiError),
    /// 429, still after all retries, or the server asks to wait longer than the time-out of requests.
    #[error("{answer}")]
    RateLimited {
        /// What the server said.
        answer: ApiError,
        /// How long the server asks to wait.
        retry_after: Option<Duration>,
    },
    /// 404: there is no such inbox, or it has expired.
    #[error("{0}")]
    InboxNotFound(ApiError),
    /// 404: the inbox holds no such email.
    #[error("{0}")]
    EmailNotFound(ApiError),
    /// 404: there is no such webhook.
    #[error("{0}")]
    WebhookNotFound(ApiError),
    /// 409 at creation: the address or the key is taken.
    #[error("{0}")]
    InboxTaken(ApiError),
    /// An import of an inbox that this client knows already, by its address or its hash.
    #[error("the inbox {address} is known already; remove it, or confirm that it is replaced")]
    InboxAlreadyExists {
        /// Its address.
        address: String,
    },
    /// The server could not be reached, or the connection broke.
    #[error("cannot reach {url}: {reason}")]
    Network {
        /// Where the server should be.
        url: String,
        /// What the system or the connection said.
        reason: String,
    },
    /// No answer within the time-out of requests.
    #[error("no answer from {url} within {} s", limit.as_secs_f64())]
    RequestTimeout {
        /// Where the server should be.
        url: String,
        /// The time-out.
        limit: Duration,
    },
    /// What was waited for did not come in time.
    #[error("{found} of {wanted} emails with {matching} within {} s; others there: {others}", limit.as_secs_f64())]
    WaitTimeout {
        /// How many there should be.
        wanted: usize,
        /// How many there were.
        found: usize,
        /// What was asked for, as [`EmailMatcher`](crate::EmailMatcher) shows it.
        matching: String,
        /// How many emails did not match.
        others: usize,
        /// How long it was waited.
        limit: Duration,
    },
    /// An email came where none should have.
    #[error("an email with {matching} came: {id}")]
    UnexpectedEmail {
        /// The email.
        id: EmailId,
        /// What was asked for.
        matching: String,
    },
    /// The data of an export breaks a rule.
    #[error("{0}")]
    InvalidImportData(#[from] ImportError),
    /// The inbox is encrypted, and this client does not have its key.
    #[error("the key of the encrypted inbox {address} is with the client that created it; import its export")]
    KeyMissing {
        /// The address of the inbox.
        address: String,
    },
    /// A payload is malformed or does not decrypt.
    #[error("the email cannot be opened")]
    Decryption,
    /// A payload is not signed by the server that the inbox was created at; nothing of it was opened.
    #[error(transparent)]
    SignatureVerification(SignatureError),
    /// The live stream could not be kept up.
    #[error("the live stream failed: {0}")]
    Stream(String),
    /// The delivery strategy cannot work against this server.
    #[error("{0}")]
    Strategy(String),
    /// The server answered with something that is not the interface.
    #[error("unexpected answer from {url}: {reason}")]
    UnexpectedAnswer {
        /// What was asked.
        url: String,
        /// What is wrong with the answer; never the answer itself.
        reason: String,
    },
    /// A file of this machine cannot be read or written.
    #[error("{path}: {reason}")]
    File {
        /// The file.
        path: String,
        /// What the system said.
        reason: String,
    },
    /// The client was closed.
    #[error("the client is closed")]
    Closed,
}

/// How a signature failed to prove the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// The payload names another server key than the one pinned when the inbox was created.
    #[error(
        "the email is signed with another server key than the one pinned when the inbox was created: \
         either the server was set up anew, or somebody substitutes keys; nothing was opened"
    )]
    ServerKeyMismatch,
    /// The signature does not verify. The text is that of [`Error::Decryption`] (interface, "Encrypted payload", rule 6).
    #[error("the email cannot be opened")]
    Invalid,
}

/// An answer of the server that is an error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} ({status}{})", request_id.as_ref().map(|id| format!(", request {id}")).unwrap_or_default())]
pub struct ApiError {
    /// The HTTP status.
    pub status: u16,
    /// What the server said; several messages are joined with `; `.
    pub message: String,
    /// The id under which the server logged the request.
    pub request_id: Option<String>,
    /// How long the server asks to wait.
    pub retry_after: Option<Duration>,
}

impl Error {
    /// The HTTP status, if a server answered with one.
    pub fn status(&self) -> Option<u16> {
        self.answer().map(|answer| answer.status)
    }

    /// What the server said, if it answered.
    pub fn answer(&self) -> Option<&ApiError> {
        match self {
            Self::Api(answer)
            | Self::Unauthorized(answer)
            | Self::RateLimited { answer, .. }
            | Self::InboxNotFound(answer)
            | Self::EmailNotFound(answer)
            | Self::WebhookNotFound(answer)
            | Self::InboxTaken(answer) => Some(answer),
            _ => None,
        }
    }

    /// Whether the same request may succeed a little later: the network, the time-out, 408, 429 and 5xx of the interface.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Network { .. } | Self::RequestTimeout { .. } => true,
            _ => self.status().is_some_and(crate::http::retry::is_retryable),
        }
    }
}

impl From<OpenError> for Error {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::KeyMismatch => Self::SignatureVerification(SignatureError::ServerKeyMismatch),
            OpenError::Signature => Self::SignatureVerification(SignatureError::Invalid),
            OpenError::Malformed | OpenError::Decryption => Self::Decryption,
        }
    }
}
