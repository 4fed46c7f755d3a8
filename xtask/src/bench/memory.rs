//! P6 in the small: a server that does nothing, and what one large message adds.

use std::thread;
use std::time::Duration;

use anyhow::Result;

use super::api::{Api, Mode};
use super::case::Case;
use super::figures::{Figure, Goal, Row, Unit};
use super::filler::mail;
use super::ground::Ground;
use super::report::Report;
use crate::machine::memory_mb;
use crate::probe::peer::Peer;

/// Bytes of a large message.
const LARGE_BYTES: usize = 25_000_000;
/// A start needs more for a moment; the allocator gives it back within a second.
const SETTLE: Duration = Duration::from_secs(2);
/// In MB.
const IDLE_GOAL: Goal = Goal::AtMost(20.0);
/// Four times a large message.
const LARGE_GOAL: Goal = Goal::AtMost(100.0);
const ADDRESS: &str = "large@restante.test";

/// What one server needed, in MB.
struct Seen {
    idle: f64,
    /// Added by the arrival, and by the arrival and reading its source.
    arrival: f64,
    reading: f64,
}

/// A new server for each round and mode.
pub(super) fn run(ground: &Ground, report: &mut Report) -> Result<()> {
    let mut idle = Vec::new();
    for (mode, name) in [(Mode::Plain, "plain"), (Mode::Encrypted, "encrypted")] {
        let (mut arrival, mut reading) = (Vec::new(), Vec::new());
        for _ in 0..ground.sizes.rounds {
            let seen = measure(ground, mode)?;
            idle.push(seen.idle);
            arrival.push(seen.arrival);
            reading.push(seen.reading);
        }
        let large = |what: &str, rounds| {
            let judged = Figure::new(format!("{what} 25 MB, {name}"), Unit::Megabytes, rounds);
            Row::new(Case::P6, LARGE_GOAL, judged)
        };
        report.rows.push(large("added by the arrival of", arrival));
        report
            .rows
            .push(large("added by the arrival and the reading of", reading));
    }
    let judged = Figure::new("idle, resident", Unit::Megabytes, idle);
    report.rows.push(Row::new(Case::P6, IDLE_GOAL, judged));
    Ok(())
}

fn measure(ground: &Ground, mode: Mode) -> Result<Seen> {
    let folder = ground.folder()?;
    let server = ground.server(folder.path())?;
    let api = Api::of(&server)?;
    thread::sleep(SETTLE);
    let idle = memory_mb(server.pid(), "VmRSS")?;
    api.create(ADDRESS, mode)?;
    let id = Peer::greeted(&server.discovery().smtp)?.deliver(ADDRESS, &mail(0, LARGE_BYTES))?;
    let arrival = memory_mb(server.pid(), "VmHWM")? - idle;
    let source = format!("/api/inboxes/{ADDRESS}/emails/{id}/raw");
    api.connect()?.expect(200, "GET", &source, b"")?;
    let reading = memory_mb(server.pid(), "VmHWM")? - idle;
    server.stop()?;
    eprintln!("P6: {mode:?}: idle {idle:.0} MB, 25 MB add {arrival:.0} MB, {reading:.0} MB with reading");
    Ok(Seen { idle, arrival, reading })
}
