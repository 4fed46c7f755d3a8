//! What a session is told about the server that it speaks for.

/// Whether STARTTLS is offered.
///
/// Only a server with a certificate offers it: Go's standard client upgrades whenever it can and then insists on a
/// valid certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StartTls {
    /// STARTTLS is answered 502.
    #[default]
    Off,
    /// STARTTLS is offered until the connection is encrypted.
    Offered,
}

/// Whether a client can authenticate (AUTH, RFC 4954).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Auth {
    /// AUTH is answered 502.
    #[default]
    Off,
    /// PLAIN and LOGIN succeed with any credentials, for applications that insist on them; they give no rights.
    AcceptAny,
}

/// The settings of a session, shared by all sessions of a listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionConfig {
    /// The name in the greeting and in the answers to HELO and EHLO.
    pub hostname: String,
    /// The text after the name in the greeting.
    pub banner: String,
    /// Bytes of a message, at most, counted after dot-unstuffing (RFC 1870).
    pub max_message_bytes: usize,
    /// Bytes of a header block, at most.
    pub max_header_bytes: usize,
    /// Recipients of a transaction, at most (LIMITS RCPTMAX, RFC 9422).
    pub max_recipients: usize,
    /// Bytes of a refused message that are read and dropped, at most, before the session gives up and closes; never
    /// less than the largest message.
    pub max_drain_bytes: u64,
    /// Whether STARTTLS is offered.
    pub starttls: StartTls,
    /// Whether a client can authenticate.
    pub auth: Auth,
}

impl SessionConfig {
    pub(crate) fn drain_limit(&self) -> u64 {
        self.max_drain_bytes.max(self.max_message_bytes as u64)
    }
}

impl Default for SessionConfig {
    fn default() -> Self {
        Self {
            hostname: "localhost".into(),
            banner: "restante test mail server (receive-only)".into(),
            max_message_bytes: 26_214_400,
            max_header_bytes: 262_144,
            max_recipients: 100,
            max_drain_bytes: 268_435_456,
            starttls: StartTls::Off,
            auth: Auth::Off,
        }
    }
}
