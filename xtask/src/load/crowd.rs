//! R1: a crowd of slow clients does not slow a good one down.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::probe::target::Target;
use crate::stopwatch;

const CLIENTS: usize = 2_000;
/// Each of them sends a byte so often.
const PERIOD: Duration = Duration::from_secs(10);
/// Rounds with the crowd and without it, in turn.
const ROUNDS: usize = 3;
/// Mails of the good client in a round, spread over more than a period.
const MAILS: usize = 240;
const BETWEEN: Duration = Duration::from_millis(45);
const RISE_MAX_MS: f64 = 50.0;

/// What the clients of the crowd are in the middle of; the first say nothing more at all.
const MIDDLES: [&str; 4] = ["", "NOOP ", "DATA\r\n", "BDAT 1000000\r\n"];

pub(super) fn run(target: &Target) -> Result<String> {
    let inbox = target.inbox()?;
    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    let mut memory = 0;
    for _ in 0..ROUNDS {
        alone.extend(good_client(target, &inbox.address)?);
        let crowd = gather(target, &inbox.address)?;
        beside.extend(among(crowd, || good_client(target, &inbox.address))?);
        memory = target.memory("VmRSS")?.unwrap_or_default();
    }
    let (alone, beside) = (median(&mut alone), median(&mut beside));
    let rise = beside - alone;
    ensure!(rise < RISE_MAX_MS, "{beside:.2} ms instead of {alone:.2} ms");
    Ok(format!(
        "median of {} mails {alone:.2} ms alone, {beside:.2} ms beside {CLIENTS} clients; VmRSS {} MB",
        ROUNDS * MAILS,
        memory.div_ceil(1_000_000)
    ))
}

/// How long each mail of a client took, connection and all, in milliseconds.
fn good_client(target: &Target, address: &str) -> Result<Vec<f64>> {
    let mail = || -> Result<()> {
        let mut peer = target.peer()?;
        peer.deliver(address, b"Subject: good\r\n\r\nbody\r\n")?;
        peer.expect("QUIT", 221)?;
        Ok(())
    };
    let measured = (0..MAILS).map(|_| {
        thread::sleep(BETWEEN);
        let (took, outcome) = stopwatch::time(mail);
        outcome.map(|()| took.as_secs_f64() * 1e3)
    });
    measured.collect()
}

/// Connects the crowd; a quarter each is idle, in a command, in DATA and in BDAT.
fn gather(target: &Target, address: &str) -> Result<Vec<TcpStream>> {
    (0..CLIENTS)
        .map(|number| {
            let middle = MIDDLES[number % MIDDLES.len()];
            let mut stream = TcpStream::connect(&target.smtp)?;
            let said = format!("EHLO slow.test\r\nMAIL FROM:<slow@sender.test>\r\nRCPT TO:<{address}>\r\n{middle}");
            stream.write_all(said.as_bytes())?;
            // The greeting: the server knows the client.
            stream.read_exact(&mut [0; 3])?;
            Ok(stream)
        })
        .collect()
}

/// Does the work while each client of the crowd but the idle ones sends a byte a period.
fn among<T>(mut crowd: Vec<TcpStream>, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let is_done = AtomicBool::new(false);
    let between = PERIOD / u32::try_from(CLIENTS)?;
    thread::scope(|scope| {
        let trickle = scope.spawn(|| -> Result<()> {
            loop {
                for (number, stream) in crowd.iter_mut().enumerate() {
                    if is_done.load(Ordering::Acquire) {
                        return Ok(());
                    }
                    if !number.is_multiple_of(MIDDLES.len()) {
                        stream.write_all(b"x")?;
                    }
                    thread::sleep(between);
                }
            }
        });
        let done = work();
        is_done.store(true, Ordering::Release);
        // A client that could not send was cut off.
        trickle.join().expect("writing does not panic")?;
        done
    })
}

fn median(figures: &mut [f64]) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
