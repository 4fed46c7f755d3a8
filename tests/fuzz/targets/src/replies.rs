//! What a server said, read as strictly as RFC 5321 section 4.2 allows.

/// Octets of a reply line, at most, its CRLF included (RFC 5321 section 4.5.3.1.5).
const LINE_MAX: usize = 512;

/// One reply of one or several lines.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) code: u16,
    /// The text of each line, after the code and its separator.
    pub(crate) lines: Vec<String>,
}

impl Reply {
    /// Whether each line has an enhanced code of the same class (RFC 2034 section 4).
    pub(crate) fn is_enhanced(&self) -> bool {
        self.lines.iter().all(|line| {
            let code = line.split(' ').next().unwrap_or_default();
            let numbers: Vec<Option<u16>> = code.split('.').map(|number| number.parse().ok()).collect();
            matches!(numbers[..], [Some(class), Some(_), Some(_)] if class == self.code / 100)
        })
    }
}

/// Reads all replies.
///
/// # Panics
/// If the output is not a sequence of well-formed replies.
pub(crate) fn read(output: &[u8]) -> Vec<Reply> {
    let output = std::str::from_utf8(output).expect("replies are text");
    let mut replies = Vec::new();
    let mut open: Option<Reply> = None;
    for line in output.split_inclusive("\r\n") {
        assert!(line.len() <= LINE_MAX, "a reply line of {} octets", line.len());
        let text = line.strip_suffix("\r\n").expect("a reply line ends with CRLF");
        assert!(!text.contains(char::is_control), "a control character in {text:?}");
        let (code, separator, text) = split(text);
        let reply = open.get_or_insert(Reply {
            code,
            lines: Vec::new(),
        });
        assert_eq!(reply.code, code, "the lines of a reply have one code");
        reply.lines.push(text.to_owned());
        if separator == ' ' {
            replies.extend(open.take());
        }
    }
    assert_eq!(open, None, "a reply has a last line");
    replies
}

fn split(line: &str) -> (u16, char, &str) {
    let (code, rest) = line.split_at_checked(3).expect("a reply line has a code");
    assert!(code.bytes().all(|digit| digit.is_ascii_digit()), "{code:?} is no code");
    let code = code.parse().expect("three digits");
    assert!((200..=559).contains(&code), "{code} is no code of SMTP");
    let separator = rest.chars().next().expect("a reply line has a separator");
    assert!(matches!(separator, ' ' | '-'), "{separator:?} after a code");
    (code, separator, &rest[1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_read_and_what_is_none_is_refused() {
        let replies = read(b"220 hi\r\n250-2.0.0 a\r\n250 2.0.0 b\r\n");
        assert_eq!(replies.len(), 2);
        assert_eq!((replies[1].code, replies[1].lines.len()), (250, 2));
        assert!(replies[1].is_enhanced() && !replies[0].is_enhanced());
        for bad in [
            &b"220 hi"[..],
            b"220 hi\n",
            b"250-a\r\n",
            b"250-a\r\n550 b\r\n",
            b"25 a\r\n",
            b"250\r\n",
            b"250 a\0\r\n",
            b"999 a\r\n",
        ] {
            assert!(
                std::panic::catch_unwind(|| read(bad)).is_err(),
                "{}",
                bad.escape_ascii()
            );
        }
    }
}
