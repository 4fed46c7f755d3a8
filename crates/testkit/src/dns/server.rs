//! The sockets of the DNS server, and what it remembers of the queries.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;

use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::rdata::TXT;
use hickory_proto::rr::{LowerName, Name, RData, Record};

use super::trouble::{self, SLOWNESS, Trouble};
use super::zones::{Zones, name};

/// Time to live of records that a test adds, in seconds.
const TTL: u32 = 60;
/// Longest string of a TXT record (RFC 1035 section 3.3.14).
const LONGEST_STRING: usize = 255;
/// Ports that are tried until one is free for UDP and TCP alike.
const PORT_TRIES: usize = 50;

/// A running DNS server; it stops when it is dropped.
#[derive(Debug)]
pub struct DnsServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    stopping: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    zones: Zones,
    trouble: HashMap<LowerName, Trouble>,
    /// Trouble with every name.
    outage: Option<Trouble>,
    queries: HashMap<LowerName, usize>,
    connections: Vec<TcpStream>,
    tcp_queries: usize,
}

impl DnsServer {
    /// Serves the zones of a folder: its files `*.zone` and, if there is one, `trouble.txt`.
    ///
    /// # Panics
    /// If a file is not understood, or no port is free.
    pub fn start(folder: &Path) -> Self {
        let trouble = std::fs::read_to_string(folder.join("trouble.txt")).unwrap_or_default();
        Self::with(State {
            zones: Zones::read(folder),
            trouble: trouble::read(&trouble),
            ..State::default()
        })
    }

    /// Serves these records, in master-file form with absolute names.
    ///
    /// # Panics
    /// If they are not understood, or no port is free.
    pub fn of(records: &str) -> Self {
        let server = Self::with(State::default());
        server.add(records);
        server
    }

    /// A server that receives queries and answers none.
    pub fn silent() -> Self {
        Self::with(State {
            outage: Some(Trouble::Silent),
            ..State::default()
        })
    }

    fn with(state: State) -> Self {
        let (udp, tcp) = sockets();
        let address = udp.local_addr().expect("a bound socket has an address");
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            stopping: AtomicBool::new(false),
        });
        let (over_udp, over_tcp) = (Arc::clone(&shared), Arc::clone(&shared));
        let threads = vec![
            std::thread::spawn(move || serve_udp(&udp, &over_udp)),
            std::thread::spawn(move || serve_tcp(&tcp, &over_tcp)),
        ];
        Self {
            address,
            shared,
            threads,
        }
    }

    /// Where it listens, for UDP and TCP.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Adds records in master-file form, with absolute names.
    pub fn add(&self, records: &str) {
        self.shared.state().zones.add(records, "a record of the test");
    }

    /// Adds a TXT record, cut into strings as needed.
    pub fn add_txt(&self, at: &str, text: &str) {
        let strings: Vec<&[u8]> = text.as_bytes().chunks(LONGEST_STRING).collect();
        let data = RData::TXT(TXT::from_bytes(strings));
        let record = Record::from_rdata(Name::from(name(at)), TTL, data);
        self.shared.state().zones.insert(record);
    }

    /// Removes all records of a name.
    pub fn remove(&self, at: &str) {
        self.shared.state().zones.remove(&name(at));
    }

    /// Makes trouble with a name.
    pub fn trouble(&self, at: &str, trouble: Trouble) {
        self.shared.state().trouble.insert(name(at), trouble);
    }

    /// Makes trouble with every name, or ends it.
    pub fn outage(&self, trouble: Option<Trouble>) {
        self.shared.state().outage = trouble;
    }

    /// How many queries for a name, of whatever type, have come.
    pub fn queries(&self, of: &str) -> usize {
        self.shared.state().queries.get(&name(of)).copied().unwrap_or(0)
    }

    /// How many queries have come in all.
    pub fn all_queries(&self) -> usize {
        self.shared.state().queries.values().sum()
    }

    /// How many queries have come over TCP.
    pub fn tcp_queries(&self) -> usize {
        self.shared.state().tcp_queries
    }
}

