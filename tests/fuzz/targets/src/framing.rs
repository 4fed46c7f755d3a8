//! Framing of DATA as RFC 5321 section 4.5.2 has it: a reference, written for clarity and not for speed.

use std::borrow::Cow;

/// A message as DATA carries it, the end of data included.
///
/// The message is empty or ends with CRLF: DATA can carry no other.
pub(crate) fn stuffed(message: &[u8]) -> Vec<u8> {
    let mut wire = Vec::new();
    for (at, &byte) in message.iter().enumerate() {
        if byte == b'.' && (at == 0 || message[..at].ends_with(b"\r\n")) {
            wire.push(b'.');
        }
        wire.push(byte);
    }
    wire.extend_from_slice(b".\r\n");
    wire
}

/// The message that bytes after DATA carry, and how many bytes it took; nothing if it does not end.
pub(crate) fn unstuffed(wire: &[u8]) -> Option<(Vec<u8>, usize)> {
    // The CRLF of the DATA command begins the first line.
    let framed = [b"\r\n", wire].concat();
    let end = framed.windows(5).position(|window| window == b"\r\n.\r\n")?;
    let mut message = Vec::new();
    for (at, &byte) in framed[..end + 2].iter().enumerate() {
        if byte != b'.' || !framed[..at].ends_with(b"\r\n") {
            message.push(byte);
        }
    }
    Some((message.split_off(2), end + 3))
}

/// A message as DATA can carry it: with CRLF at its end, unless it is empty.
pub(crate) fn in_lines(message: &[u8]) -> Cow<'_, [u8]> {
    if message.is_empty() || message.ends_with(b"\r\n") {
        Cow::Borrowed(message)
    } else {
        Cow::Owned([message, b"\r\n"].concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_says_what_the_standard_says() {
        for (message, wire) in [
            (&b""[..], &b".\r\n"[..]),
            (b"a\r\n", b"a\r\n.\r\n"),
            (b".\r\n", b"..\r\n.\r\n"),
            (b"..a\r\n", b"...a\r\n.\r\n"),
            (b"a.\n.\r\n", b"a.\n.\r\n.\r\n"),
        ] {
            assert_eq!(stuffed(message), wire);
            let sent = [wire, b"QUIT\r\n"].concat();
            assert_eq!(unstuffed(&sent), Some((message.to_vec(), wire.len())));
        }
        assert_eq!(unstuffed(b"a\n.\n\r.\r"), None);
        assert_eq!(unstuffed(b".a\r\n.\r\n"), Some((b"a\r\n".to_vec(), 7)));
    }
}
