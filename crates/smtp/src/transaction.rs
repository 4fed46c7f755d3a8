//! A mail transaction: the draft that MAIL opens, and the complete thing that the end of data makes of it.

use bytes::Bytes;
use restante_model::{ForwardPath, ReversePath, TlsFacts};

/// What BODY= declared (RFC 6152).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BodyType {
    /// `BODY=7BIT`, or nothing said.
    #[default]
    SevenBit,
    /// `BODY=8BITMIME`.
    EightBitMime,
}

/// The parameters of MAIL FROM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MailParameters {
    /// SIZE=, saturated; zero says nothing (RFC 1870 section 4).
    pub size: u64,
    /// BODY=.
    pub body: BodyType,
    /// SMTPUTF8 was given (RFC 6531).
    pub smtputf8: bool,
}

/// A complete mail transaction, to be stored before it is acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transaction {
    /// The sender of MAIL FROM.
    pub reverse_path: ReversePath,
    /// The accepted recipients, each spelling once, in order; two of them may still mean the same inbox.
    pub recipients: Vec<ForwardPath>,
    /// The parameters of MAIL FROM.
    pub parameters: MailParameters,
    /// The message, byte for byte as sent, after dot-unstuffing.
    pub data: Bytes,
    /// The name given in HELO or EHLO; it has no control character and no space.
    pub helo: String,
    /// The protocol keyword of a trace header (RFC 3848, RFC 6531): `SMTP`, `ESMTP`, `ESMTPS`, `UTF8SMTP`, `UTF8SMTPS`.
    pub protocol: &'static str,
    /// The encryption of the connection, if any.
    pub tls: Option<TlsFacts>,
}
