//! A mail transaction: the draft that MAIL opens, and the complete thing that the end of data makes of it.

use bytes::Bytes;
use memchr::memmem;
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
    /// AUTH= was given (RFC 4954 section 5); whom it names is not believed.
    pub auth: bool,
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
    /// The protocol keyword of a trace header (RFC 3848, RFC 6531): `SMTP`, `ESMTP`, `ESMTPS`, `UTF8SMTPSA`, …
    pub protocol: &'static str,
    /// The encryption of the connection, if any.
    pub tls: Option<TlsFacts>,
}

/// What a message may hold at first, before it has to ask for more.
const FIRST_RESERVATION: usize = 65_536;

/// A transaction that is being built; [`Draft::finish`] takes it, so that nothing of it is left for the next mail.
#[derive(Debug)]
pub(crate) struct Draft {
    reverse_path: ReversePath,
    pub(crate) parameters: MailParameters,
    pub(crate) recipients: Vec<ForwardPath>,
    pub(crate) message: Vec<u8>,
    /// Bytes that the message may hold.
    pub(crate) reserved: usize,
    /// A chunk of BDAT has been taken: no recipient and no DATA may follow (RFC 3030 section 2).
    pub(crate) chunked: bool,
}

impl Draft {
    pub(crate) fn new(reverse_path: ReversePath, parameters: MailParameters) -> Self {
        Self {
            reverse_path,
            parameters,
            recipients: Vec::new(),
            message: Vec::new(),
            reserved: 0,
            chunked: false,
        }
    }

    /// Adds a recipient; the same spelling a second time changes nothing.
    pub(crate) fn add(&mut self, recipient: ForwardPath) {
        if !self.recipients.contains(&recipient) {
            self.recipients.push(recipient);
        }
    }

    /// Whether the recipient would be one too many.
    pub(crate) fn is_full(&self, recipient: &ForwardPath, limit: usize) -> bool {
        self.recipients.len() >= limit && !self.recipients.contains(recipient)
    }

    /// Bytes that the message may still take of what is reserved; allocates for so much of it as is about to come, and
    /// never beyond the reservation.
    pub(crate) fn make_room(&mut self, incoming: usize) -> usize {
        let length = self.message.len();
        let room = self.reserved.saturating_sub(length);
        if self.message.capacity() - length < incoming.min(room) {
            let doubled = self
                .message
                .capacity()
                .saturating_mul(2)
                .max(length + incoming.min(room));
            self.message.reserve_exact(doubled.min(self.reserved) - length);
        }
        room
    }

    /// How much more the message has to ask for, or nothing when it is at the limit: at first a little, then as much
    /// again as it has.
    pub(crate) fn next_reservation(&self, limit: usize) -> Option<usize> {
        let target = self.reserved.saturating_mul(2).max(FIRST_RESERVATION).min(limit);
        target.checked_sub(self.reserved).filter(|&more| more > 0)
    }

    /// Whether the header block, up to the first empty line, is within the limit.
    ///
    /// A line may end with a bare LF here: the question is what a reader of the message takes for its header.
    pub(crate) fn header_fits(&self, limit: usize) -> bool {
        let starts_empty = self.message.starts_with(b"\r\n") || self.message.starts_with(b"\n");
        if self.message.len() <= limit || starts_empty {
            return true;
        }
        // The line end of the last header field is the last byte that counts; the empty line follows.
        let window = &self.message[..self.message.len().min(limit + 2)];
        let empty_line = memmem::find(window, b"\n\r\n")
            .into_iter()
            .chain(memmem::find(window, b"\n\n"))
            .min();
        empty_line.is_some_and(|at| at < limit)
    }

    /// Completes the transaction.
    pub(crate) fn finish(self, helo: String, protocol: &'static str, tls: Option<TlsFacts>) -> Transaction {
        Transaction {
            reverse_path: self.reverse_path,
            recipients: self.recipients,
            parameters: self.parameters,
            data: Bytes::from(self.message),
            helo,
            protocol,
            tls,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(message: &[u8]) -> Draft {
        let mut draft = Draft::new(ReversePath::Null, MailParameters::default());
        draft.message = message.to_vec();
        draft
    }

    #[test]
    fn a_header_block_of_the_limit_fits_and_one_byte_more_does_not() {
        for end in ["\r\n", "\n"] {
            let header = format!("A: {}{end}", "b".repeat(50));
            let message = format!("{header}{end}{}", "body".repeat(100));
            assert!(draft(message.as_bytes()).header_fits(header.len()), "{end:?}");
            assert!(!draft(message.as_bytes()).header_fits(header.len() - 1), "{end:?}");
        }
        assert!(draft(b"\r\nbody without header").header_fits(3));
        assert!(!draft(b"no body at all").header_fits(3));
        assert!(draft(b"no body at all").header_fits(14));
    }

    #[test]
    fn reservations_double_up_to_the_limit() {
        let mut draft = draft(b"");
        let mut steps = Vec::new();
        while let Some(more) = draft.next_reservation(200_000) {
            steps.push(more);
            draft.reserved += more;
        }
        assert_eq!(steps, [65_536, 65_536, 200_000 - 131_072]);
        assert_eq!(
            Draft::new(ReversePath::Null, MailParameters::default()).next_reservation(10),
            Some(10)
        );
    }

    #[test]
    fn no_more_is_allocated_than_reserved() {
        let mut draft = draft(b"");
        assert_eq!(draft.make_room(1000), 0);
        draft.reserved = 1500;
        for _ in 0..3 {
            let room = draft.make_room(1000);
            draft.message.extend_from_slice(&[0; 1000][..room.min(1000)]);
            assert!(draft.message.capacity() <= 1500, "{}", draft.message.capacity());
        }
        assert_eq!(draft.message.len(), 1500);
    }
}
