//! A small HTTP client: one connection, one request at a time, so that what is measured is the server.

use std::io::{self, BufRead, BufReader, Read, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

/// No answer takes longer.
const PATIENCE: Duration = Duration::from_mins(2);

/// A connection that is kept.
pub(super) struct Connection {
    stream: TcpStream,
    answers: BufReader<TcpStream>,
    /// The header lines of every request.
    headers: String,
}

/// An answer, as it came.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

/// How the end of a body shows.
#[derive(Debug, PartialEq, Eq)]
enum Framing {
    Length(usize),
    Chunked,
}

impl Connection {
    /// To a server, under its key.
    pub(super) fn open(authority: &str, key: &str) -> Result<Self> {
        let stream = TcpStream::connect(authority).with_context(|| format!("cannot connect to {authority}"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self {
            answers: BufReader::with_capacity(64 * 1024, stream.try_clone()?),
            stream,
            headers: format!("Host: {authority}\r\nX-API-Key: {key}\r\n"),
        })
    }

    /// Sends a request and reads its answer.
    pub(super) fn ask(&mut self, method: &str, path: &str, body: &[u8]) -> Result<Answer> {
        self.send(method, path, body)?;
        let (status, framing) = self.head()?;
        let mut content = Vec::new();
        match framing {
            Framing::Length(length) => {
                content.resize(length, 0);
                self.answers.read_exact(&mut content)?;
            }
            Framing::Chunked => {
                Chunks::of(&mut self.answers).read_to_end(&mut content)?;
            }
        }
        Ok(Answer { status, body: content })
    }

    /// Sends a request whose answer must have this status.
    pub(super) fn expect(&mut self, status: u16, method: &str, path: &str, body: &[u8]) -> Result<Vec<u8>> {
        let answer = self.ask(method, path, body)?;
        ensure!(
            answer.status == status,
            "{method} {path} is answered {}: {}",
            answer.status,
            answer.body.escape_ascii()
        );
        Ok(answer.body)
    }

    /// The answer of a request as a stream that comes over time; a wait beyond the patience is an error of reading.
    pub(super) fn follow(mut self, path: &str, patience: Duration) -> Result<impl BufRead + Send> {
        self.send("GET", path, b"")?;
        let (status, framing) = self.head()?;
        ensure!(
            status == 200 && framing == Framing::Chunked,
            "{path} is answered {status}"
        );
        self.stream.set_read_timeout(Some(patience))?;
        Ok(BufReader::new(Chunks::of(self.answers)))
    }

    fn send(&mut self, method: &str, path: &str, body: &[u8]) -> Result<()> {
        let mut request = format!("{method} {path} HTTP/1.1\r\n{}", self.headers).into_bytes();
        if !body.is_empty() {
            write!(
                request,
                "Content-Type: application/json\r\nContent-Length: {}\r\n",
                body.len()
            )?;
        }
        request.extend_from_slice(b"\r\n");
        request.extend_from_slice(body);
        self.stream.write_all(&request).context("cannot ask")
    }

    /// Reads the head of an answer (RFC 9112).
    fn head(&mut self) -> Result<(u16, Framing)> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.with_context(|| format!("no status line: {line:?}"))?;
        // An answer without a body says nothing about its length (204).
        let mut framing = Framing::Length(0);
        loop {
            line.clear();
            ensure!(self.answers.read_line(&mut line)? > 0, "the answer broke off");
            let Some((name, value)) = line.trim_end().split_once(':') else {
                return Ok((status, framing));
            };
            if name.eq_ignore_ascii_case("content-length") {
                framing = Framing::Length(value.trim().parse()?);
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                framing = Framing::Chunked;
            }
        }
    }
}

/// The content of a chunked body (RFC 9112 section 7.1).
struct Chunks<R> {
    from: R,
    /// What is left of the chunk.
    left: usize,
    has_ended: bool,
}

impl<R: BufRead> Chunks<R> {
    fn of(from: R) -> Self {
        Self {
            from,
            left: 0,
            has_ended: false,
        }
    }

    /// Reads the line before the next chunk.
    fn open_chunk(&mut self) -> Result<()> {
        let mut line = String::new();
        self.from.read_line(&mut line)?;
        let Ok(length) = usize::from_str_radix(line.trim_end(), 16) else {
            bail!("no chunk: {line:?}");
        };
        self.left = length;
        if length == 0 {
            self.has_ended = true;
            self.close_chunk()?;
        }
        Ok(())
    }

    fn close_chunk(&mut self) -> Result<()> {
        let mut end = [0; 2];
        self.from.read_exact(&mut end)?;
        ensure!(end == *b"\r\n", "a chunk that does not end");
        Ok(())
    }
}

impl<R: BufRead> Read for Chunks<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 && !self.has_ended {
            self.open_chunk().map_err(io::Error::other)?;
        }
        let wanted = buffer.len().min(self.left);
        // A read of nothing would wait all the same.
        if wanted == 0 {
            return Ok(0);
        }
        let read = self.from.read(&mut buffer[..wanted])?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= read;
        if self.left == 0 {
            self.close_chunk().map_err(io::Error::other)?;
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Shutdown, TcpListener};
    use std::thread;

    use super::*;

    /// A connection to somebody who answers so, and then is silent or has gone.
    fn answering(answers: &'static [u8], end: Option<Shutdown>) -> Connection {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let authority = listener.local_addr().unwrap().to_string();
        thread::spawn(move || {
            let mut peer = listener.accept().unwrap().0;
            peer.write_all(answers).unwrap();
            if let Some(end) = end {
                peer.shutdown(end).unwrap();
            }
            // A client that has more to say is heard until it goes.
            let _ = io::copy(&mut peer, &mut io::sink());
        });
        Connection::open(&authority, "key").unwrap()
    }

    #[test]
    fn bodies_end_by_length_or_by_the_last_chunk() {
        let mut connection = answering(
            b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc\
              HTTP/1.1 204 No Content\r\n\r\n\
              HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nde\r\nA\r\n0123456789\r\n0\r\n\r\n\
              HTTP/1.1 404 Not Found\r\ncontent-length: 1\r\n\r\nx",
            None,
        );
        let mut body = |status| {
            let body = connection.expect(status, "GET", "/", b"");
            body.map(|body| String::from_utf8(body).unwrap())
        };
        assert_eq!(body(200).unwrap(), "abc");
        assert_eq!(body(204).unwrap(), "");
        assert_eq!(body(200).unwrap(), "de0123456789");
        body(200).unwrap_err();
    }

    #[test]
    fn what_breaks_off_is_an_error() {
        for answer in [
            &b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab"[..],
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            b"HTTP/1.1 200 OK\r\n",
        ] {
            let outcome = answering(answer, Some(Shutdown::Write)).ask("GET", "/", b"");
            assert!(outcome.is_err(), "{}", answer.escape_ascii());
        }
    }
}
