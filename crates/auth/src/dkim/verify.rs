//! Verification of signatures whose keys are known: pure, and the only part that reads the whole message.

use std::borrow::Cow;
use std::collections::HashMap;

use mail_auth::dkim::Canonicalization;
use restante_message::{RawField, RawMessage};
use restante_model::auth::Verdict;

use super::body::{self, BodyHash};
use super::key::Key;
use super::signature::Signature;
use super::tags::signature_value;

/// Why a signature does not hold, although its key is there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Invalid {
    /// The body is not the signed one.
    #[error("body hash did not verify: the body was changed after signing")]
    Body,
    /// `l=` counts bytes that are not there.
    #[error("the body has {has} bytes, and the signature (l=) covers {limit}: the body was shortened after signing")]
    Shortened {
        /// Length of the canonical body.
        has: u64,
        /// `l=`
        limit: u64,
    },
    /// The header fields are not the signed ones, or the key is not the signer's.
    #[error(
        "signature did not verify: a signed header field was changed after signing, or the key is not the signer's"
    )]
    Header,
    /// More values of `l=` than the body is read for; nobody signs like that.
    #[error("not verified: the signatures cover the body in more than {MOST_HASHES} ways (c= and l=)")]
    ManyHashes,
}

impl Invalid {
    /// `none` if this server did not look.
    pub(crate) fn verdict(&self) -> Verdict {
        match self {
            Self::ManyHashes => Verdict::None,
            Self::Body | Self::Shortened { .. } | Self::Header => Verdict::Fail,
        }
    }
}

/// Most hashes of the body, each a pass over all of it: two forms, and what a forwarder may limit with `l=`.
const MOST_HASHES: usize = 4;

/// A message whose signatures are verified one after another.
pub(crate) struct Verifier<'a> {
    source: &'a RawMessage<'a>,
    /// Positions of the fields of each name, last first.
    positions: HashMap<Vec<u8>, Vec<usize>>,
    /// Several signatures mostly cover the body in the same form.
    bodies: Vec<(Canonicalization, Option<u64>, BodyHash)>,
}

impl<'a> Verifier<'a> {
    /// Prepares for the signatures of a message.
    pub(crate) fn new(source: &'a RawMessage<'a>) -> Self {
        let mut positions: HashMap<Vec<u8>, Vec<usize>> = HashMap::new();
        for (index, field) in source.fields.iter().enumerate().rev() {
            let name = field.name.trim_ascii_end().to_ascii_lowercase();
            positions.entry(name).or_default().push(index);
        }
        Self {
            source,
            positions,
            bodies: Vec::new(),
        }
    }

    /// Verifies the signature that stands in the field at `index`; says how much of the body it covers if not all.
    pub(crate) fn verify(&mut self, index: usize, signature: &Signature, key: &Key) -> Result<Option<u64>, Invalid> {
        let body = self.body_hash(signature)?;
        if let Some(limit) = signature.limit.filter(|&limit| limit > body.length) {
            return Err(Invalid::Shortened {
                has: body.length,
                limit,
            });
        }
        if body.sha256 != signature.body_hash {
            return Err(Invalid::Body);
        }
        let covered = signature.limit.filter(|&limit| limit < body.length);
        let Some(own) = self.source.fields.get(index) else {
            return Err(Invalid::Header);
        };
        let unsigned = without_signature(own.value);
        let own = RawField {
            name: own.name,
            value: &unsigned,
        };
        let fields = self.signed_fields(signature).chain([own]);
        let fields: Vec<_> = fields.map(|field| (field.name, with_crlf(field.value))).collect();
        let mut fields = fields.iter().map(|(name, value)| (*name, value.as_ref()));
        let holds = key.verifies(signature, &mut fields);
        if holds { Ok(covered) } else { Err(Invalid::Header) }
    }

    fn body_hash(&mut self, signature: &Signature) -> Result<BodyHash, Invalid> {
        let (form, limit) = (signature.body_form, signature.limit);
        if let Some((.., hash)) = self.bodies.iter().find(|known| (known.0, known.1) == (form, limit)) {
            return Ok(hash.clone());
        }
        if self.bodies.len() == MOST_HASHES {
            return Err(Invalid::ManyHashes);
        }
        let hash = body::hash(self.source.body, form, limit);
        self.bodies.push((form, limit, hash.clone()));
        Ok(hash)
    }

    /// The fields that `h=` lists: each mention takes the next one from the bottom (RFC 6376 section 5.4.2).
    fn signed_fields<'b>(&'b self, signature: &'b Signature) -> impl Iterator<Item = RawField<'b>> {
        let mut taken: HashMap<&[u8], usize> = HashMap::new();
        signature.signed.iter().filter_map(move |name| {
            let count = taken.entry(name).or_default();
            let index = self.positions.get(name)?.get(*count)?;
            *count += 1;
            self.source.fields.get(*index).copied()
        })
    }
}

/// The value of a signature field as it was signed: `b=` is empty, and the field has no line end (RFC 6376 section 3.7).
fn without_signature(value: &[u8]) -> Vec<u8> {
    let mut unsigned = value.to_vec();
    if let Some(range) = signature_value(value) {
        unsigned.drain(range);
    }
    let line_end = if unsigned.ends_with(b"\r\n") {
        2
    } else {
        usize::from(unsigned.ends_with(b"\n"))
    };
    unsigned.truncate(unsigned.len() - line_end);
    unsigned
}

/// The value with CRLF for each bare LF, as the signer had it: relays change line ends in both directions.
fn with_crlf(value: &[u8]) -> Cow<'_, [u8]> {
    let is_bare = |at: usize| at == 0 || value[at - 1] != b'\r';
    if !memchr::memchr_iter(b'\n', value).any(is_bare) {
        return Cow::Borrowed(value);
    }
    let mut lines = Vec::with_capacity(value.len() + 16);
    for line in value.split_inclusive(|&byte| byte == b'\n') {
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        lines.extend_from_slice(text.strip_suffix(b"\r").unwrap_or(text));
        if line.ends_with(b"\n") {
            lines.extend_from_slice(b"\r\n");
        } else if text.ends_with(b"\r") {
            lines.push(b'\r');
        }
    }
    Cow::Owned(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_value_is_cut_out_with_its_white_space() {
        for (value, unsigned) in [
            (&b" v=1; b=a\r\n b;\r\n d=x\r\n"[..], &b" v=1; b=;\r\n d=x"[..]),
            (b" bh=x; b = abc\r\n", b" bh=x; b ="),
            (b" v=1\n", b" v=1"),
        ] {
            assert_eq!(without_signature(value), unsigned);
        }
    }

    #[test]
    fn bare_line_feeds_become_line_ends() {
        for (value, signed) in [
            (&b" a\r\n b\r\n"[..], &b" a\r\n b\r\n"[..]),
            (b" a\n b\n", b" a\r\n b\r\n"),
            (b" a\r\n b\n c", b" a\r\n b\r\n c"),
            (b"\n a\r", b"\r\n a\r"),
        ] {
            assert_eq!(with_crlf(value), signed);
        }
    }
}
