//! A connection without a socket, over inboxes of its own.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use restante_envelope::{SigningKey, WireProfile};
use restante_inbox::{
    Budget, ChoicePolicy, Content, CreateRequest, InboxPolicy, Inboxes, ListRequest, Parts, SealKeys, Source,
};
use restante_ingest::{Ingest, IngestLimits, IngestParts, connection};
use restante_model::{Domain, Timestamp};
use restante_monitor::Monitor;
use restante_smtp::SessionConfig;
use restante_storage::{Bus, Embedded, EmbeddedConfig, Retention, Stamp};
use restante_testkit::FakeClock;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use zeroize::Zeroizing;

use crate::pipe::Pipe;

/// What a client is connected by.
pub(crate) trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Wire for S {}

/// What the two ends hold of what the other has not read.
const PIPE_BYTES: usize = 4096;

pub(crate) struct Fixture {
    pub(crate) ingest: Arc<Ingest>,
    pub(crate) inboxes: Inboxes,
    /// Tells the server to stop.
    pub(crate) stop: CancellationToken,
    /// Whether a connection ended with a reset.
    pub(crate) was_reset: Arc<AtomicBool>,
    pub(crate) clock: Arc<FakeClock>,
    pub(crate) monitor: Arc<Monitor>,
    _data: TempDir,
}

/// The client's end.
pub(crate) struct Client {
    stream: BufReader<Box<dyn Wire>>,
    began: Instant,
}

impl Fixture {
    /// A server with the inbox `bob@restante.test` and the limits of production.
    pub(crate) async fn new() -> Self {
        Self::with(|_| ()).await
    }

    /// The same with other parts.
    pub(crate) async fn with(change: impl FnOnce(&mut IngestParts)) -> Self {
        let data = tempfile::tempdir().unwrap();
        let stamp = Stamp {
            profile: "service".into(),
            signing_key: "s".into(),
            event_key: "e".into(),
            seal_mac_key: "m".into(),
        };
        let store = Embedded::open(&EmbeddedConfig::new(data.path().join("store"), stamp)).unwrap();
        let clock = Arc::new(FakeClock::at(Timestamp::from_unix_ms(1_769_341_276_000)));
        let monitor = Arc::new(Monitor::new(clock.clone()));
        let inboxes = Inboxes::new(Parts {
            store: Arc::new(store),
            bus: Bus::starting_after(0),
            sealing: Budget::new(1024 * 1024),
            events: None,
            monitor: Arc::clone(&monitor),
            clock: clock.clone(),
            policy: policy(),
            keys: SealKeys {
                signing: SigningKey::generate(),
                mac: Zeroizing::new([7; 32]),
            },
        });
        let bob = CreateRequest {
            address: Some("bob@restante.test".into()),
            ..CreateRequest::default()
        };
        inboxes.create(bob).await.unwrap();
        let session = SessionConfig {
            max_message_bytes: 1000,
            ..SessionConfig::default()
        };
        let mut parts = IngestParts {
            inboxes: inboxes.clone(),
            clock: clock.clone(),
            session,
            limits: IngestLimits::default(),
            tls: None,
            authenticator: None,
            spam: None,
            chaos: None,
            monitor: Arc::clone(&monitor),
            proxy_networks: Vec::new(),
        };
        change(&mut parts);
        Self {
            ingest: Arc::new(Ingest::new(parts)),
            inboxes,
            stop: CancellationToken::new(),
            was_reset: Arc::default(),
            clock,
            monitor,
            _data: data,
        }
    }

    /// Serves one client until both have ended.
    pub(crate) async fn serve<T>(&self, act: impl AsyncFnOnce(Client) -> T) -> (io::Result<()>, T) {
        self.serve_over(PIPE_BYTES, act).await
    }

    /// The same with so much room for what the other end has not read.
    pub(crate) async fn serve_over<T>(
        &self,
        pipe_bytes: usize,
        act: impl AsyncFnOnce(Client) -> T,
    ) -> (io::Result<()>, T) {
        self.serve_from("192.0.2.1", pipe_bytes, act).await
    }

    /// The same for a client at another address.
    pub(crate) async fn serve_from<T>(
        &self,
        ip: &str,
        pipe_bytes: usize,
        act: impl AsyncFnOnce(Client) -> T,
    ) -> (io::Result<()>, T) {
        let (server, client) = tokio::io::duplex(pipe_bytes);
        let peer = SocketAddr::new(ip.parse().unwrap(), 40_000);
        let server = Pipe::over(server, &self.was_reset);
        let client = Client::over(client);
        tokio::join!(
            connection::serve(server, peer, None, &self.ingest, &self.stop),
            act(client)
        )
    }
}

