//! An SMTP client that says whatever it is told, and reads replies strictly.

use std::fmt;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

/// No answer takes longer, not even that of a debug build under load.
const PATIENCE: Duration = Duration::from_mins(1);
/// Octets of a reply line, at most (RFC 5321 section 4.5.3.1.5).
const REPLY_LINE_MAX: usize = 512;

/// A connection to the server.
pub(crate) struct Peer {
    stream: TcpStream,
    replies: BufReader<TcpStream>,
}

/// A reply, all its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) code: u16,
    /// The lines as they came, joined by a newline.
    pub(crate) text: String,
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text.lines().next().unwrap_or_default())
    }
}

impl Reply {
    /// The ids of the emails that were stored.
    pub(crate) fn ids(&self) -> Vec<String> {
        let words = self.text.split_whitespace().filter(|word| word.starts_with("msg_"));
        words.map(str::to_owned).collect()
    }
}

impl Peer {
    /// Connects and says nothing; the greeting has not been read.
    pub(crate) fn connected(address: &str) -> Result<Self> {
        let stream = TcpStream::connect(address).with_context(|| format!("cannot connect to {address}"))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        let replies = BufReader::with_capacity(64 * 1024, stream.try_clone()?);
        Ok(Self { stream, replies })
    }

    /// Connects, reads the greeting, and says EHLO.
    pub(crate) fn greeted(address: &str) -> Result<Self> {
        let mut peer = Self::connected(address)?;
        peer.expect_reply(220)?;
        peer.expect("EHLO probe.test", 250)?;
        Ok(peer)
    }

    /// Writes bytes as they are.
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) -> Result<()> {
        self.stream.write_all(bytes.as_ref()).context("cannot write")
    }

    /// Writes a line and reads its reply.
    pub(crate) fn say(&mut self, line: impl AsRef<[u8]>) -> Result<Reply> {
        self.send([line.as_ref(), b"\r\n"].concat())?;
        let said = || format!("after `{}`", line.as_ref().escape_ascii());
        self.reply().with_context(said)
    }

    /// Writes a line, which must be answered so.
    pub(crate) fn expect(&mut self, line: impl AsRef<[u8]>, code: u16) -> Result<Reply> {
        let reply = self.say(line.as_ref())?;
        ensure!(
            reply.code == code,
            "`{}` is answered `{reply}`, not {code}",
            line.as_ref().escape_ascii()
        );
        Ok(reply)
    }

    /// Reads a reply, which must have this code.
    pub(crate) fn expect_reply(&mut self, code: u16) -> Result<Reply> {
        let reply = self.reply()?;
        ensure!(reply.code == code, "`{reply}`, not {code}");
        Ok(reply)
    }

    /// Opens a transaction up to the 354.
    pub(crate) fn open_data(&mut self, recipient: &str) -> Result<()> {
        self.open(recipient)?;
        self.expect("DATA", 354)?;
        Ok(())
    }

    /// Opens a transaction up to its one recipient.
    pub(crate) fn open(&mut self, recipient: &str) -> Result<()> {
        self.expect("MAIL FROM:<probe@sender.test>", 250)?;
        self.expect(format!("RCPT TO:<{recipient}>"), 250)?;
        Ok(())
    }

    /// Delivers a message by BDAT, which needs no stuffing; the id of its email.
    pub(crate) fn deliver(&mut self, recipient: &str, message: &[u8]) -> Result<String> {
        self.open(recipient)?;
        self.send([format!("BDAT {} LAST\r\n", message.len()).as_bytes(), message].concat())?;
        let reply = self.expect_reply(250)?;
        reply.ids().pop().with_context(|| format!("`{reply}` names no email"))
    }

    /// Reads one reply and checks that it is one (RFC 5321 section 4.2).
    pub(crate) fn reply(&mut self) -> Result<Reply> {
        let mut text = String::new();
        loop {
            let line = self.line()?.context("the server closed instead of replying")?;
            let code: u16 = line
                .get(..3)
                .and_then(|code| code.parse().ok())
                .with_context(|| format!("no reply: {line:?}"))?;
            text.push_str(&line);
            match line.as_bytes().get(3) {
                Some(b'-') => text.push('\n'),
                Some(b' ') => return Ok(Reply { code, text }),
                _ => bail!("no reply: {line:?}"),
            }
        }
    }

    /// All replies until the server closes.
    pub(crate) fn rest(&mut self) -> Result<Vec<Reply>> {
        let mut replies = Vec::new();
        while !self.is_closed()? {
            replies.push(self.reply()?);
        }
        Ok(replies)
    }

    /// Whether the server has closed; waits until it has, or says something.
    pub(crate) fn is_closed(&mut self) -> Result<bool> {
        match self.replies.fill_buf() {
            Ok(bytes) => Ok(bytes.is_empty()),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => Ok(true),
            Err(error) => Err(error).context("the server neither closes nor replies"),
        }
    }

    /// Whether a reply, or the end, waits to be read.
    pub(crate) fn has_more(&mut self) -> Result<bool> {
        self.stream.set_nonblocking(true)?;
        let waits = self.stream.peek(&mut [0]);
        self.stream.set_nonblocking(false)?;
        match waits {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads so many replies, and into how many reads they came.
    pub(crate) fn replies_in_pieces(&mut self, count: usize) -> Result<(Vec<Reply>, usize)> {
        let (mut bytes, mut pieces) = (Vec::new(), 0);
        let ends = |bytes: &[u8]| {
            let lines = bytes.split_inclusive(|byte| *byte == b'\n');
            lines
                .filter(|line| line.ends_with(b"\n") && line.get(3) == Some(&b' '))
                .count()
        };
        while ends(&bytes) < count {
            let mut piece = [0; 16 * 1024];
            let read = self.stream.read(&mut piece)?;
            ensure!(read > 0, "closed after {} replies", ends(&bytes));
            bytes.extend_from_slice(&piece[..read]);
            pieces += 1;
        }
        let text = String::from_utf8(bytes)?;
        let reply = |line: &str| {
            let code = line.get(..3).unwrap_or_default().parse().unwrap_or(0);
            Reply {
                code,
                text: line.to_owned(),
            }
        };
        Ok((text.lines().map(reply).collect(), pieces))
    }

    /// Says that nothing more will be sent.
    pub(crate) fn finish(&self) -> Result<()> {
        Ok(self.stream.shutdown(Shutdown::Write)?)
    }

    /// Breaks the connection: with replies unread, the close is a reset.
    pub(crate) fn reset(self) -> Result<()> {
        self.stream.peek(&mut [0])?;
        Ok(())
    }

    fn line(&mut self) -> Result<Option<String>> {
        let mut bytes = Vec::new();
        self.replies.read_until(b'\n', &mut bytes).context("no reply")?;
        if bytes.is_empty() {
            return Ok(None);
        }
        let shown = || bytes.escape_ascii().to_string();
        let line = bytes
            .strip_suffix(b"\r\n")
            .with_context(|| format!("a reply that does not end: {}", shown()))?;
        ensure!(bytes.len() <= REPLY_LINE_MAX, "a reply line of {} octets", bytes.len());
        ensure!(
            !line.iter().any(u8::is_ascii_control),
            "a control character in a reply: {}",
            shown()
        );
        Ok(Some(String::from_utf8(line.to_vec())?))
    }
}
