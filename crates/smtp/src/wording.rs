//! Every reply that the session gives by itself, in one table (docs/spec/decisions.md section 8).
//!
//! What only the outside can know (an unknown inbox, no room, trouble with the store) comes in as a ready [`Reply`].

use crate::config::Auth;
use crate::reply::{Enhanced, Reply};

pub(crate) const SENDER_OK: Reply = Reply::fixed(250, Enhanced(2, 1, 0), "Ok");
pub(crate) const RECIPIENT_OK: Reply = Reply::fixed(250, Enhanced(2, 1, 5), "Ok");
pub(crate) const OK: Reply = Reply::fixed(250, Enhanced(2, 0, 0), "Ok");
pub(crate) const BYE: Reply = Reply::fixed(221, Enhanced(2, 0, 0), "Bye");
pub(crate) const START_TLS: Reply = Reply::fixed(220, Enhanced(2, 0, 0), "Ready to start TLS");
pub(crate) const AUTH_OK: Reply = Reply::fixed(235, Enhanced(2, 7, 0), "Authenticated: any credentials will do");
pub(crate) const CANNOT_VERIFY: Reply = Reply::fixed(
    252,
    Enhanced(2, 5, 2),
    "Cannot verify the user, but will take the message and try to deliver it",
);
/// An intermediate reply, which has no enhanced code (RFC 2034 section 3).
pub(crate) const SEND_DATA: Reply = Reply::bare(354, "End data with <CR><LF>.<CR><LF>");

/// The answers to HELO and EHLO have no enhanced codes (RFC 2034 section 3).
pub(crate) const HELO_SYNTAX: Reply = Reply::bare(501, "Syntax: HELO hostname");
pub(crate) const EHLO_SYNTAX: Reply = Reply::bare(501, "Syntax: EHLO hostname");

pub(crate) const UNKNOWN: Reply = Reply::fixed(500, Enhanced(5, 5, 1), "Command not recognized");
pub(crate) const NOT_IMPLEMENTED: Reply = Reply::fixed(502, Enhanced(5, 5, 1), "Command not implemented");
pub(crate) const LINE_TOO_LONG: Reply = Reply::fixed(
    500,
    Enhanced(5, 5, 2),
    "Line too long: a command line has at most 2048 octets",
);
pub(crate) const NO_ARGUMENT: Reply = Reply::fixed(501, Enhanced(5, 5, 4), "This command takes no argument");
pub(crate) const MAIL_SYNTAX: Reply = Reply::fixed(501, Enhanced(5, 5, 4), "Syntax: MAIL FROM:<address> [parameters]");
pub(crate) const RCPT_SYNTAX: Reply = Reply::fixed(501, Enhanced(5, 5, 4), "Syntax: RCPT TO:<address>");
pub(crate) const BDAT_SYNTAX: Reply = Reply::fixed(501, Enhanced(5, 5, 4), "Syntax: BDAT chunk-size [LAST]");
pub(crate) const VRFY_SYNTAX: Reply = Reply::fixed(501, Enhanced(5, 5, 4), "Syntax: VRFY address");
pub(crate) const SIZE_SYNTAX: Reply = Reply::fixed(501, Enhanced(5, 5, 4), "SIZE must be a decimal number");
pub(crate) const BODY_SYNTAX: Reply = Reply::fixed(501, Enhanced(5, 5, 4), "BODY must be 7BIT or 8BITMIME");

pub(crate) const AUTH_SYNTAX: Reply = Reply::fixed(501, Enhanced(5, 5, 4), "Syntax: AUTH mechanism [initial-response]");
pub(crate) const AUTH_PARAMETER_SYNTAX: Reply = Reply::fixed(501, Enhanced(5, 5, 4), "AUTH must be <> or an address");

