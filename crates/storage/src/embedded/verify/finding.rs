//! What a verification tells, one line each.

use std::fmt;
use std::path::PathBuf;

use restante_model::{EmailId, WebhookId};

use crate::Part;

/// Something that a verification has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What.
    pub problem: Problem,
    /// The number of the segment file.
    pub segment: Option<u32>,
    /// Where in it.
    pub offset: Option<u64>,
    /// The address of the inbox, or its hash where only that is known.
    pub inbox: Option<String>,
    /// The email.
    pub email: Option<EmailId>,
    /// The webhook.
    pub webhook: Option<WebhookId>,
}

/// What is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// A file of the log is not there, though nothing deleted it.
    FileMissing(PathBuf),
    /// A file of the log does not begin as it should: nothing in it can be read.
    FileUnreadable(PathBuf),
    /// So many bytes of the log are no records.
    Unreadable {
        /// How many.
        bytes: u64,
    },
    /// So many bytes of the log are no records, and somebody has accepted that: starts pass them by.
    GivenUp {
        /// How many.
        bytes: u64,
    },
    /// So many bytes at the end of the log were written but not finished: the next start cuts them off.
    Unfinished {
        /// How many.
        bytes: u64,
    },
    /// A part of an email does not match its checksum.
    PartDamaged(Part),
    /// The key of an encrypted inbox does not match its checksum.
    KeyDamaged,
    /// The configuration of a webhook does not match its checksum.
    ConfigDamaged,
    /// What is to be told of the arrival of an email does not match its checksum.
    EventDamaged,
    /// The report of the last attempt of a delivery does not match its checksum.
    ReportDamaged,
    /// Another blob of a record does not match its checksum.
    BlobDamaged,
    /// A blob of a record that was deleted or written again since does not match its checksum: nothing is lost by it.
    DeadDamaged,
    /// The next start makes the index anew, as after a power cut or in a copied directory: it was not compared.
    IndexNotBelieved,
    /// The index cannot be read; the next start makes it anew.
    IndexUnreadable(String),
    /// The index has applied what the log does not hold.
    IndexAhead,
    /// The index lacks a row that the log makes: which kind.
    RowMissing(&'static str),
    /// The index holds a row that the log does not make.
    RowWithoutRecord(&'static str),
    /// A row of the index says something else than the log.
    RowDiffers(&'static str),
}

impl Problem {
    /// Whether something is wrong with the store, and not merely worth knowing.
    pub fn is_wrong(&self) -> bool {
        !matches!(
            self,
            Self::GivenUp { .. } | Self::Unfinished { .. } | Self::IndexNotBelieved | Self::DeadDamaged
        )
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FileMissing(file) => write!(f, "{} is missing", file.display()),
            Self::FileUnreadable(file) => write!(f, "{} is damaged: nothing in it can be read", file.display()),
            Self::Unreadable { bytes } => write!(f, "{bytes} bytes cannot be read"),
            Self::GivenUp { bytes } => write!(f, "note: {bytes} bytes cannot be read, and were given up"),
            Self::Unfinished { bytes } => {
                write!(
                    f,
                    "note: the last {bytes} bytes are an unfinished write, which the next start cuts off"
                )
            }
            Self::PartDamaged(part) => write!(f, "the {} does not match its checksum", part_name(*part)),
            Self::KeyDamaged => f.write_str("the client's key does not match its checksum"),
            Self::ConfigDamaged => f.write_str("the configuration of the webhook does not match its checksum"),
            Self::EventDamaged => f.write_str("the event of the email's arrival does not match its checksum"),
            Self::ReportDamaged => f.write_str("the report of a delivery does not match its checksum"),
            Self::BlobDamaged => f.write_str("a part of a record does not match its checksum"),
            Self::DeadDamaged => f.write_str("note: damaged, in a record that is live no more: nothing is lost by it"),
            Self::IndexNotBelieved => f.write_str("note: the next start makes the index anew; it was not compared"),
            Self::IndexUnreadable(reason) => write!(f, "the index cannot be read: {reason}"),
            Self::IndexAhead => f.write_str("the index holds more than the log, which was cut or replaced"),
            Self::RowMissing(kind) => write!(f, "the index lacks the {kind} that the log holds"),
            Self::RowWithoutRecord(kind) => write!(f, "the index holds the {kind} and the log does not"),
            Self::RowDiffers(kind) => write!(f, "the index and the log differ in the {kind}"),
        }
    }
}

fn part_name(part: Part) -> &'static str {
    match part {
        Part::Metadata => "metadata",
        Part::Facts => "session facts",
        Part::Raw => "raw message",
        Part::Parsed => "parsed content",
        Part::MetadataSignature => "signature of the metadata",
        Part::ParsedSignature => "signature of the parsed content",
        Part::RawSignature => "signature of the raw message",
    }
}

impl Finding {
    pub(super) fn of(problem: Problem) -> Self {
        Self {
            problem,
            segment: None,
            offset: None,
            inbox: None,
            email: None,
            webhook: None,
        }
    }

    pub(super) fn at(self, segment: u32, offset: u64) -> Self {
        Self {
            segment: Some(segment),
            offset: Some(offset),
            ..self
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(segment) = self.segment {
            write!(f, "segment {segment} ")?;
        }
        if let Some(offset) = self.offset {
            write!(f, "offset {offset} ")?;
        }
        if let Some(inbox) = &self.inbox {
            write!(f, "inbox {inbox} ")?;
        }
        if let Some(email) = self.email {
            write!(f, "email {email} ")?;
        }
        if let Some(webhook) = self.webhook {
            write!(f, "webhook {webhook} ")?;
        }
        write!(f, "{}", self.problem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_one_line_that_names_what_is_known() {
        let id = EmailId::from_bytes([0x11; 16]);
        let finding = Finding {
            inbox: Some("bob@restante.test".to_owned()),
            email: Some(id),
            ..Finding::of(Problem::PartDamaged(Part::Raw)).at(3, 1234)
        };
        let expected = format!(
            "segment 3 offset 1234 inbox bob@restante.test email {id} the raw message does not match its checksum"
        );
        assert_eq!(finding.to_string(), expected);
        let id = WebhookId::from_bytes([0x22; 16]);
        let finding = Finding {
            webhook: Some(id),
            ..Finding::of(Problem::ConfigDamaged)
        };
        let expected = format!("webhook {id} the configuration of the webhook does not match its checksum");
        assert_eq!(finding.to_string(), expected);
        let finding = Finding::of(Problem::RowMissing("totals"));
        assert_eq!(finding.to_string(), "the index lacks the totals that the log holds");
    }
}
