//! The sockets of the receiver, and what a test may ask of it.

use std::io::{self, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;

use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::answer::Answer;
use super::certificate;
use super::request::Request;
use super::state::Shared;

/// A running receiver; it stops when it is dropped.
///
/// It answers with the script first ([`Self::script`]), then as it is told to always, with 200 if it is told nothing.
#[derive(Debug)]
pub struct Receiver {
    address: SocketAddr,
    certificate: Option<Vec<u8>>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// What a receiver does with a new connection.
#[derive(Debug, Clone)]
enum Talk {
    Plain,
    Tls(Arc<ServerConfig>),
    /// Nothing: not even a TLS handshake.
    Mute,
}

impl Receiver {
    /// A receiver without TLS.
    ///
    /// # Panics
    /// If no port is free.
    pub fn start() -> Self {
        Self::with((Ipv4Addr::LOCALHOST, 0).into(), Talk::Plain, None)
    }

    /// A receiver without TLS at an address where another one was before.
    ///
    /// # Panics
    /// If somebody else listens there.
    pub fn start_at(address: SocketAddr) -> Self {
        Self::with(address, Talk::Plain, None)
    }

    /// A receiver with TLS and a self-signed certificate for these names or addresses.
    ///
    /// # Panics
    /// If no port is free, or one of the names is none.
    pub fn start_tls(names: &[&str]) -> Self {
        let (certificate, config) = certificate::serving(names);
        let talk = Talk::Tls(config);
        Self::with((Ipv4Addr::LOCALHOST, 0).into(), talk, Some(certificate.to_vec()))
    }

    /// A receiver that accepts connections and reads nothing, so that TLS never comes about.
    ///
    /// # Panics
    /// If no port is free.
    pub fn start_mute() -> Self {
        Self::with((Ipv4Addr::LOCALHOST, 0).into(), Talk::Mute, None)
    }

    fn with(address: SocketAddr, talk: Talk, certificate: Option<Vec<u8>>) -> Self {
        let listener = TcpListener::bind(address).expect("the port is free");
        let address = listener.local_addr().expect("a bound socket has an address");
        let shared = Arc::new(Shared::default());
        let for_thread = Arc::clone(&shared);
        let thread = std::thread::spawn(move || accept(&listener, &talk, &for_thread));
        Self {
            address,
            certificate,
            shared,
            thread: Some(thread),
        }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its URL with this path, which begins with a slash.
    pub fn url(&self, path: &str) -> String {
        self.url_of(&self.address.ip().to_string(), path)
    }

    /// Its URL by another name.
    pub fn url_of(&self, host: &str, path: &str) -> String {
        let scheme = if self.certificate.is_some() { "https" } else { "http" };
        format!("{scheme}://{host}:{}{path}", self.address.port())
    }

    /// The DER bytes of its certificate, for those who are to trust it.
    ///
    /// # Panics
    /// If it has no TLS.
    pub fn certificate(&self) -> &[u8] {
        self.certificate.as_deref().expect("the receiver was started with TLS")
    }

    /// The next requests get these answers, one each.
    pub fn script(&self, answers: impl IntoIterator<Item = Answer>) {
        self.shared.script(answers);
    }

    /// All requests get this answer, after the script.
    pub fn always(&self, answer: Answer) {
        self.by_rule(move |_| answer.clone());
    }

    /// All requests get the answer of this function, after the script.
    pub fn by_rule(&self, rule: impl Fn(&Request) -> Answer + Send + Sync + 'static) {
        self.shared.rule(Arc::new(rule));
    }

    /// Lets the answers go that are held now.
    pub fn release(&self) {
        self.shared.release();
    }

    /// All requests so far, in the order in which they were read.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.requests()
    }

    /// How many connections have come.
    pub fn connections(&self) -> usize {
        self.shared.connections()
    }

    /// How many requests were read and not answered yet, at most.
    pub fn most_in_flight(&self) -> usize {
        self.shared.most_in_flight()
    }

    /// Waits until this many requests have come in all, and returns all of them.
    ///
    /// # Panics
    /// If they do not come within 20 s.
    pub async fn wait_for(&self, count: usize) -> Vec<Request> {
        self.wait(move |shared| shared.wait_for_requests(count)).await
    }

    /// Waits until every connection is closed, by either side.
    ///
    /// # Panics
    /// If one is still open after 20 s.
    pub async fn wait_for_no_connection(&self) {
        self.wait(Shared::wait_for_disconnection).await;
    }

    /// Waits on a thread, so that the wait is real whatever the runtime does with its time.
    async fn wait<T: Send + 'static>(&self, until: impl FnOnce(&Shared) -> T + Send + 'static) -> T {
        let (done, waiting) = tokio::sync::oneshot::channel();
        let shared = Arc::clone(&self.shared);
        std::thread::spawn(move || done.send(until(&shared)));
        waiting.await.expect("what is waited for comes in time")
    }

    /// As [`Self::wait_for`], for a test without a runtime.
    ///
    /// # Panics
    /// If they do not come within 20 s.
    pub fn block_for(&self, count: usize) -> Vec<Request> {
        self.shared.wait_for_requests(count)
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.shared.stop();
        // A connection wakes the thread that accepts; if it fails, the thread has ended already.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn accept(listener: &TcpListener, talk: &Talk, shared: &Arc<Shared>) {
    let mut threads = Vec::new();
    for connection in listener.incoming() {
        if shared.is_stopping() {
            break;
        }
        let Ok((connection, handle)) = connection.and_then(|one| Ok((one.try_clone()?, one))) else {
            continue;
        };
        let number = shared.connected(handle);
        let (talk, shared) = (talk.clone(), Arc::clone(shared));
        threads.push(std::thread::spawn(move || {
            // What goes wrong here, the client sees.
            let _ = serve(&connection, &talk, &shared, number);
            let _ = connection.shutdown(std::net::Shutdown::Both);
            shared.disconnected();
        }));
    }
    for thread in threads {
        let _ = thread.join();
    }
}

fn serve(connection: &TcpStream, talk: &Talk, shared: &Shared, number: usize) -> io::Result<()> {
    connection.set_nodelay(true)?;
    match talk {
        Talk::Plain => converse(connection.try_clone()?, shared, number),
        Talk::Tls(config) => {
            let tls = ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
            converse(StreamOwned::new(tls, connection.try_clone()?), shared, number)
        }
        Talk::Mute => {
            shared.wait_for_stop();
            Ok(())
        }
    }
}

/// Request and answer in turn, until one side has had enough.
fn converse(connection: impl Read + Write, shared: &Shared, number: usize) -> io::Result<()> {
    let mut connection = BufReader::new(connection);
    while let Some(request) = Request::read(&mut connection, number)? {
        let (answer, releases) = shared.arrived(&request);
        answer.wait(shared, releases);
        shared.answering();
        if !answer.write(connection.get_mut(), shared)? {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::receiver::Stage;

    /// Sends one request and reads this many bytes of what comes back.
    fn exchange(connection: &mut TcpStream, body: &str, length: usize) -> String {
        let head = format!(
            "POST /hook HTTP/1.1\r\nHost: a\r\nX-One: 1\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        connection.write_all((head + body).as_bytes()).unwrap();
        let mut answer = vec![0; length];
        connection.read_exact(&mut answer).unwrap();
        String::from_utf8(answer).unwrap()
    }

    #[test]
    fn it_answers_by_script_then_always_and_remembers_every_request() {
        let receiver = Receiver::start();
        receiver.script([Answer::status(500).header("X-A", "b").body("no")]);
        receiver.always(Answer::status(204));
        let mut connection = TcpStream::connect(receiver.address()).unwrap();
        let first = "HTTP/1.1 500 Scripted\r\nX-A: b\r\nContent-Length: 2\r\n\r\nno";
        assert_eq!(exchange(&mut connection, "{}", first.len()), first);
        let second = "HTTP/1.1 204 Scripted\r\nContent-Length: 0\r\n\r\n";
        assert_eq!(exchange(&mut connection, "[1]", second.len()), second);
        let requests = receiver.block_for(2);
        assert_eq!(
            (requests[0].method.as_str(), requests[0].target.as_str()),
            ("POST", "/hook")
        );
        assert_eq!(requests[0].headers[1], ("X-One".to_owned(), "1".to_owned()));
        assert_eq!(requests[1].json(), serde_json::json!([1]));
        assert_eq!((receiver.connections(), receiver.most_in_flight()), (1, 1));
    }

    #[test]
    fn a_stalled_answer_says_what_comes_before_and_ends_with_the_receiver() {
        let receiver = Receiver::start();
        receiver.script([Answer::stalled(Stage::InHeaders)]);
        let mut connection = TcpStream::connect(receiver.address()).unwrap();
        assert_eq!(exchange(&mut connection, "", 12), "HTTP/1.1 200");
        drop(receiver);
        let mut rest = String::new();
        connection.read_to_string(&mut rest).unwrap();
        assert!(rest.ends_with("\r\n") && !rest.contains("\r\n\r\n"), "{rest}");
    }

    #[test]
    fn held_answers_wait_for_their_release() {
        let receiver = Receiver::start();
        receiver.always(Answer::status(200).held());
        let address = receiver.address();
        let client = std::thread::spawn(move || {
            let mut connection = TcpStream::connect(address).unwrap();
            exchange(&mut connection, "", 12)
        });
        receiver.block_for(1);
        assert!(!client.is_finished());
        receiver.release();
        assert_eq!(client.join().unwrap(), "HTTP/1.1 200");
    }
}
