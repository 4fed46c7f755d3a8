//! SMTP dialogues as files: what a client sends and what the server must say, replayed against the pure session and
//! against a whole server over TCP.
//!
//! ```text
//! # The first comment says what the dialogue shows.
//! # inboxes: bob@restante.test, carol@restante.test
//!
//! S: 220 *
//! C: EHLO client.test
//! S: 250-*
//! ```
//!
//! | Line | Meaning |
//! |---|---|
//! | `# inboxes: a@b, c@d` | the inboxes that exist; none without it. The server's domains are `restante.test` and `localhost` |
//! | `# max-message-bytes: n`, `# max-header-bytes: n`, `# max-recipients: n` | limits that are not the default |
//! | `# auth: accept-any` | the server takes AUTH with any credentials; without it AUTH is off |
//! | `C: text` | the client sends the text and CRLF |
//! | `C\| text` | the client sends the text alone |
//! | `S: pattern` | the server says this line; `*` stands for any characters |
//! | `M: text`, `M\| text` | the next message that the server takes has these bytes; consecutive lines are one message |
//! | `CLOSE` | the server closes the connection; nothing comes after it |
//!
//! `C*20:` and its like repeat a line 20 times. In what is sent and in messages `\r`, `\n`, `\0`, `\t`, `\\` and `\xff`
//! are escapes. Client lines in a row are one packet; the server lines after them are all that it answers. A dialogue
//! without `CLOSE` ends with the connection open and nothing more said.

use std::fs;
use std::path::Path;

/// One dialogue.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Dialogue {
    /// The name of the file, without its extension.
    pub name: String,
    /// The inboxes that exist.
    pub inboxes: Vec<String>,
    /// The limits that are not the default.
    pub limits: Limits,
    /// Whether the server takes AUTH.
    pub auth: Auth,
    /// What is said, in order.
    pub exchanges: Vec<Exchange>,
    /// The messages that the server takes, in order; empty if the dialogue does not look at them.
    pub messages: Vec<Vec<u8>>,
    /// How it ends.
    pub ending: Ending,
}

/// Limits of the server that a dialogue needs, where they are not the default.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Limits {
    /// Bytes of a message, at most.
    pub message_bytes: Option<usize>,
    /// Bytes of a header block, at most.
    pub header_bytes: Option<usize>,
    /// Recipients of a transaction, at most.
    pub recipients: Option<usize>,
}

/// Whether a client can authenticate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Auth {
    /// No.
    #[default]
    Off,
    /// With any credentials.
    AcceptAny,
}

/// A packet of the client and the lines that answer it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Exchange {
    /// What the client sends; empty before the greeting.
    pub client: Vec<u8>,
    /// A pattern for each line of the answer, see [`matches()`].
    pub server: Vec<String>,
}

/// How a dialogue ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ending {
    /// The connection stays open, and the server waits.
    #[default]
    Open,
    /// The server closes the connection.
    Closed,
}

/// Why a file is no dialogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DialogueError {
    /// The line, counted from 1.
    pub line: usize,
    /// What was expected.
    pub expected: &'static str,
}

impl Dialogue {
    /// Reads all `*.smtp` files of a folder, in the order of their names.
    ///
    /// # Panics
    /// If the folder cannot be read, holds no dialogue, or holds a file that is none: a test cannot go on then.
    pub fn read_folder(folder: &Path) -> Vec<Self> {
        let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "smtp"));
        paths.sort();
        assert!(!paths.is_empty(), "{} holds no dialogue", folder.display());
        paths.iter().map(|path| Self::read_file(path)).collect()
    }

    fn read_file(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let dialogue = Self::parse(&text)
            .unwrap_or_else(|error| panic!("{}:{}: expected {}", path.display(), error.line, error.expected));
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Self { name, ..dialogue }
    }

    /// Reads the text of a dialogue.
    ///
    /// # Errors
    /// The first line that is none of those of the table above.
    pub fn parse(text: &str) -> Result<Self, DialogueError> {
        let mut reader = Reader::default();
        for (index, line) in text.lines().enumerate() {
            reader.read(line).map_err(|expected| DialogueError {
                line: index + 1,
                expected,
            })?;
        }
        Ok(reader.dialogue)
    }
}

