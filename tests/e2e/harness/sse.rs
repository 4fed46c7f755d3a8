//! A reader of the notification stream, written against the standard of Server-Sent Events.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// One event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event {
    /// The `id:` line.
    pub(crate) id: String,
    /// The `data:` line as JSON.
    pub(crate) data: Value,
}

/// An open stream.
#[derive(Debug)]
pub(crate) struct EventStream {
    reader: BufReader<TcpStream>,
    /// Everything of the body that was read but not used, after chunked decoding.
    text: String,
    /// The head of the answer.
    pub(crate) head: String,
}

impl EventStream {
    /// Opens a stream and reads the head of the answer.
    pub(crate) fn open(http: SocketAddr, path: &str, headers: &[(&str, &str)]) -> Self {
        let mut socket = TcpStream::connect(http).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let mut request = format!("GET {path} HTTP/1.1\r\nHost: {http}\r\nAccept: text/event-stream\r\n");
        for (name, value) in headers {
            request.extend([name, ": ", value, "\r\n"]);
        }
        request.push_str("\r\n");
        socket.write_all(request.as_bytes()).unwrap();
        let mut reader = BufReader::new(socket);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(
                reader.read_line(&mut head).unwrap(),
                0,
                "the answer ends in its head: {head}"
            );
        }
        Self {
            reader,
            text: String::new(),
            head,
        }
    }

    /// The next piece of the body exactly as the server handed it out.
    pub(crate) fn next_piece(&mut self) -> Option<String> {
        self.next_chunk()
    }

    /// Waits longer, or less long, for what comes next.
    pub(crate) fn wait_at_most(&self, time: Duration) {
        self.reader.get_ref().set_read_timeout(Some(time)).unwrap();
    }

    /// The next comment or event as its lines; `None` at the end of the stream.
    pub(crate) fn next_block(&mut self) -> Option<String> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.text = rest;
                return Some(block);
            }
            let chunk = self.next_chunk()?;
            self.text.push_str(&chunk);
        }
    }

    /// The next event, past comments; `None` at the end of the stream.
    pub(crate) fn next_event(&mut self) -> Option<Event> {
        loop {
            let block = self.next_block()?;
            if block.starts_with(':') {
                continue;
            }
            let (id, data) = block.split_once('\n').unwrap_or_else(|| panic!("two lines: {block}"));
            let id = id
                .strip_prefix("id: ")
                .unwrap_or_else(|| panic!("an id line: {block}"))
                .to_owned();
            let data = data
                .strip_prefix("data: ")
                .unwrap_or_else(|| panic!("a data line: {block}"));
            return Some(Event {
                id,
                data: serde_json::from_str(data).unwrap(),
            });
        }
    }

    /// Whether nothing arrives for so long.
    pub(crate) fn is_silent_for(&mut self, time: Duration) -> bool {
        self.reader.get_ref().set_read_timeout(Some(time)).unwrap();
        let silent = match self.reader.fill_buf() {
            Ok(_) => false,
            Err(error) => matches!(
                error.kind(),
                std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
            ),
        };
        self.reader
            .get_ref()
            .set_read_timeout(Some(Duration::from_secs(5)))
            .unwrap();
        silent
    }

    /// One chunk of the chunked body (RFC 9112 section 7.1).
    fn next_chunk(&mut self) -> Option<String> {
        let mut size = String::new();
        if self.reader.read_line(&mut size).unwrap() == 0 {
            return None;
        }
        let size = usize::from_str_radix(size.trim(), 16).unwrap();
        let mut chunk = vec![0; size + 2];
        self.reader.read_exact(&mut chunk).unwrap();
        chunk.truncate(size);
        (size > 0).then(|| String::from_utf8(chunk).unwrap())
    }
}
