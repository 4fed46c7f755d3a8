//! Many mails in a short time: several connections, each with several transactions under way.

use std::io::{BufRead as _, BufReader, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::api::at_once;
use super::throughput::SMALL_BYTES;

/// Connections at once.
const CONNECTIONS: usize = 32;
/// Transactions of a connection that are sent before the first is answered (RFC 2920).
const WINDOW: usize = 8;
/// Replies of a transaction: to MAIL, RCPT and BDAT.
const REPLIES: usize = 3;
/// What stands before the id in the reply to the last chunk.
const ACKNOWLEDGED: &[u8] = b"250 2.0.0 Ok: ";
/// No reply takes longer.
const PATIENCE: Duration = Duration::from_mins(2);
/// Mails between two lines of progress.
const PROGRESS: usize = 100_000;

/// Sends so many small mails, each to the address of its number, and waits until all are acknowledged.
pub(super) fn fill(smtp: &str, mails: usize, address: impl Fn(usize) -> String + Sync) -> Result<()> {
    let acknowledged = AtomicUsize::new(0);
    let sent = at_once(CONNECTIONS, |worker| {
        let mut session = Session::open(smtp)?;
        let numbers: Vec<usize> = (worker..mails).step_by(CONNECTIONS).collect();
        for window in numbers.chunks(WINDOW) {
            session.deliver(window, &address)?;
            let before = acknowledged.fetch_add(window.len(), Ordering::Relaxed);
            let after = before + window.len();
            if before / PROGRESS != after / PROGRESS {
                eprintln!("{after} of {mails} mails");
            }
        }
        Ok(numbers.len())
    })?;
    let sent: usize = sent.iter().sum();
    ensure!(sent == mails, "{sent} of {mails} mails were sent");
    Ok(())
}

/// A connection that has said EHLO.
struct Session {
    stream: TcpStream,
    replies: BufReader<TcpStream>,
    line: Vec<u8>,
}

impl Session {
    fn open(smtp: &str) -> Result<Self> {
        let stream = TcpStream::connect(smtp).with_context(|| format!("cannot connect to {smtp}"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut session = Self {
            replies: BufReader::new(stream.try_clone()?),
            stream,
            line: Vec::new(),
        };
        session.reply(b"220 ")?;
        session.stream.write_all(b"EHLO bench.test\r\n")?;
        session.reply(b"250 ")?;
        Ok(session)
    }

    /// Sends a mail for each number in one write, and reads all replies.
    fn deliver(&mut self, numbers: &[usize], address: impl Fn(usize) -> String) -> Result<()> {
        let mut commands = Vec::with_capacity(numbers.len() * (SMALL_BYTES + 256));
        for number in numbers {
            let mail = mail(*number, SMALL_BYTES);
            write!(
                commands,
                "MAIL FROM:<bench@sender.test>\r\nRCPT TO:<{}>\r\nBDAT {} LAST\r\n",
                address(*number),
                mail.len()
            )?;
            commands.extend_from_slice(&mail);
        }
        self.stream.write_all(&commands).context("cannot send")?;
        for _ in numbers {
            for _ in 1..REPLIES {
                self.reply(b"250 ")?;
            }
            self.reply(ACKNOWLEDGED)?;
        }
        Ok(())
    }

    /// Reads a reply to its last line, which must begin so.
    fn reply(&mut self, expected: &[u8]) -> Result<()> {
        loop {
            self.line.clear();
            self.replies.read_until(b'\n', &mut self.line)?;
            if self.line.get(3) != Some(&b'-') {
                break;
            }
        }
        ensure!(
            self.line.starts_with(expected),
            "answered {:?}, not {:?}",
            self.line.escape_ascii().to_string(),
            expected.escape_ascii().to_string()
        );
        Ok(())
    }
}

/// A mail of so many bytes, which differs from others in its subject.
pub(super) fn mail(number: usize, bytes: usize) -> Vec<u8> {
    let mut mail =
        format!("From: <bench@sender.test>\r\nSubject: number {number}\r\nMessage-Id: <{number}@sender.test>\r\n\r\n")
            .into_bytes();
    let end = bytes - b"\r\n".len();
    while mail.len() < end {
        let rest = (end - mail.len()).min(78);
        mail.extend(std::iter::repeat_n(b'x', rest));
        // A line end is two bytes: none where it would go beyond the end.
        if mail.len() + 2 < end {
            mail.extend_from_slice(b"\r\n");
        }
    }
    mail.extend_from_slice(b"\r\n");
    mail
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mails_are_of_one_size_and_whole_lines() {
        for number in [0, 9, 10, 999_999] {
            let mail = mail(number, SMALL_BYTES);
            assert_eq!(mail.len(), SMALL_BYTES);
            let text = String::from_utf8(mail).unwrap();
            assert!(text.lines().all(|line| line.len() < 100 && !line.contains('\r')));
            assert_eq!(text.matches('\r').count(), text.matches('\n').count());
            assert!(text.ends_with("\r\n"));
        }
        assert_ne!(mail(1, SMALL_BYTES), mail(2, SMALL_BYTES));
    }
}