/// A dialogue that is being read.
#[derive(Default)]
struct Reader {
    dialogue: Dialogue,
    /// The line before was of a message, which the next `M` goes on with.
    in_message: bool,
}

impl Reader {
    fn read(&mut self, line: &str) -> Result<(), &'static str> {
        let in_message = std::mem::take(&mut self.in_message);
        if self.dialogue.ending == Ending::Closed && !line.trim().is_empty() {
            return Err("nothing after CLOSE");
        }
        if line.trim().is_empty() {
            return Ok(());
        }
        if let Some(comment) = line.strip_prefix('#') {
            return self.read_header(comment);
        }
        if line == "CLOSE" {
            self.dialogue.ending = Ending::Closed;
            return Ok(());
        }
        let (speaker, count, line_end, text) = split(line)?;
        match speaker {
            "C" => self.client(&unescape(text)?.repeat_with(line_end, count)),
            "S" => self.server(text, count)?,
            "M" => {
                if !in_message {
                    self.dialogue.messages.push(Vec::new());
                }
                let bytes = unescape(text)?.repeat_with(line_end, count);
                self.dialogue
                    .messages
                    .last_mut()
                    .ok_or("a message")?
                    .extend_from_slice(&bytes);
                self.in_message = true;
            }
            _ => return Err("a line that begins with C, S, M, # or CLOSE"),
        }
        Ok(())
    }

    fn read_header(&mut self, comment: &str) -> Result<(), &'static str> {
        let Some((name, value)) = comment.split_once(':') else {
            return Ok(());
        };
        let number = || value.trim().parse().map(Some).map_err(|_| "a number");
        match name.trim() {
            "inboxes" => self.dialogue.inboxes = value.split(',').map(|address| address.trim().to_owned()).collect(),
            "auth" if value.trim() == "accept-any" => self.dialogue.auth = Auth::AcceptAny,
            "auth" => return Err("accept-any"),
            "max-message-bytes" => self.dialogue.limits.message_bytes = number()?,
            "max-header-bytes" => self.dialogue.limits.header_bytes = number()?,
            "max-recipients" => self.dialogue.limits.recipients = number()?,
            _ => {}
        }
        Ok(())
    }

    fn client(&mut self, bytes: &[u8]) {
        match self.dialogue.exchanges.last_mut() {
            Some(exchange) if exchange.server.is_empty() => exchange.client.extend_from_slice(bytes),
            _ => self.dialogue.exchanges.push(Exchange {
                client: bytes.to_vec(),
                server: Vec::new(),
            }),
        }
    }

    fn server(&mut self, pattern: &str, count: usize) -> Result<(), &'static str> {
        if self.dialogue.exchanges.is_empty() {
            self.dialogue.exchanges.push(Exchange::default());
        }
        let exchange = self.dialogue.exchanges.last_mut().ok_or("an exchange")?;
        exchange.server.extend(std::iter::repeat_n(pattern.to_owned(), count));
        Ok(())
    }
}

