//! A proxy for TCP that cuts connections at random, for tests of what must survive that.
//!
//! A connection passes bytes on until a number of them, drawn from a seed when it is accepted, has gone back to the
//! client; then both sides are closed, in the middle of whatever it was.
//! It runs on threads of its own, so it serves asynchronous tests and tests of whole processes alike.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// Connections are cut after 2 to the power of these many bytes: each order of magnitude is as likely as the others,
/// so that some end in their first answer and some carry long ones.
const FEWEST: u64 = 6;
const MOST: u64 = 22;

/// A running proxy; it stops when it is dropped.
#[derive(Debug)]
pub struct Cutter {
    address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    target: Mutex<SocketAddr>,
    cuts: AtomicU64,
    random: AtomicBool,
    stopped: AtomicBool,
    live: Mutex<Vec<Pair>>,
}

/// The two sides of a connection.
#[derive(Debug)]
struct Pair {
    client: TcpStream,
    server: TcpStream,
}

impl Cutter {
    /// A proxy in front of `target`, on a port of its own; it cuts nothing before it is told to.
    ///
    /// # Errors
    /// What the system says.
    pub fn start(target: SocketAddr, seed: u64) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            target: Mutex::new(target),
            cuts: AtomicU64::new(0),
            random: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            live: Mutex::new(Vec::new()),
        });
        let accepting = Arc::clone(&shared);
        let acceptor = thread::spawn(move || accept(&listener, &accepting, seed));
        Ok(Self {
            address,
            shared,
            acceptor: Some(acceptor),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many connections it has cut.
    pub fn cuts(&self) -> u64 {
        self.shared.cuts.load(Ordering::SeqCst)
    }

    /// Cuts every open connection now, and every later one at random.
    pub fn begin(&self) {
        self.shared.random.store(true, Ordering::SeqCst);
        self.cut();
    }

    /// Cuts no later connection at random any more.
    pub fn calm(&self) {
        self.shared.random.store(false, Ordering::SeqCst);
    }

    /// Cuts every open connection now.
    pub fn cut(&self) {
        for pair in lock(&self.shared.live).drain(..) {
            self.shared.cuts.fetch_add(1, Ordering::SeqCst);
            pair.close();
        }
    }

    /// Later connections go there.
    pub fn retarget(&self, target: SocketAddr) {
        *lock(&self.shared.target) = target;
    }
}

impl Drop for Cutter {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        // Wakes the acceptor; if there is none any more, there is nobody to wake.
        let _ = TcpStream::connect(self.address);
        self.cut();
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

impl Pair {
    fn close(&self) {
        // A side that is closed already is what is wanted.
        let _ = self.client.shutdown(Shutdown::Both);
        let _ = self.server.shutdown(Shutdown::Both);
    }

    fn try_clone(&self) -> io::Result<Self> {
        Ok(Self {
            client: self.client.try_clone()?,
            server: self.server.try_clone()?,
        })
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>, seed: u64) {
    let mut state = seed;
    while let Ok((client, _)) = listener.accept() {
        if shared.stopped.load(Ordering::SeqCst) {
            return;
        }
        let random = shared.random.load(Ordering::SeqCst);
        let budget = if random { budget(&mut state) } else { u64::MAX };
        let target = *lock(&shared.target);
        // A target that is not there is a connection that ends at once.
        if let Ok(server) = TcpStream::connect(target) {
            let _ = carry(Pair { client, server }, budget, shared);
        }
    }
}

fn carry(pair: Pair, budget: u64, shared: &Arc<Shared>) -> io::Result<()> {
    pair.client.set_nodelay(true)?;
    pair.server.set_nodelay(true)?;
    lock(&shared.live).push(pair.try_clone()?);
    let requests = pair.try_clone()?;
    thread::spawn(move || {
        let _ = pass(&requests.client, &requests.server, u64::MAX);
        requests.close();
    });
    let shared = Arc::clone(shared);
    thread::spawn(move || {
        if let Ok(true) = pass(&pair.server, &pair.client, budget) {
            shared.cuts.fetch_add(1, Ordering::SeqCst);
        }
        pair.close();
    });
    Ok(())
}

/// Passes on at most so many bytes; whether there were so many.
fn pass(mut from: &TcpStream, mut to: &TcpStream, mut budget: u64) -> io::Result<bool> {
    let mut buffer = [0; 8192];
    loop {
        let count = from.read(&mut buffer)?;
        if count == 0 {
            return Ok(false);
        }
        let passed = usize::try_from(budget).unwrap_or(usize::MAX).min(count);
        to.write_all(&buffer[..passed])?;
        budget -= passed as u64;
        if budget == 0 {
            return Ok(true);
        }
    }
}

fn budget(state: &mut u64) -> u64 {
    let power = FEWEST + random(state) % (MOST - FEWEST);
    (1 << power) + random(state) % (1 << power)
}

/// `SplitMix64` (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Something that says one byte again and again.
    fn talker() -> SocketAddr {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for mut socket in listener.incoming().map_while(Result::ok) {
                thread::spawn(move || while socket.write_all(&[b'x'; 1024]).is_ok() {});
            }
        });
        address
    }

    fn heard(address: SocketAddr) -> usize {
        let mut socket = TcpStream::connect(address).unwrap();
        let mut buffer = [0; 8192];
        let mut heard = 0;
        while let Ok(count @ 1..) = socket.read(&mut buffer) {
            heard += count;
        }
        heard
    }

    #[test]
    fn connections_are_cut_after_what_the_seed_says() {
        let cutter = Cutter::start(talker(), 7).unwrap();
        cutter.begin();
        let mut state = 7;
        for cuts in 1..20 {
            let expected = usize::try_from(budget(&mut state)).unwrap();
            let heard = heard(cutter.address());
            // What was on the way when the connection was closed may be lost with it.
            assert!(heard <= expected, "{heard} of {expected}");
            assert_eq!(cutter.cuts(), cuts);
        }
    }

    #[test]
    fn a_calm_proxy_cuts_when_it_is_told_to() {
        let cutter = Cutter::start(talker(), 7).unwrap();
        let mut socket = TcpStream::connect(cutter.address()).unwrap();
        let mut buffer = vec![0; 12 << 20];
        socket.read_exact(&mut buffer).unwrap();
        cutter.cut();
        while let Ok(1..) = socket.read(&mut buffer) {}
        assert_eq!(cutter.cuts(), 1);
    }
}
