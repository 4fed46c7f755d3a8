//! What the SMTP session knew about a message, kept beside its bytes.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// The facts of the session that brought a message: who connected, how, and what the envelope said.
///
/// Texts have no CR, LF or NUL: they may stand in a header line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionFacts {
    /// Address and port of the client.
    pub peer: SocketAddr,
    /// The name that the client gave in HELO or EHLO.
    pub helo: String,
    /// The protocol keyword of the trace header (RFC 3848): `SMTP`, `ESMTP`, `ESMTPS`, `UTF8SMTP`, …
    pub protocol: String,
    /// The encryption of the connection, if any.
    pub tls: Option<TlsFacts>,
    /// The reverse-path as given, empty for `<>`.
    pub reverse_path: String,
    /// The forward-path of this inbox as given.
    pub forward_path: String,
    /// When the message was complete.
    pub received_at: Timestamp,
}

/// How a connection was encrypted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsFacts {
    /// For example `TLSv1.3`.
    pub version: String,
    /// For example `TLS_AES_256_GCM_SHA384`.
    pub cipher: String,
}