/// RFC 4954 sections 4 and 6.
pub(crate) const UNKNOWN_MECHANISM: Reply = Reply::fixed(504, Enhanced(5, 5, 4), "The mechanisms are PLAIN and LOGIN");
pub(crate) const AUTH_CANCELLED: Reply = Reply::fixed(501, Enhanced(5, 7, 0), "Authentication cancelled");
pub(crate) const NOT_BASE64: Reply = Reply::fixed(501, Enhanced(5, 5, 2), "The response is not base64");
pub(crate) const NOT_PLAIN: Reply = Reply::fixed(
    501,
    Enhanced(5, 5, 2),
    "PLAIN is base64 of: [identity] NUL user NUL password",
);
pub(crate) const RESPONSE_TOO_LONG: Reply = Reply::fixed(
    500,
    Enhanced(5, 5, 6),
    "Authentication line too long: it has at most 12288 octets",
);
pub(crate) const EHLO_FIRST: Reply = Reply::fixed(503, Enhanced(5, 5, 1), "Send EHLO first");
pub(crate) const AUTHENTICATED: Reply = Reply::fixed(503, Enhanced(5, 5, 1), "Authenticated already");
pub(crate) const AUTH_IN_TRANSACTION: Reply =
    Reply::fixed(503, Enhanced(5, 5, 1), "No authentication within a transaction");

pub(crate) const HELO_FIRST: Reply = Reply::fixed(503, Enhanced(5, 5, 1), "Send HELO or EHLO first");
pub(crate) const MAIL_FIRST: Reply = Reply::fixed(503, Enhanced(5, 5, 1), "Send MAIL FROM first");
pub(crate) const NESTED_MAIL: Reply = Reply::fixed(503, Enhanced(5, 5, 1), "A transaction is open already");
pub(crate) const NO_RECIPIENTS: Reply = Reply::fixed(554, Enhanced(5, 5, 1), "No valid recipients");
pub(crate) const BDAT_BEGUN: Reply = Reply::fixed(503, Enhanced(5, 5, 1), "The message has begun with BDAT");
pub(crate) const TLS_ACTIVE: Reply = Reply::fixed(503, Enhanced(5, 5, 1), "TLS is active already");
/// RFC 6531 section 3.5.
pub(crate) const NEEDS_SMTPUTF8: Reply = Reply::fixed(
    553,
    Enhanced(5, 6, 7),
    "An address that is not ASCII needs the SMTPUTF8 parameter of MAIL",
);
pub(crate) const TOO_MANY_RECIPIENTS: Reply = Reply::fixed(452, Enhanced(4, 5, 3), "Too many recipients");

pub(crate) const TOO_MANY_UNKNOWN: Reply =
    Reply::fixed(421, Enhanced(4, 7, 0), "Too many unknown commands, closing connection");
pub(crate) const NOT_HTTP: Reply = Reply::fixed(421, Enhanced(4, 7, 0), "This port speaks SMTP, not HTTP");
pub(crate) const NOT_TLS: Reply = Reply::fixed(421, Enhanced(4, 7, 0), "This port begins in plain text, not with TLS");

/// The commands that are not answered 502.
pub(crate) fn help(offers_tls: bool, auth: Auth) -> Reply {
    let starttls = if offers_tls { " STARTTLS" } else { "" };
    let auth = match auth {
        Auth::Off => "",
        Auth::AcceptAny => " AUTH",
    };
    let text = format!(
        "Commands: EHLO HELO{starttls}{auth} MAIL RCPT DATA BDAT RSET NOOP QUIT VRFY HELP; this server receives and \
         never sends"
    );
    Reply::new(214, Enhanced(2, 0, 0), &text)
}

/// A message over the limit, declared or real.
pub(crate) fn message_too_large(limit: usize) -> Reply {
    Reply::new(
        552,
        Enhanced(5, 3, 4),
        &format!("Message too large: the limit is {limit} bytes"),
    )
}

/// A header block over the limit.
pub(crate) fn header_too_large(limit: usize) -> Reply {
    Reply::new(
        552,
        Enhanced(5, 3, 4),
        &format!("Message header too large: the limit is {limit} bytes"),
    )
}

/// A parameter that was not offered (RFC 5321 section 4.1.1.11).
pub(crate) fn unsupported_parameter(name: &[u8]) -> Reply {
    let name = String::from_utf8_lossy(name);
    Reply::new(555, Enhanced(5, 5, 4), &format!("Parameter not supported: {name}"))
}

/// A chunk of BDAT that was taken.
pub(crate) fn chunk_received(bytes: usize) -> Reply {
    Reply::new(250, Enhanced(2, 0, 0), &format!("{bytes} octets received so far"))
}
