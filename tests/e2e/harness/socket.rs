//! Requests written byte by byte, for what an HTTP client would not send.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Longer than any answer of the interface takes.
const PATIENCE: Duration = Duration::from_secs(10);

/// A connection that gives up waiting instead of hanging.
pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.set_write_timeout(Some(PATIENCE)).unwrap();
    socket
}

/// Sends a head (lines without line ends) and a body, and reads the answer until the server closes.
///
/// A server may answer, and close, before it has read everything: what it said counts.
pub(crate) fn exchange(address: SocketAddr, head: &[&str], body: &[u8]) -> String {
    let mut socket = connect(address);
    let request = [head.join("\r\n").as_bytes(), b"\r\nConnection: close\r\n\r\n", body].concat();
    let _ = socket.write_all(&request);
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer);
    String::from_utf8(answer).unwrap()
}

/// Sends bytes as they are.
pub(crate) fn write(socket: &mut TcpStream, bytes: &[u8]) {
    socket.write_all(bytes).unwrap();
}

/// Reads until the text has come.
pub(crate) fn read_until(socket: &mut TcpStream, text: &str) {
    let mut read = Vec::new();
    let mut byte = [0];
    while !read.ends_with(text.as_bytes()) {
        socket.read_exact(&mut byte).unwrap();
        read.push(byte[0]);
    }
}

/// Everything up to the end of the connection.
pub(crate) fn read_to_end(socket: &mut TcpStream) -> String {
    let mut text = Vec::new();
    socket.read_to_end(&mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// An answer as it came.
#[derive(Debug)]
pub(crate) struct RawAnswer {
    /// The HTTP status.
    pub(crate) status: u16,
    /// Status line and headers.
    pub(crate) head: String,
    /// The body, with its transfer coding.
    pub(crate) body: String,
}

impl RawAnswer {
    /// Takes an answer apart.
    pub(crate) fn read(answer: &str) -> Self {
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((answer, ""));
        Self {
            status: status(answer),
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }
}

/// The status of a raw answer.
pub(crate) fn status(answer: &str) -> u16 {
    let status = answer.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3));
    status.unwrap_or_else(|| panic!("an answer: {answer}")).parse().unwrap()
}
