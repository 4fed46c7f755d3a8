//! A witness between client and server: it passes bytes on and notes the id of every mail that the server acknowledged.
//!
//! `smtp-source` counts what it has sent, not what was answered, so what it says after a crash is no measure.

use std::collections::HashSet;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::Result;

/// What stands before the id in the reply to the end of data.
const ACKNOWLEDGED: &[u8] = b"250 2.0.0 Ok: ";

type Ids = Arc<Mutex<HashSet<String>>>;

/// A relay on a port of its own. Its threads end with their connections.
pub(super) struct Witness {
    pub(super) address: String,
    acknowledged: Ids,
}

impl Witness {
    /// Relays connections to the server.
    pub(super) fn before(server: String) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?.to_string();
        let acknowledged = Ids::default();
        let ids = Arc::clone(&acknowledged);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // A server that is gone takes no connection, and neither does its witness.
                let Ok(server) = TcpStream::connect(&server) else {
                    return;
                };
                relay(client, server, Arc::clone(&ids));
            }
        });
        Ok(Self { address, acknowledged })
    }

    /// The ids that were acknowledged so far.
    pub(super) fn acknowledged(&self) -> HashSet<String> {
        self.acknowledged.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn relay(client: TcpStream, server: TcpStream, ids: Ids) {
    let (Ok(to_server), Ok(to_client)) = (server.try_clone(), client.try_clone()) else {
        return;
    };
    thread::spawn(move || pass(client, to_server, |_| {}));
    thread::spawn(move || {
        let mut replies = Vec::new();
        pass(server, to_client, |bytes| {
            replies.extend_from_slice(bytes);
            while let Some(end) = replies.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = replies.drain(..=end).collect();
                if let Some(id) = line.strip_prefix(ACKNOWLEDGED) {
                    let id = String::from_utf8_lossy(id).trim().to_owned();
                    ids.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
                }
            }
        });
    });
}

/// Passes bytes on until one side is gone.
fn pass(mut from: TcpStream, mut to: TcpStream, mut look: impl FnMut(&[u8])) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        look(&buffer[..count]);
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}