/// Speaker, how often, what ends the line, and the text.
fn split(line: &str) -> Result<(&str, usize, &'static [u8], &str), &'static str> {
    let mark = line.find([':', '|']).ok_or("a ':' or '|' after the speaker")?;
    let (head, rest) = line.split_at(mark);
    let line_end: &[u8] = if rest.starts_with(':') { b"\r\n" } else { b"" };
    let text = rest[1..].strip_prefix(' ').unwrap_or(&rest[1..]);
    let (speaker, count) = match head.split_once('*') {
        None => (head, 1),
        Some((speaker, count)) => (speaker, count.parse().map_err(|_| "a number after '*'")?),
    };
    Ok((speaker, count, line_end, text))
}

trait RepeatWith {
    /// The bytes and their end, so many times.
    fn repeat_with(self, end: &[u8], count: usize) -> Vec<u8>;
}

impl RepeatWith for Vec<u8> {
    fn repeat_with(mut self, end: &[u8], count: usize) -> Vec<u8> {
        self.extend_from_slice(end);
        self.repeat(count)
    }
}

fn unescape(text: &str) -> Result<Vec<u8>, &'static str> {
    let mut out = Vec::new();
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        out.push(match bytes.next() {
            Some(b'r') => b'\r',
            Some(b'n') => b'\n',
            Some(b't') => b'\t',
            Some(b'0') => 0,
            Some(b'\\') => b'\\',
            Some(b'x') => {
                let mut digit = || {
                    bytes
                        .next()
                        .and_then(|b| char::from(b).to_digit(16))
                        .ok_or("two hex digits")
                };
                let value = digit()? * 16 + digit()?;
                u8::try_from(value).map_err(|_| "two hex digits")?
            }
            _ => return Err("an escape: \\r \\n \\t \\0 \\\\ or \\xff"),
        });
    }
    Ok(out)
}

/// Whether the line is what the pattern says; each `*` stands for any characters.
pub fn matches(pattern: &str, line: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| line.strip_prefix(first)) else {
        return false;
    };
    let Some(last) = pattern.rsplit_once('*').map(|(_, last)| last) else {
        return rest.is_empty();
    };
    let inner = pattern.matches('*').count() - 1;
    for part in parts.take(inner) {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read() {
        let dialogue = Dialogue::parse(concat!(
            "# What it shows: this\n# inboxes: a@x.test, b@x.test\n# max-recipients: 3\n\n",
            "S: 220 *\nC: A\\x41\nC| raw\\r\\n\nC*2: x\nS: 1\nS*2: 2\nM: m\nM| n\nC: QUIT\nS: 221 *\nCLOSE\n",
        ))
        .unwrap();
        assert_eq!(dialogue.inboxes, ["a@x.test", "b@x.test"]);
        assert_eq!(
            dialogue.limits,
            Limits {
                recipients: Some(3),
                ..Limits::default()
            }
        );
        assert_eq!(dialogue.exchanges[1].client, b"AA\r\nraw\r\nx\r\nx\r\n");
        assert_eq!(dialogue.exchanges[1].server, ["1", "2", "2"]);
        assert_eq!(dialogue.exchanges.len(), 3);
        assert_eq!(dialogue.messages, [b"m\r\nn".to_vec()]);
        assert_eq!(dialogue.ending, Ending::Closed);
    }

    #[test]
    fn what_is_no_dialogue_names_its_line() {
        for (text, line) in [
            ("\nX: a", 2),
            ("C: \\q", 1),
            ("C: \\xg0", 1),
            ("C*x: a", 1),
            ("CLOSE\nC: a", 2),
            ("hi", 1),
        ] {
            assert_eq!(Dialogue::parse(text).map_err(|error| error.line), Err(line), "{text}");
        }
    }

    #[test]
    fn patterns_match_whole_lines() {
        for (pattern, line) in [
            ("a", "a"),
            ("*", ""),
            ("a*", "abc"),
            ("a*c", "ac"),
            ("a*b*c", "aXbYc"),
            ("*b", "bb"),
        ] {
            assert!(matches(pattern, line), "{pattern} {line}");
        }
        for (pattern, line) in [
            ("a", "ab"),
            ("a*", "ba"),
            ("a*c", "acd"),
            ("a*b*c", "acb"),
            ("", "a"),
            ("ab*ba", "aba"),
        ] {
            assert!(!matches(pattern, line), "{pattern} {line}");
        }
    }
}