impl Drop for DnsServer {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        // A packet and a connection wake the two threads; if either fails, the thread has ended already.
        let _ = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|socket| socket.send_to(&[], self.address));
        let _ = TcpStream::connect(self.address);
        for connection in self.shared.state().connections.drain(..) {
            let _ = connection.shutdown(std::net::Shutdown::Both);
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state
            .lock()
            .expect("no thread of the DNS server panics with its state")
    }

    fn is_slow(&self, response: &Message) -> bool {
        let asked = response.queries.first().map(|question| LowerName::new(question.name()));
        asked.is_some_and(|asked| self.state().trouble.get(&asked) == Some(&Trouble::Slow))
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }
}

fn sockets() -> (UdpSocket, TcpListener) {
    for _ in 0..PORT_TRIES {
        let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
        let address = tcp.local_addr().expect("a bound socket has an address");
        if let Ok(udp) = UdpSocket::bind(address) {
            return (udp, tcp);
        }
    }
    panic!("no port is free for UDP and TCP alike");
}

fn serve_udp(socket: &UdpSocket, shared: &Shared) {
    let mut packet = [0; 4096];
    let mut late = Vec::new();
    while let Ok((length, client)) = socket.recv_from(&mut packet) {
        if shared.is_stopping() {
            break;
        }
        match respond(&packet[..length], shared) {
            Some(response) if shared.is_slow(&response) => late.push(send_late(socket, client, fitting(&response))),
            Some(response) => drop(socket.send_to(&fitting(&response), client)),
            None => (),
        }
    }
    for thread in late {
        let _ = thread.join();
    }
}

fn send_late(socket: &UdpSocket, client: SocketAddr, packet: Vec<u8>) -> JoinHandle<()> {
    let socket = socket.try_clone().expect("a socket can be cloned");
    std::thread::spawn(move || {
        std::thread::sleep(SLOWNESS);
        let _ = socket.send_to(&packet, client);
    })
}

/// The response, or a truncated one that makes the client ask over TCP (RFC 1035 section 4.2.1, RFC 6891 section 6.2.5).
fn fitting(response: &Message) -> Vec<u8> {
    let bytes = response.to_vec().expect("a response can be encoded");
    if bytes.len() <= usize::from(response.max_payload()) {
        return bytes;
    }
    response.truncate().to_vec().expect("a response can be encoded")
}

fn serve_tcp(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut threads = Vec::new();
    for connection in listener.incoming() {
        if shared.is_stopping() {
            break;
        }
        let Ok(connection) = connection else { continue };
        if let Ok(handle) = connection.try_clone() {
            shared.state().connections.push(handle);
        }
        let shared = Arc::clone(shared);
        threads.push(std::thread::spawn(move || serve_connection(connection, &shared)));
    }
    for thread in threads {
        let _ = thread.join();
    }
}

/// Messages with their length before them (RFC 1035 section 4.2.2), until the client closes.
fn serve_connection(mut connection: TcpStream, shared: &Shared) {
    let mut length = [0; 2];
    while connection.read_exact(&mut length).is_ok() {
        let mut query = vec![0; usize::from(u16::from_be_bytes(length))];
        if connection.read_exact(&mut query).is_err() {
            return;
        }
        shared.state().tcp_queries += 1;
        let Some(response) = respond(&query, shared) else {
            continue;
        };
        let bytes = response.to_vec().expect("a response can be encoded");
        let length = u16::try_from(bytes.len())
            .expect("a message is shorter than 64 KiB")
            .to_be_bytes();
        if connection.write_all(&[&length[..], &bytes].concat()).is_err() {
            return;
        }
    }
}

/// The response to a query, if it gets one.
fn respond(query: &[u8], shared: &Shared) -> Option<Message> {
    let query = Message::from_vec(query).ok()?;
    let question = query.queries.first()?.clone();
    let asked = LowerName::new(question.name());
    let mut state = shared.state();
    let count = state.queries.entry(asked.clone()).or_default();
    *count += 1;
    let is_first = *count == 1;

    let mut response = Message::response(query.metadata.id, query.metadata.op_code);
    response.metadata.recursion_desired = query.metadata.recursion_desired;
    response.metadata.recursion_available = true;
    response.add_query(question.clone());
    if let Some(edns) = query.edns {
        response.set_edns(edns);
    }
    match state.outage.or_else(|| state.trouble.get(&asked).copied()) {
        Some(Trouble::Silent) => return None,
        Some(Trouble::FirstLost) if is_first => return None,
        Some(Trouble::ServFail) => response.metadata.response_code = ResponseCode::ServFail,
        Some(Trouble::Refused) => response.metadata.response_code = ResponseCode::Refused,
        Some(Trouble::FirstLost | Trouble::Slow) | None => {
            let answer = state.zones.answer(&asked, question.query_type());
            response.metadata.response_code = answer.code;
            response.answers = answer.records;
            response.authorities = answer.authority.into_iter().collect();
        }
    }
    Some(response)
}

