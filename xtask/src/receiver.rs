//! A receiver of webhooks: HTTP/1.1 on a port of this machine, over connections that are kept.
//!
//! It is as cheap as it can be, since it shares the machine with what is measured.

use std::io::{self, BufRead, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::stopwatch;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
/// How an email's id begins, and how long it is.
const ID_PREFIX: &[u8] = b"msg_";
const ID_BYTES: usize = 36;

/// What a receiver does with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Answers 200.
    Prompt,
    /// Reads and never answers: a dead target that accepts connections.
    Dead,
}

/// A request that came whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Delivery {
    /// Where it was sent: receivers of several webhooks have a path for each.
    pub(crate) path: String,
    /// Its `X-Vault-Event`.
    pub(crate) event: String,
    /// The first email id in its body.
    pub(crate) email: String,
    /// When its last byte had been read.
    pub(crate) at: Instant,
}

/// A running receiver; it stops listening with this.
pub(crate) struct Receiver {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

struct Shared {
    manner: Manner,
    came: Mutex<Came>,
    enough: Condvar,
    is_ending: AtomicBool,
}

#[derive(Default)]
struct Came {
    deliveries: Vec<Delivery>,
    /// Whoever waits is woken for so many, not for each.
    wanted: usize,
}

impl Receiver {
    /// Listens on a free port.
    pub(crate) fn start(manner: Manner) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").context("no port for a receiver")?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            manner,
            came: Mutex::default(),
            enough: Condvar::new(),
            is_ending: AtomicBool::new(false),
        });
        let accepting = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || accept(&listener, &shared))
        };
        Ok(Self {
            address,
            shared,
            accepting: Some(accepting),
        })
    }

    /// The URL of a path.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Waits until so many came since they were taken last, but not longer than the patience, and takes them.
    pub(crate) fn take(&self, count: usize, patience: Duration) -> Vec<Delivery> {
        let mut came = self.shared.came.lock().unwrap_or_else(PoisonError::into_inner);
        came.wanted = count;
        let is_short = |came: &mut Came| came.deliveries.len() < count;
        let waited = self.shared.enough.wait_timeout_while(came, patience, is_short);
        let (mut came, _) = waited.unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut came.deliveries)
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.shared.is_ending.store(true, Ordering::Release);
        // Wakes the thread that accepts; those of connections end with their connections.
        let woken = TcpStream::connect(self.address).is_ok();
        if let Some(accepting) = self.accepting.take().filter(|_| woken) {
            let _ = accepting.join();
        }
    }
}

impl Shared {
    fn heard(&self, delivery: Delivery) {
        let mut came = self.came.lock().unwrap_or_else(PoisonError::into_inner);
        came.deliveries.push(delivery);
        if came.deliveries.len() >= came.wanted {
            self.enough.notify_all();
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.is_ending.load(Ordering::Acquire) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let shared = Arc::clone(shared);
        // A connection that breaks off tells nothing; its sender sends again.
        thread::spawn(move || serve(stream, &shared));
    }
}

fn serve(mut stream: TcpStream, shared: &Shared) -> Result<()> {
    if shared.manner == Manner::Dead {
        io::copy(&mut stream, &mut io::sink())?;
        return Ok(());
    }
    stream.set_nodelay(true)?;
    let mut requests = BufReader::with_capacity(16 * 1024, stream.try_clone()?);
    while let Some(delivery) = read(&mut requests)? {
        shared.heard(delivery);
        stream.write_all(ANSWER)?;
    }
    Ok(())
}

/// The next request of a connection; `None` at its end.
fn read(from: &mut impl BufRead) -> Result<Option<Delivery>> {
    let mut line = String::new();
    if from.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let path = line.split(' ').nth(1).context("no request line")?.to_owned();
    let (mut event, mut length) = (String::new(), None);
    loop {
        line.clear();
        if from.read_line(&mut line)? == 0 {
            bail!("a request broke off");
        }
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        if name.eq_ignore_ascii_case("content-length") {
            length = Some(value.trim().parse()?);
        } else if name.eq_ignore_ascii_case("x-vault-event") {
            value.trim().clone_into(&mut event);
        }
    }
    let mut body = vec![0; length.context("a request without a length")?];
    from.read_exact(&mut body)?;
    let at = stopwatch::instant();
    Ok(Some(Delivery {
        path,
        event,
        email: email_id(&body).unwrap_or_default(),
        at,
    }))
}

fn email_id(body: &[u8]) -> Option<String> {
    let begin = body.windows(ID_PREFIX.len()).position(|window| window == ID_PREFIX)?;
    String::from_utf8(body.get(begin..begin + ID_BYTES)?.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    fn request(path: &str, email: &str) -> String {
        let body = format!("{{\"data\":{{\"id\":\"{email}\"}}}}");
        let length = body.len();
        format!("POST {path} HTTP/1.1\r\nx-vault-event: email.stored\r\nContent-Length: {length}\r\n\r\n{body}")
    }

    #[test]
    fn requests_of_a_connection_are_told_apart_and_answered() {
        let receiver = Receiver::start(Manner::Prompt).unwrap();
        let ids: Vec<String> = ('a'..='c').map(|last| format!("msg_{last:0>32}")).collect();
        let mut stream = TcpStream::connect(receiver.address).unwrap();
        for id in &ids {
            stream.write_all(request("/one", id).as_bytes()).unwrap();
        }
        let came = receiver.take(3, PATIENCE);
        let told: Vec<_> = came.iter().map(|one| (&*one.path, &*one.event, &one.email)).collect();
        assert_eq!(
            told,
            ids.iter().map(|id| ("/one", "email.stored", id)).collect::<Vec<_>>()
        );
        let mut answers = vec![0; 3 * ANSWER.len()];
        stream.read_exact(&mut answers).unwrap();
        assert_eq!(answers, ANSWER.repeat(3));
        assert_eq!(receiver.take(1, Duration::from_millis(1)), []);
    }

    #[test]
    fn a_dead_one_reads_and_says_nothing() {
        let receiver = Receiver::start(Manner::Dead).unwrap();
        let mut stream = TcpStream::connect(receiver.address).unwrap();
        stream.write_all(request("/", "").as_bytes()).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        stream.read(&mut [0]).unwrap_err();
        assert_eq!(receiver.take(0, Duration::ZERO), []);
    }

    #[test]
    fn what_breaks_off_is_no_delivery() {
        let whole = request("/", "msg_00000000000000000000000000000001");
        for end in [10, whole.len() - 1] {
            assert!(read(&mut &whole.as_bytes()[..end]).is_err(), "{end}");
        }
        assert_eq!(read(&mut &b""[..]).unwrap(), None);
    }
}
