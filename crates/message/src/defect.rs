//! What can be wrong with a message, and how a person is told.

use std::fmt;

use crate::limit::{DEFECTS_MAX, DEPTH_MAX, FIELDS_MAX, LINE_MAX, PARTS_MAX};

/// One kind of damage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Defect {
    Empty,
    NoHeaders,
    HeadersCut,
    BareCr,
    BareLf,
    Nul,
    LongLine,
    HeaderBytes,
    EncodedWord,
    TooManyFields,
    TooDeep,
    TooManyParts,
    NotAType,
    NoBoundary,
    BoundaryUnused,
    NotClosed,
    Base64,
    QuotedPrintable,
    UnknownEncoding(String),
    UnknownCharset(String),
    UndecodableText(String),
    Repeated(&'static str),
    NoFrom,
    NoDate,
    BadDate,
    Unparsable,
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("The message is empty."),
            Self::NoHeaders => f.write_str("There is no header block: the whole message is taken as its body."),
            Self::HeadersCut => {
                f.write_str("A line of a header block is not a header field: the body is taken to start there.")
            }
            Self::BareCr => f.write_str("There is a CR without LF."),
            Self::BareLf => f.write_str("There is a LF without CR: lines should end in CRLF."),
            Self::Nul => f.write_str("There is a NUL byte."),
            Self::LongLine => write!(f, "There is a line of more than {LINE_MAX} characters."),
            Self::HeaderBytes => {
                f.write_str("A header has 8-bit bytes that are not UTF-8: they are read as windows-1252.")
            }
            Self::EncodedWord => f.write_str("An encoded word in a header cannot be decoded: it is shown as written."),
            Self::TooManyFields => write!(f, "Header fields beyond the first {FIELDS_MAX} are left unparsed."),
            Self::TooDeep => {
                write!(
                    f,
                    "Parts nested deeper than {DEPTH_MAX} are left unparsed: they are attachments."
                )
            }
            Self::TooManyParts => write!(f, "Parts beyond the first {PARTS_MAX} are left unparsed."),
            Self::NotAType => f.write_str("A Content-Type is no type and subtype: the part is taken as text."),
            Self::NoBoundary => f.write_str("A multipart part names no boundary: it is taken as text."),
            Self::BoundaryUnused => {
                f.write_str("The boundary of a multipart part never occurs: the part is taken as text.")
            }
            Self::NotClosed => f.write_str("A multipart part is not closed by its end boundary."),
            Self::Base64 => f.write_str("Base64 is damaged: what can be decoded is shown."),
            Self::QuotedPrintable => f.write_str("Quoted-printable is damaged: what can be decoded is shown."),
            Self::UnknownEncoding(name) => {
                write!(
                    f,
                    "The transfer encoding \"{name}\" is unknown: the part is left encoded."
                )
            }
            Self::UnknownCharset(name) => write!(f, "The charset \"{name}\" is unknown."),
            Self::UndecodableText(name) => write!(f, "There are bytes that the charset \"{name}\" does not have."),
            Self::Repeated(name) => write!(f, "There are several {name} headers."),
            Self::NoFrom => f.write_str("There is no From header."),
            Self::NoDate => f.write_str("There is no Date header."),
            Self::BadDate => f.write_str("The Date header is not a date."),
            Self::Unparsable => f.write_str("The message cannot be parsed."),
        }
    }
}

/// The defects found so far, each once.
#[derive(Debug, Default)]
pub(crate) struct Defects(Vec<Defect>);

impl Defects {
    /// Notes a defect, unless it is known or there are very many.
    pub(crate) fn note(&mut self, defect: Defect) {
        if self.0.len() < DEFECTS_MAX && !self.0.contains(&defect) {
            self.0.push(defect);
        }
    }

    /// The sentences, in the order in which the defects were found.
    pub(crate) fn sentences(&self) -> Vec<String> {
        self.0.iter().map(Defect::to_string).collect()
    }
}

/// A name from a message as a defect may show it: short, printable ASCII.
pub(crate) fn shown(name: &str) -> String {
    name.chars().filter(char::is_ascii_graphic).take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_defect_is_told_once_and_their_number_is_bounded() {
        let mut defects = Defects::default();
        for name in 0..1000 {
            defects.note(Defect::BareCr);
            defects.note(Defect::UnknownCharset(name.to_string()));
        }
        let sentences = defects.sentences();
        assert_eq!(sentences.len(), DEFECTS_MAX);
        assert_eq!(sentences[0], "There is a CR without LF.");
        assert_eq!(sentences[1], "The charset \"0\" is unknown.");
    }

    #[test]
    fn names_shown_are_short_and_printable() {
        assert_eq!(shown("x-\r\n\0é\u{1b}1"), "x-1");
        assert_eq!(shown(&"a".repeat(100)).len(), 40);
    }
}