#[cfg(test)]
mod tests {
    use hickory_proto::op::Query;
    use hickory_proto::rr::RecordType;

    use super::*;

    const ZONE: &str = "\
example.test. 60 IN SOA ns.example.test. root.example.test. 1 60 60 60 60
example.test. 60 IN TXT \"one\" \"two\"
a.b.example.test. 60 IN A 192.0.2.1
www.example.test. 60 IN CNAME a.b.example.test.
";

    fn server() -> DnsServer {
        DnsServer::of(ZONE)
    }

    fn ask(server: &DnsServer, of: &str, wanted: RecordType) -> Message {
        let mut query = Message::query();
        query.add_query(Query::query(Name::from(name(of)), wanted));
        respond(&query.to_vec().expect("a query can be encoded"), &server.shared).expect("it is answered")
    }

    fn code(server: &DnsServer, of: &str, wanted: RecordType) -> (ResponseCode, usize) {
        let response = ask(server, of, wanted);
        (response.metadata.response_code, response.answers.len())
    }

    #[test]
    fn names_exist_or_not_and_records_are_there_or_not() {
        let server = server();
        assert_eq!(
            code(&server, "EXAMPLE.test", RecordType::TXT),
            (ResponseCode::NoError, 1)
        );
        assert_eq!(
            code(&server, "example.test", RecordType::MX),
            (ResponseCode::NoError, 0)
        );
        assert_eq!(
            code(&server, "b.example.test", RecordType::A),
            (ResponseCode::NoError, 0)
        );
        assert_eq!(
            code(&server, "c.example.test", RecordType::A),
            (ResponseCode::NXDomain, 0)
        );
        assert_eq!(code(&server, "example.org", RecordType::A), (ResponseCode::NXDomain, 0));
        assert_eq!(ask(&server, "c.example.test", RecordType::A).authorities.len(), 1);
    }

    #[test]
    fn aliases_are_followed() {
        assert_eq!(
            code(&server(), "www.example.test", RecordType::A),
            (ResponseCode::NoError, 2)
        );
    }

    #[test]
    fn queries_are_counted_by_name() {
        let server = server();
        ask(&server, "example.test", RecordType::TXT);
        ask(&server, "Example.Test", RecordType::A);
        assert_eq!(server.queries("example.test."), 2);
        assert_eq!(server.queries("www.example.test"), 0);
        assert_eq!(server.all_queries(), 2);
    }

    #[test]
    fn a_long_answer_is_truncated_over_udp_only() {
        let server = server();
        server.add_txt("long.example.test", &"x".repeat(2000));
        let response = ask(&server, "long.example.test", RecordType::TXT);
        let packet = Message::from_vec(&fitting(&response)).expect("it can be decoded");
        assert!(packet.metadata.truncation);
        assert!(packet.answers.is_empty());
        assert!(response.to_vec().expect("it can be encoded").len() > 2000);
    }

    #[test]
    fn trouble_is_made_where_it_is_said() {
        let server = server();
        for (trouble, expected) in [
            (Trouble::ServFail, ResponseCode::ServFail),
            (Trouble::Refused, ResponseCode::Refused),
        ] {
            server.trouble("example.test", trouble);
            assert_eq!(code(&server, "example.test", RecordType::TXT).0, expected);
        }
        assert_eq!(
            code(&server, "www.example.test", RecordType::A).0,
            ResponseCode::NoError
        );
        server.outage(Some(Trouble::Refused));
        assert_eq!(
            code(&server, "www.example.test", RecordType::A).0,
            ResponseCode::Refused
        );
    }
}
