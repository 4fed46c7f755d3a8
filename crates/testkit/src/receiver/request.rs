//! A request as it came.

use std::io::{self, BufRead, Read};

/// Longest line of a head that is read.
const LONGEST_LINE: u64 = 64 * 1024;

/// What a client sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The method.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Names and values in the order in which they came, names as they were written.
    pub headers: Vec<(String, String)>,
    /// The body, byte by byte.
    pub body: Vec<u8>,
    /// Which connection it came over, from 1.
    pub connection: usize,
}

impl Request {
    /// The value of a header that came once.
    ///
    /// # Panics
    /// If it came more than once.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values = self
            .headers
            .iter()
            .filter(|(given, _)| given.eq_ignore_ascii_case(name));
        let first = values.next();
        assert!(values.next().is_none(), "{name} came twice");
        first.map(|(_, value)| value.as_str())
    }

    /// The body as JSON.
    ///
    /// # Panics
    /// If it is none.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).expect("the body is JSON")
    }

    /// Reads the next one; none if the client closed the connection before it.
    pub(super) fn read(from: &mut impl BufRead, connection: usize) -> io::Result<Option<Self>> {
        let Some(start) = line(from)? else { return Ok(None) };
        let mut words = start.split(' ');
        let mut word = || words.next().unwrap_or_default().to_owned();
        let (method, target) = (word(), word());
        let headers = headers(from)?;
        let mut request = Self {
            method,
            target,
            headers,
            body: Vec::new(),
            connection,
        };
        let length = request.header("content-length").unwrap_or("0").parse().map_err(bad)?;
        request.body = vec![0; length];
        from.read_exact(&mut request.body)?;
        Ok(Some(request))
    }
}

fn headers(from: &mut impl BufRead) -> io::Result<Vec<(String, String)>> {
    let mut headers = Vec::new();
    loop {
        let line = line(from)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        if line.is_empty() {
            return Ok(headers);
        }
        let (name, value) = line.split_once(':').ok_or_else(|| bad("a header without a colon"))?;
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
}

/// A line without its end; none at the end of the connection.
fn line(from: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    if from.take(LONGEST_LINE).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    let line = line.strip_suffix(b"\r\n").ok_or_else(|| bad("a line without CRLF"))?;
    String::from_utf8(line.to_vec()).map(Some).map_err(bad)
}

fn bad(reason: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}
