//! Messages of 25 MB that take no memory: they are made, sent and compared in blocks.

use std::io::{BufRead, BufReader, Read};

use anyhow::{Result, ensure};
use base64::engine::general_purpose::STANDARD;
use base64::read::DecoderReader;

use crate::probe::target::trace_end;

/// Bytes of a message: just below the usual limit.
pub(super) const BYTES: usize = 25_000_000;
/// Bytes of a block: whole lines.
const BLOCK: usize = 1_000_000;
const LINE: usize = 80;
/// A trace field is shorter.
const TRACE_MAX: usize = 4096;

/// The blocks of a message; each line of each message differs from all others.
pub(super) fn blocks(number: usize) -> impl Iterator<Item = Vec<u8>> {
    (0..BYTES / BLOCK).map(move |index| block(number, index))
}

fn block(number: usize, index: usize) -> Vec<u8> {
    let mut block = Vec::with_capacity(BLOCK);
    if index == 0 {
        block.extend_from_slice(b"Subject: a large one\r\n\r\n");
        block.resize(LINE - 2, b'-');
        block.extend_from_slice(b"\r\n");
    }
    while block.len() < BLOCK {
        let line = (number * BYTES + index * BLOCK + block.len()).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        block.extend_from_slice(&format!("{line:016x}").repeat(5).as_bytes()[..LINE - 2]);
        block.extend_from_slice(b"\r\n");
    }
    block
}

/// Reads the answer of `raw` of a plain inbox and compares it with the message, block by block.
pub(super) fn compare(answer: impl Read, number: usize) -> Result<()> {
    let mut answer = BufReader::new(answer);
    skip_through(&mut answer, b"\"raw\":\"")?;
    let text = UntilQuote {
        from: answer,
        has_ended: false,
    };
    let mut source = BufReader::with_capacity(64 * 1024, DecoderReader::new(text, &STANDARD));
    skip_trace(&mut source)?;
    let mut read = Vec::new();
    for (index, block) in blocks(number).enumerate() {
        read.clear();
        (&mut source).take(BLOCK as u64).read_to_end(&mut read)?;
        ensure!(read == block, "message {number} differs in block {index}");
    }
    ensure!(source.fill_buf()?.is_empty(), "message {number} has more than was sent");
    Ok(())
}

/// Reads the answer of `raw` of an encrypted inbox; how many bytes the ciphertext has.
pub(super) fn ciphertext_bytes(answer: impl Read) -> Result<usize> {
    let mut answer = BufReader::new(answer);
    skip_through(&mut answer, b"\"ciphertext\":\"")?;
    let mut text = UntilQuote {
        from: answer,
        has_ended: false,
    };
    let characters = std::io::copy(&mut text, &mut std::io::sink())?;
    ensure!(text.has_ended, "the payload broke off");
    Ok(usize::try_from(characters)? * 3 / 4)
}

/// The least that the ciphertext of a message has: its base64 text and the tag.
pub(super) const SEALED_BYTES: usize = BYTES / 3 * 4 + 16;

fn skip_through(from: &mut impl BufRead, end: &[u8]) -> Result<()> {
    let mut seen = Vec::new();
    while !seen.ends_with(end) {
        ensure!(seen.len() < 64 * 1024, "no {} in the answer", end.escape_ascii());
        let mut byte = [0];
        from.read_exact(&mut byte)?;
        seen.push(byte[0]);
    }
    Ok(())
}

/// Leaves the reader behind the trace field.
fn skip_trace(source: &mut impl BufRead) -> Result<()> {
    let mut trace = Vec::new();
    loop {
        let mut byte = [0];
        source.read_exact(&mut byte)?;
        trace.push(byte[0]);
        if trace.ends_with(b"\r\n") && trace_end(&trace).is_some() {
            return Ok(());
        }
        ensure!(trace.len() < TRACE_MAX, "no trace field");
    }
}

/// The bytes of a JSON string up to its end; base64 has no escapes.
struct UntilQuote<R> {
    from: R,
    has_ended: bool,
}

impl<R: BufRead> Read for UntilQuote<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.has_ended {
            return Ok(0);
        }
        let available = self.from.fill_buf()?;
        let end = available.iter().position(|byte| *byte == b'"');
        let length = end.unwrap_or(available.len()).min(buffer.len());
        buffer[..length].copy_from_slice(&available[..length]);
        self.has_ended = end == Some(length);
        self.from.consume(length);
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;

    use super::*;

    const TRACE: &[u8] = b"Received: from a;\r\n\tSun, 25 Jan 2026 11:41:16 +0000\r\n";

    fn answer(number: usize, change: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
        let mut source = TRACE.to_vec();
        blocks(number).for_each(|block| source.extend(block));
        change(&mut source);
        format!("{{\"id\":\"msg_1\",\"raw\":\"{}\"}}", STANDARD.encode(source)).into_bytes()
    }

    #[test]
    fn a_message_is_compared_to_its_last_byte() {
        assert_eq!(blocks(1).map(|block| block.len()).sum::<usize>(), BYTES);
        compare(answer(1, |_| ()).as_slice(), 1).unwrap();
        compare(answer(1, |_| ()).as_slice(), 2).unwrap_err();
        let last = TRACE.len() + BYTES - 3;
        compare(answer(1, |source| source[last] ^= 1).as_slice(), 1).unwrap_err();
        compare(answer(1, |source| source.push(b'x')).as_slice(), 1).unwrap_err();
        compare(answer(1, |source| source.truncate(last)).as_slice(), 1).unwrap_err();
    }

    #[test]
    fn the_ciphertext_is_measured() {
        let payload = br#"{"id":"msg_1","encryptedRaw":{"v":1,"ciphertext":"AAAAAAAA","sig":"B"}}"#;
        assert_eq!(ciphertext_bytes(payload.as_slice()).unwrap(), 6);
        ciphertext_bytes(&payload[..payload.len() - 20]).unwrap_err();
    }
}
