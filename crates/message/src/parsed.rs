//! What a message says: the result of [`crate::parse`].

use std::fmt;

use restante_model::Timestamp;

use crate::defect::Defect;

/// The content of a message.
///
/// Texts decoded from header fields have no CR, LF or NUL, but for the newline that joins a repeated header's values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ParsedMessage {
    /// The plain body, or one made from the HTML body; CRLF has become LF.
    pub text: Option<String>,
    /// The HTML body; CRLF has become LF.
    pub html: Option<String>,
    /// Lowercase name and decoded, unfolded value, in message order of the first occurrence; a repeated header's values are joined with a newline.
    pub headers: Vec<(String, String)>,
    /// Every part that is not body text, in message order.
    pub attachments: Vec<Attachment>,
    /// `href`s of the HTML, then URLs of the text; each once, in order of first occurrence.
    pub links: Vec<String>,
    /// The decoded Subject, if there is one.
    pub subject: Option<String>,
    /// The decoded text of the From header, if it is there and not empty.
    pub from: Option<String>,
    /// The first mailbox of the From header.
    pub from_mailbox: Option<Mailbox>,
    /// The mailboxes of the To header as text; members of groups are listed one by one.
    pub to: Vec<String>,
    /// The mailboxes of the To header.
    pub to_mailboxes: Vec<Mailbox>,
    /// The mailboxes of the Cc header as text.
    pub cc: Vec<String>,
    /// The mailboxes of the Cc header.
    pub cc_mailboxes: Vec<Mailbox>,
    /// The mailboxes of the Reply-To header as text.
    pub reply_to: Vec<String>,
    /// The Message-ID without angle brackets.
    pub message_id: Option<String>,
    /// The Date header.
    pub date: Option<Timestamp>,
    /// The first id of In-Reply-To without angle brackets.
    pub in_reply_to: Option<String>,
    /// The ids of References without angle brackets.
    pub references: Vec<String>,
    /// What is wrong with the message, each once, in sentences for a person.
    pub defects: Vec<String>,
}

impl ParsedMessage {
    /// What is shown of a message whose reading broke off: that, and nothing else.
    pub fn unparsable() -> Self {
        Self {
            defects: vec![Defect::Unparsable.to_string()],
            ..Self::default()
        }
    }
}

/// A part of a message that is not body text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// The decoded file name, or `unnamed`.
    pub filename: String,
    /// Type and subtype in lowercase, for example `application/pdf`.
    pub content_type: String,
    /// `attachment` or `inline`.
    pub content_disposition: String,
    /// The Content-ID without angle brackets.
    pub content_id: Option<String>,
    /// The bytes after transfer decoding, never changed otherwise.
    pub content: Vec<u8>,
}

/// A person or role that mail comes from or goes to (RFC 5322 section 3.4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mailbox {
    /// The decoded display name.
    pub name: Option<String>,
    /// The address as written, without angle brackets.
    pub address: String,
}

impl fmt::Display for Mailbox {
    /// Shows `address` or `Name <address>`; a name with special characters is quoted (RFC 5322 section 3.2.4).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(name) = &self.name else {
            return f.write_str(&self.address);
        };
        if name.contains(|c| r#"()<>[]:;@\,""#.contains(c)) {
            let escaped = name.replace('\\', r"\\").replace('"', "\\\"");
            write!(f, "\"{escaped}\" <{}>", self.address)
        } else {
            write!(f, "{name} <{}>", self.address)
        }
    }
}

/// The two header fields that a list of emails shows: the result of [`crate::summary`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// As [`ParsedMessage::from`].
    pub from: Option<String>,
    /// As [`ParsedMessage::subject`].
    pub subject: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mailbox_shows_its_name_quoted_only_where_it_must() {
        let mailbox = |name: Option<&str>| Mailbox {
            name: name.map(str::to_owned),
            address: "b@x.test".into(),
        };
        for (name, shown) in [
            (None, "b@x.test"),
            (Some("Bob Büro"), "Bob Büro <b@x.test>"),
            (Some("Smith, Bob"), r#""Smith, Bob" <b@x.test>"#),
            (Some(r#"Bob "Bo\b" S"#), r#""Bob \"Bo\\b\" S" <b@x.test>"#),
        ] {
            assert_eq!(mailbox(name).to_string(), shown);
        }
    }
}
