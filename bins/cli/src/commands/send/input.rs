//! What goes into a mail comes from files, or from the standard input.

use std::io::{self, Read as _};
use std::path::Path;

use super::compose::AttachedFile;
use crate::failure::Failure;

/// The bytes of a file; `-` is the standard input.
pub(super) fn bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    let read = if path.as_os_str() == "-" {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        std::fs::read(path)
    };
    read.map_err(|source| Failure::File {
        path: path.to_owned(),
        source,
    })
}

/// The text of a file, which is UTF-8; `-` is the standard input.
pub(super) fn text(path: &Path) -> Result<String, Failure> {
    let not_text = |_| {
        let text = format!(
            "{} is not UTF-8: send it as it is with --raw, or attach it",
            path.display()
        );
        Failure::Usage(text)
    };
    String::from_utf8(bytes(path)?).map_err(not_text)
}

/// A file with its name.
pub(super) fn attached(path: &Path) -> Result<AttachedFile, Failure> {
    let name = path.file_name().unwrap_or(path.as_os_str());
    Ok(AttachedFile {
        name: name.to_string_lossy().into_owned(),
        bytes: bytes(path)?,
    })
}

/// What of a message that is sent as it is may surprise; nothing is changed because of it, but for the last line, which
/// SMTP ends with CRLF (RFC 5321 section 4.1.1.4).
pub(super) fn oddities(message: &[u8]) -> Vec<&'static str> {
    let mut facts = Vec::new();
    let before = |at: usize| at.checked_sub(1).map(|before| message[before]);
    let mut ends = message.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    if ends.any(|(at, _)| before(at) != Some(b'\r')) {
        facts.push("lines of the message end in LF without CR; they are sent like that");
    }
    if !message.ends_with(b"\r\n") {
        facts
            .push("the last line of the message does not end in CRLF; one is added, since SMTP has no message without");
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_surprise_is_told() {
        for (message, facts) in [
            (&b"A: b\r\n\r\nc\r\n"[..], 0),
            (b"A: b\r\n\r\nc", 1),
            (b"A: b\n\nc\r\n", 1),
            (b"A: b\n\nc\n", 2),
            (b"\n", 2),
            (b"", 1),
        ] {
            assert_eq!(oddities(message).len(), facts, "{message:?}");
        }
    }

    #[test]
    fn a_text_is_utf_8_and_a_missing_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, b"\xff").unwrap();
        assert!(matches!(text(&path), Err(Failure::Usage(_))));
        assert_eq!(attached(&path).unwrap().name, "a");
        let missing = folder.path().join("b");
        assert!(
            bytes(&missing)
                .unwrap_err()
                .to_string()
                .starts_with(&missing.display().to_string())
        );
    }
}
