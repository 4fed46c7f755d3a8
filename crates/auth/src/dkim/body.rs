//! The canonical body (RFC 6376 section 3.4), and its hash.

use mail_auth::common::crypto::HashAlgorithm;
use mail_auth::common::headers::{Writable, Writer};
use mail_auth::dkim::Canonicalization;
use memchr::memchr;

/// Bytes that are gathered before they are hashed together.
const GATHERED: usize = 16 * 1024;

/// The hash of a body, and how much there was to hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BodyHash {
    /// SHA-256 of the canonical body, or of as much of it as the limit allows.
    pub(crate) sha256: Vec<u8>,
    /// Bytes of the whole canonical body.
    pub(crate) length: u64,
}

/// Hashes a body under a canonicalization, up to `limit` bytes of the canonical form (`l=`).
///
/// One pass without a copy of the body.
pub(crate) fn hash(body: &[u8], canonicalization: Canonicalization, limit: Option<u64>) -> BodyHash {
    let mut length = 0;
    let canonical = CanonicalBody {
        body,
        canonicalization,
        limit: limit.unwrap_or(u64::MAX),
        length: &mut length,
    };
    let sha256 = HashAlgorithm::Sha256.hash(canonical).as_ref().to_vec();
    BodyHash { sha256, length }
}

struct CanonicalBody<'a> {
    body: &'a [u8],
    canonicalization: Canonicalization,
    limit: u64,
    length: &'a mut u64,
}

impl Writable for CanonicalBody<'_> {
    fn write(self, writer: &mut impl Writer) {
        let mut output = Output {
            writer,
            gathered: Vec::with_capacity(GATHERED),
            limit: self.limit,
            length: 0,
        };
        write_lines(self.body, self.canonicalization, &mut output);
        output.flush();
        *self.length = output.length;
    }
}

/// Writes all lines but the empty ones at the end; each line ends in CRLF, the last one, too.
fn write_lines(body: &[u8], canonicalization: Canonicalization, output: &mut Output<'_, impl Writer>) {
    let mut empty_lines = 0_usize;
    let mut rest = body;
    while !rest.is_empty() {
        let (line, after) = next_line(rest);
        rest = after;
        let line = match canonicalization {
            Canonicalization::Simple => line,
            Canonicalization::Relaxed => without_trailing_space(line),
        };
        if line.is_empty() {
            empty_lines += 1;
            continue;
        }
        for _ in 0..std::mem::take(&mut empty_lines) {
            output.write(b"\r\n");
        }
        match canonicalization {
            Canonicalization::Simple => output.write(line),
            Canonicalization::Relaxed => write_with_single_spaces(line, output),
        }
        output.write(b"\r\n");
    }
    // RFC 6376 section 3.4.3: an empty body is one CRLF; section 3.4.4: it is nothing.
    if output.length == 0 && canonicalization == Canonicalization::Simple {
        output.write(b"\r\n");
    }
}

/// The line without its end (CRLF or LF), and what follows.
fn next_line(text: &[u8]) -> (&[u8], &[u8]) {
    match memchr(b'\n', text) {
        Some(newline) => {
            let line = &text[..newline];
            (line.strip_suffix(b"\r").unwrap_or(line), &text[newline + 1..])
        }
        None => (text, &[]),
    }
}

fn without_trailing_space(line: &[u8]) -> &[u8] {
    let kept = line.iter().rposition(|byte| !is_space(*byte));
    &line[..kept.map_or(0, |last| last + 1)]
}

/// Writes a line that ends in no white space.
fn write_with_single_spaces(line: &[u8], output: &mut Output<'_, impl Writer>) {
    let mut rest = line;
    while let Some(run) = first_run(rest) {
        output.write(&rest[..run]);
        output.write(b" ");
        let end = rest[run..].iter().position(|byte| !is_space(*byte));
        rest = &rest[end.map_or(rest.len(), |end| run + end)..];
    }
    output.write(rest);
}

/// Where white space begins that is not already one space.
fn first_run(line: &[u8]) -> Option<usize> {
    let mut pairs = line.iter().zip(line.get(1..)?);
    pairs.position(|(&this, &next)| this == b'\t' || (this == b' ' && is_space(next)))
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// Gathers small writes, and passes on no more than the limit.
struct Output<'a, W: Writer> {
    writer: &'a mut W,
    gathered: Vec<u8>,
    limit: u64,
    length: u64,
}

impl<W: Writer> Output<'_, W> {
    fn write(&mut self, bytes: &[u8]) {
        let room = self.limit.saturating_sub(self.length);
        let taken = usize::try_from(room).map_or(bytes.len(), |room| room.min(bytes.len()));
        self.length += bytes.len() as u64;
        if self.gathered.len() + taken > GATHERED {
            self.flush();
        }
        if taken > GATHERED {
            self.writer.write(&bytes[..taken]);
        } else {
            self.gathered.extend_from_slice(&bytes[..taken]);
        }
    }

    fn flush(&mut self) {
        self.writer.write(&self.gathered);
        self.gathered.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(body: &[u8], canonicalization: Canonicalization, limit: u64) -> (Vec<u8>, u64) {
        let mut length = 0;
        let mut written = Vec::new();
        CanonicalBody {
            body,
            canonicalization,
            limit,
            length: &mut length,
        }
        .write(&mut written);
        (written, length)
    }

    fn simple(body: &[u8]) -> Vec<u8> {
        canonical(body, Canonicalization::Simple, u64::MAX).0
    }

    fn relaxed(body: &[u8]) -> Vec<u8> {
        canonical(body, Canonicalization::Relaxed, u64::MAX).0
    }

    #[test]
    fn the_examples_of_rfc_6376_section_3_4_5() {
        let body = b" C \r\nD \t E\r\n\r\n\r\n";
        assert_eq!(relaxed(body), b" C\r\nD E\r\n");
        assert_eq!(simple(body), b" C \r\nD \t E\r\n");
    }

    #[test]
    fn empty_bodies() {
        for body in [&b""[..], b"\r\n", b"\r\n\r\n"] {
            assert_eq!(simple(body), b"\r\n");
            assert_eq!(relaxed(body), b"");
        }
        assert_eq!(relaxed(b" \t\r\n"), b"");
        assert_eq!(simple(b" \r\n"), b" \r\n");
    }

    #[test]
    fn lines_get_the_line_end_they_lack() {
        assert_eq!(simple(b"a\nb"), b"a\r\nb\r\n");
        assert_eq!(relaxed(b"a \nb"), b"a\r\nb\r\n");
        assert_eq!(simple(b"a\r\n\r\nb\rc"), b"a\r\n\r\nb\rc\r\n");
    }

    #[test]
    fn the_limit_counts_canonical_bytes() {
        assert_eq!(
            canonical(b"a  b\r\nc\r\n", Canonicalization::Relaxed, 4),
            (b"a b\r".to_vec(), 8)
        );
        assert_eq!(canonical(b"abc\r\n", Canonicalization::Simple, 0), (vec![], 5));
        assert_eq!(
            canonical(b"abc\r\n", Canonicalization::Simple, 9),
            (b"abc\r\n".to_vec(), 5)
        );
    }

    #[test]
    fn large_pieces_keep_their_order() {
        let line = vec![b'x'; GATHERED * 2];
        let mut body = b"first\r\n".to_vec();
        body.extend_from_slice(&line);
        body.extend_from_slice(b"\r\nlast\r\n");
        assert_eq!(simple(&body), body);
        assert_eq!(relaxed(&body), body);
    }
}
