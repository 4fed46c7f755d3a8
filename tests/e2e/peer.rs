//! An SMTP client that says exactly what a test tells it to, and reads what it is told line by line.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

/// Longer than any answer takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// One connection.
#[derive(Debug)]
pub(crate) struct Peer {
    reader: BufReader<TcpStream>,
}

impl Peer {
    /// Connects and says nothing; the greeting waits to be read.
    pub(crate) fn connect(smtp: SocketAddr) -> io::Result<Self> {
        let socket = TcpStream::connect(smtp)?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.set_write_timeout(Some(PATIENCE))?;
        Ok(Self {
            reader: BufReader::new(socket),
        })
    }

    /// Connects and says EHLO.
    pub(crate) fn greeted(smtp: SocketAddr) -> Self {
        let mut peer = Self::connect(smtp).unwrap();
        let greeting = peer.reply().unwrap();
        assert!(greeting.starts_with("220 "), "{greeting}");
        let extensions = peer.say("EHLO client.test");
        assert!(extensions.starts_with("250-"), "{extensions}");
        peer
    }

    /// Sends bytes as they are.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.reader.get_ref().write_all(bytes)
    }

    /// The next line, without its CRLF.
    pub(crate) fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.reader.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let text = line.strip_suffix("\r\n").ok_or(io::ErrorKind::UnexpectedEof)?;
        Ok(text.to_owned())
    }

    /// The next reply; the lines of a long one have a LF between them.
    pub(crate) fn reply(&mut self) -> io::Result<String> {
        let mut reply = self.line()?;
        let mut last = reply.clone();
        while last.as_bytes().get(3) == Some(&b'-') {
            last = self.line()?;
            reply = format!("{reply}\n{last}");
        }
        Ok(reply)
    }

    /// Sends a command line and reads the reply.
    pub(crate) fn ask(&mut self, command: &str) -> io::Result<String> {
        self.send(format!("{command}\r\n").as_bytes())?;
        self.reply()
    }

    /// The same for a connection that must not break.
    pub(crate) fn say(&mut self, command: &str) -> String {
        self.ask(command).unwrap_or_else(|error| panic!("{command}: {error}"))
    }

    /// MAIL and RCPT, each of which must be granted.
    pub(crate) fn open_transaction(&mut self, recipients: &[&str]) {
        let mut expect_ok = |command: String| {
            let reply = self.say(&command);
            assert!(reply.starts_with("250 "), "{command}: {reply}");
        };
        expect_ok("MAIL FROM:<alice@sender.test>".to_owned());
        for recipient in recipients {
            expect_ok(format!("RCPT TO:<{recipient}>"));
        }
    }

    /// DATA and the message, and the reply to its end.
    pub(crate) fn data(&mut self, message: &[u8]) -> io::Result<String> {
        let go_on = self.ask("DATA")?;
        if !go_on.starts_with("354 ") {
            return Ok(go_on);
        }
        self.send(&stuffed(message))?;
        self.reply()
    }

    /// A whole transaction that must succeed; the ids that the 250 names.
    pub(crate) fn deliver(&mut self, recipients: &[&str], message: &[u8]) -> Vec<String> {
        self.open_transaction(recipients);
        stored_ids(&self.data(message).unwrap())
    }

    /// Makes writes fail when the server takes nothing for so long.
    pub(crate) fn give_up_writing_after(&self, time: Duration) {
        self.reader.get_ref().set_write_timeout(Some(time)).unwrap();
    }

    /// Tells the server that nothing more comes.
    pub(crate) fn finish(&self) {
        // A server that has closed already has been told.
        let _ = self.reader.get_ref().shutdown(Shutdown::Write);
    }

    /// Everything until the server closes.
    pub(crate) fn rest(&mut self) -> String {
        let mut rest = Vec::new();
        self.reader.read_to_end(&mut rest).unwrap();
        String::from_utf8(rest).unwrap()
    }

    /// Reads a number of lines and says how many pieces they came in.
    pub(crate) fn lines_in_pieces(&mut self, count: usize) -> (Vec<String>, usize) {
        let (mut text, mut pieces) = (String::new(), 0);
        let mut buffer = vec![0; 65_536];
        while text.matches('\n').count() < count {
            let read = self.reader.get_mut().read(&mut buffer).unwrap();
            assert_ne!(read, 0, "closed after {text}");
            text.push_str(str::from_utf8(&buffer[..read]).unwrap());
            pieces += 1;
        }
        (text.split_terminator("\r\n").map(str::to_owned).collect(), pieces)
    }
}

/// What DATA sends for a message, which ends with CRLF: dots doubled at the start of lines, and the final dot.
pub(crate) fn stuffed(message: &[u8]) -> Vec<u8> {
    assert!(
        message.is_empty() || message.ends_with(b"\r\n"),
        "DATA ends with a line end"
    );
    let mut out = Vec::with_capacity(message.len() + 16);
    for (at, &byte) in message.iter().enumerate() {
        if byte == b'.' && (at == 0 || message[..at].ends_with(b"\r\n")) {
            out.push(b'.');
        }
        out.push(byte);
    }
    out.extend_from_slice(b".\r\n");
    out
}

/// The email ids of a reply that says that a message is stored.
pub(crate) fn stored_ids(reply: &str) -> Vec<String> {
    let words = reply.lines().flat_map(|line| {
        let ids = line.get(4..).and_then(|text| text.strip_prefix("2.0.0 Ok: "));
        ids.unwrap_or_else(|| panic!("stored: {reply}")).split(' ')
    });
    words.map(str::to_owned).collect()
}

/// A raw message without the trace field that the server has put before it.
pub(crate) fn without_trace(raw: &[u8]) -> &[u8] {
    assert!(raw.starts_with(b"Received: from "), "{}", raw.escape_ascii());
    let ends = (1..=raw.len()).filter(|&at| raw[..at].ends_with(b"\r\n"));
    let mut ends = ends.filter(|&at| !matches!(raw.get(at), Some(b' ' | b'\t')));
    &raw[ends.next().expect("a header field ends")..]
}
