//! A listener on a real socket, and what it writes into the log.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use restante_ingest::{Encryption, Listener};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::TaskTracker;
use tracing::subscriber::DefaultGuard;

use crate::fixture::{Client, Fixture};

/// Runs a listener while `act` connects to it, and until all connections have ended.
pub(crate) async fn listen<T>(fixture: &Fixture, encryption: Encryption, act: impl AsyncFnOnce(SocketAddr) -> T) -> T {
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let listener = Listener::new(socket, Arc::clone(&fixture.ingest), encryption);
    let (address, tasks) = (listener.local_addr().unwrap(), TaskTracker::new());
    let served = async {
        let outcome = act(address).await;
        tasks.close();
        tasks.wait().await;
        outcome
    };
    tokio::select! {
        () = listener.run(tasks.clone(), fixture.stop.clone()) => panic!("it runs until it is stopped"),
        outcome = served => outcome,
    }
}

/// A client that has connected.
pub(crate) async fn connect(address: SocketAddr) -> Client {
    Client::over(TcpStream::connect(address).await.unwrap())
}

/// The log of this thread, for as long as it is held.
pub(crate) struct Log {
    text: Text,
    _guard: DefaultGuard,
}

#[derive(Clone, Default)]
struct Text(Arc<Mutex<Vec<u8>>>);

impl Log {
    pub(crate) fn kept() -> Self {
        let text = Text::default();
        let writer = text.clone();
        let subscriber = tracing_subscriber::fmt()
            .without_time()
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .finish();
        Self {
            text,
            _guard: tracing::subscriber::set_default(subscriber),
        }
    }

    /// What this crate wrote at info and above; the log begins anew.
    pub(crate) fn take(&self) -> Vec<String> {
        let text = std::mem::take(&mut *self.text.0.lock().unwrap());
        let text = String::from_utf8(text).unwrap();
        let ours = text.lines().filter(|line| line.contains(" restante_ingest::"));
        ours.map(str::to_owned).collect()
    }
}

impl Write for Text {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