impl Fixture {
    /// The first email of an inbox: its parsed content, and its source with the trace field.
    pub(crate) async fn stored(&self, address: &str) -> (serde_json::Value, String) {
        let inbox = self.inboxes.find(address).await.unwrap();
        let request = ListRequest {
            before: None,
            limit: 1,
            include_content: true,
        };
        let email = self.inboxes.list(&inbox, &request).await.unwrap().emails.remove(0);
        let Content::Plain {
            parsed: Some(parsed), ..
        } = email.content
        else {
            panic!("a plain inbox")
        };
        let Source::Plain(raw) = self.inboxes.raw(&inbox, email.id).await.unwrap() else {
            panic!("a plain inbox")
        };
        (
            serde_json::from_slice(&parsed).unwrap(),
            String::from_utf8(raw.to_vec()).unwrap(),
        )
    }
}

fn policy() -> InboxPolicy {
    InboxPolicy {
        profile: WireProfile::Service,
        encryption: ChoicePolicy::Disabled,
        allowed_domains: vec![Domain::parse("restante.test").unwrap()],
        default_ttl_secs: 3600,
        max_ttl_secs: 604_800,
        alias_random_bytes: 4,
        email_auth_available: true,
        email_auth_default: false,
        persistence: ChoicePolicy::Enabled,
        spam_analysis_available: true,
        spam_analysis_default: false,
        chaos_available: true,
        hostname: "mx.restante.test".into(),
        retention: Retention::UNLIMITED,
    }
}

impl Client {
    /// A client at this end of a connection that begins now.
    pub(crate) fn over(stream: impl Wire + 'static) -> Self {
        Self {
            stream: BufReader::new(Box::new(stream)),
            began: Instant::now(),
        }
    }

    /// The connection, of which all that came has been read.
    pub(crate) fn into_stream(self) -> Box<dyn Wire> {
        assert_eq!(self.stream.buffer(), b"", "all is read");
        self.stream.into_inner()
    }

    /// Sends bytes as they are.
    pub(crate) async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await?;
        self.stream.flush().await
    }

    /// The last line of the next reply.
    pub(crate) async fn reply(&mut self) -> String {
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).await.unwrap();
            if line.as_bytes().get(3) != Some(&b'-') {
                return line;
            }
        }
    }

    /// The next line; empty when the server has closed.
    pub(crate) async fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).await.unwrap();
        line
    }

    /// Sends a command line and reads the reply, which must begin so.
    pub(crate) async fn say(&mut self, command: &str, expected: &str) {
        self.send(format!("{command}\r\n").as_bytes()).await.unwrap();
        let reply = self.reply().await;
        assert!(reply.starts_with(expected), "{command}: {reply}");
    }

    /// Reads the greeting and says EHLO.
    pub(crate) async fn greet(&mut self) {
        assert!(self.reply().await.starts_with("220 "));
        self.say("EHLO client.test", "250 ").await;
    }

    /// A whole message for bob, and the last line of what is said to it.
    pub(crate) async fn deliver(&mut self) -> String {
        self.deliver_to("a@sender.test", &["bob"]).await
    }

    /// The same from this reverse-path, to these inboxes.
    pub(crate) async fn deliver_to(&mut self, reverse_path: &str, inboxes: &[&str]) -> String {
        self.offer(reverse_path, inboxes).await;
        self.reply().await
    }

    /// The same up to the end of the message: the reply waits to be read, if there is one.
    pub(crate) async fn offer(&mut self, reverse_path: &str, inboxes: &[&str]) {
        self.say(&format!("MAIL FROM:<{reverse_path}>"), "250 ").await;
        for inbox in inboxes {
            self.say(&format!("RCPT TO:<{inbox}@restante.test>"), "250 ").await;
        }
        self.say("DATA", "354 ").await;
        self.send(b"a message\r\n.\r\n").await.unwrap();
    }

    /// Everything up to DATA.
    pub(crate) async fn begin_message(&mut self) {
        self.greet().await;
        self.say("MAIL FROM:<a@sender.test>", "250 ").await;
        self.say("RCPT TO:<bob@restante.test>", "250 ").await;
        self.say("DATA", "354 ").await;
    }

    /// What comes until the server closes: a reset is none.
    pub(crate) async fn heard(&mut self) -> String {
        self.rest().await.0
    }

    /// What comes until the server closes, and how many seconds after the connection began that was.
    pub(crate) async fn rest(&mut self) -> (String, u64) {
        let mut rest = String::new();
        self.stream.read_to_string(&mut rest).await.unwrap();
        (rest, self.began.elapsed().as_secs())
    }
}
