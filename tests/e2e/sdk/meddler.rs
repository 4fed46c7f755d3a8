//! Somebody between client and server, who changes what the server answers.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::harness::{API_KEY, TestServer, http};

/// Changes the answer to a path; what is no change is left as it is.
type Change = Box<dyn Fn(&str, &mut Value) + Send>;

/// Listens at a port of its own until it is dropped. Every answer ends its connection.
pub(super) struct Meddler {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    server: Mutex<SocketAddr>,
    change: Mutex<Change>,
    /// Whether lists are asked for without their paging.
    unpaged: AtomicBool,
    /// How many requests for single emails are not answered.
    deaf: AtomicUsize,
    /// The bodies of what the client posted.
    posted: Mutex<Vec<Value>>,
    gone: AtomicBool,
}

impl Meddler {
    /// Stands before the server, and changes nothing yet.
    pub(super) fn before(server: &TestServer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let shared = Arc::new(Shared {
            server: Mutex::new(server.http),
            change: Mutex::new(Box::new(|_, _| ())),
            unpaged: AtomicBool::new(false),
            deaf: AtomicUsize::new(0),
            posted: Mutex::default(),
            gone: AtomicBool::new(false),
        });
        let address = listener.local_addr().unwrap();
        let relay = Arc::clone(&shared);
        std::thread::spawn(move || {
            for socket in listener.incoming() {
                if relay.gone.load(Ordering::SeqCst) {
                    return;
                }
                let relay = Arc::clone(&relay);
                // A client that went away is no failure of a test.
                std::thread::spawn(move || socket.and_then(|socket| relay.answer(socket)));
            }
        });
        Self { address, shared }
    }

    /// Where clients find it.
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// From now on changes answers that are JSON, given the path and query.
    pub(super) fn change(&self, change: impl Fn(&str, &mut Value) + Send + 'static) {
        *self.shared.change.lock().unwrap() = Box::new(change);
    }

    /// From now on stands before another server.
    pub(super) fn turn_to(&self, server: &TestServer) {
        *self.shared.server.lock().unwrap() = server.http;
    }

    /// From now on the server seems to know no paging: every list is whole.
    pub(super) fn forget_paging(&self) {
        self.shared.unpaged.store(true, Ordering::SeqCst);
    }

    /// Breaks the connections of the next so many requests for single emails.
    pub(super) fn be_deaf(&self, times: usize) {
        self.shared.deaf.store(times, Ordering::SeqCst);
    }

    /// How many of those are still to come.
    pub(super) fn deaf_for(&self) -> usize {
        self.shared.deaf.load(Ordering::SeqCst)
    }

    /// The last body that the client posted.
    pub(super) fn posted(&self) -> Value {
        self.shared.posted.lock().unwrap().last().unwrap().clone()
    }
}

impl Shared {
    fn answer(&self, socket: TcpStream) -> std::io::Result<()> {
        let mut reader = BufReader::new(socket);
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let mut words = line.split(' ');
        let (method, path) = (words.next().unwrap().to_owned(), words.next().unwrap().to_owned());
        let mut length = 0;
        loop {
            let mut field = String::new();
            reader.read_line(&mut field)?;
            if field.trim().is_empty() {
                break;
            }
            if let Some(value) = field.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        self.keep(&body);
        if path.contains("/emails/") && self.hears_nothing() {
            return Ok(());
        }
        let asked = match path.split_once("&limit=") {
            Some((whole, _)) if self.unpaged.load(Ordering::SeqCst) => whole,
            _ => &path,
        };
        let server = *self.server.lock().unwrap();
        let headers = [("X-API-Key", API_KEY), ("Content-Type", "application/json")];
        let answer = http::send(&method, &format!("http://{server}{asked}"), &headers, &body);
        let text = match serde_json::from_str::<Value>(&answer.body) {
            Ok(mut value) => {
                self.change.lock().unwrap()(&path, &mut value);
                value.to_string()
            }
            Err(_) => answer.body,
        };
        let (status, length) = (answer.status, text.len());
        let head = format!("HTTP/1.1 {status} Relayed\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
        // 204 has no body, nor a length (RFC 9110 section 8.6).
        let head = if status == 204 {
            head.replace("Content-Length: 0\r\n", "")
        } else {
            head
        };
        reader.get_mut().write_all(format!("{head}{text}").as_bytes())
    }

    fn hears_nothing(&self) -> bool {
        let count_down = |left: usize| left.checked_sub(1);
        self.deaf
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, count_down)
            .is_ok()
    }

    fn keep(&self, body: &[u8]) {
        if let Ok(value) = serde_json::from_slice(body) {
            self.posted.lock().unwrap().push(value);
        }
    }
}

impl Drop for Meddler {
    fn drop(&mut self) {
        self.shared.gone.store(true, Ordering::SeqCst);
        // Wakes the listener.
        let _ = TcpStream::connect(self.address);
    }
}
