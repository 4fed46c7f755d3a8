//! P6 and P7 with a million mails in 10,000 inboxes: memory over their whole life, and starts beside them.
//!
//! The starts are those of a second server on a copy of the data, so that the first one lives through all of it and
//! its peak is that of the whole.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;

use super::api::{Api, at_once, page};
use super::case::Case;
use super::figures::{Figure, Goal, Row, Unit};
use super::filler;
use super::ground::Ground;
use super::report::Report;
use super::start;
use crate::machine::{disk_mb, memory_mb, processor_time};
use crate::server::Server;
use crate::{shell, stopwatch};

/// In MB.
const MEMORY_GOAL: Goal = Goal::AtMost(200.0);
/// In ms.
const START_GOAL: Goal = Goal::AtMost(2000.0);
/// Connections that create inboxes, and that list them.
const CREATORS: usize = 32;
const READERS: usize = 4;
/// The part of the mails that arrives between a start and the kill before the next one.
const BEFORE_KILL: usize = 100;
/// The part of the mails by which the time of the others is estimated.
const SAMPLE: usize = 50;
/// The longest life of an inbox, in seconds.
const LONG_TTL: u64 = 604_800;
/// The shortest one, and a margin.
const SHORT_TTL: u64 = 60;
/// A server that works less than this in a second is at rest, if it stays so.
const REST: Duration = Duration::from_millis(20);
const RESTFUL_SECONDS: usize = 3;
/// The removal of everything takes no longer.
const REMOVAL_PATIENCE: Duration = Duration::from_mins(10);

/// How everything goes away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Removal {
    /// The inboxes reach the end of their life.
    Expiry,
    /// One `DELETE /api/inboxes`, which takes the same path but for its cause: nobody waits for the shortest life.
    Deletion,
}

/// What the first server needed, in MB, and what it did.
#[derive(Default)]
struct Seen {
    filled: f64,
    listed: f64,
    removed: f64,
    resident: f64,
    disk_filled: f64,
    disk_removed: f64,
    per_second: f64,
    lost: u64,
}

/// Fills, lists, starts beside it, and removes all, as far as that is wanted.
pub(super) fn run(ground: &Ground, report: &mut Report) -> Result<()> {
    let folder = ground.folder()?;
    let server = ground.server(folder.path())?;
    let mut seen = Seen::default();
    let ends = fill(ground, &server, &mut seen)?;
    seen.disk_filled = disk_mb(folder.path())?;
    if ground.wants(Case::P6) {
        seen.lost = list(ground, &server)?;
        seen.listed = memory_mb(server.pid(), "VmHWM")?;
    }
    let started = if ground.wants(Case::P7) {
        starts(ground, &server, &folder, report)
    } else {
        Ok(())
    };
    if ground.wants(Case::P6) {
        remove(ground, &server, ends)?;
        seen.removed = memory_mb(server.pid(), "VmHWM")?;
        seen.resident = memory_mb(server.pid(), "VmRSS")?;
        seen.disk_removed = disk_mb(folder.path())?;
        report.rows.push(seen.row(ground));
    }
    server.stop()?;
    started
}

fn address(ground: &Ground, number: usize) -> String {
    format!("box-{}@restante.test", number % ground.sizes.million_inboxes)
}

/// Creates the inboxes and fills them; when they expire.
fn fill(ground: &Ground, server: &Server, seen: &mut Seen) -> Result<Instant> {
    let sizes = ground.sizes;
    let api = Api::of(server)?;
    let smtp = &server.discovery().smtp;
    let ttl = match ground.removal {
        Removal::Expiry => ttl_for(ground, &api, smtp)?,
        Removal::Deletion => LONG_TTL,
    };
    eprintln!("filling {} inboxes that live {ttl} s", sizes.million_inboxes);
    api.create_many(sizes.million_inboxes, CREATORS, Some(ttl), |number| {
        address(ground, number)
    })?;
    let ends = stopwatch::instant() + Duration::from_secs(ttl);
    let (took, outcome) = stopwatch::time(|| filler::fill(smtp, sizes.million, |number| address(ground, number)));
    outcome?;
    #[expect(clippy::cast_precision_loss, reason = "a million")]
    let per_second = sizes.million as f64 / took.as_secs_f64();
    seen.per_second = per_second;
    seen.filled = memory_mb(server.pid(), "VmHWM")?;
    eprintln!("filled: {per_second:.0} mails/s, VmHWM {:.0} MB", seen.filled);
    Ok(ends)
}

/// A life that is long enough for all that comes before the expiry, in seconds: estimated, with a margin.
fn ttl_for(ground: &Ground, api: &Api, smtp: &str) -> Result<u64> {
    let sizes = ground.sizes;
    let sample = sizes.million.div_ceil(SAMPLE);
    let address = "sample@restante.test";
    api.create_many(1, 1, Some(LONG_TTL), |_| address.to_owned())?;
    let (took, outcome) = stopwatch::time(|| filler::fill(smtp, sample, |_| address.to_owned()));
    outcome?;
    api.connect()?
        .expect(204, "DELETE", &format!("/api/inboxes/{address}"), b"")?;
    let filling = took.as_secs() * SAMPLE as u64 * 3 / 2;
    let listing = sizes.million as u64 / 20_000;
    let starting = if ground.wants(Case::P7) {
        SHORT_TTL + sizes.rounds as u64 * 12
    } else {
        0
    };
    Ok(SHORT_TTL + filling + listing + starting)
}

/// Lists every inbox to its end; how many mails are not there.
fn list(ground: &Ground, server: &Server) -> Result<u64> {
    let api = Api::of(server)?;
    let sizes = ground.sizes;
    let expected = sizes.million.div_ceil(sizes.million_inboxes);
    let found = at_once(READERS, |reader| {
        let mut connection = api.connect()?;
        let mut found = 0;
        for number in (reader..sizes.million_inboxes).step_by(READERS) {
            found += page(&mut connection, &address(ground, number), expected.min(1000), None)?.len();
        }
        Ok(found)
    })?;
    let found: usize = found.iter().sum();
    eprintln!("listed {found} of {} mails", sizes.million);
    Ok((sizes.million as u64).saturating_sub(found as u64))
}

/// Starts on a copy of the data: after kills, and after orderly stops.
fn starts(ground: &Ground, server: &Server, folder: &TempDir, report: &mut Report) -> Result<()> {
    let copy = ground.folder()?;
    copy_stopped(server, folder, &copy)?;
    // An index in another place is made anew from the log, as after a power cut (docs/adr/0009).
    let (anew, mut server) = ground.timed_server(copy.path())?;
    let (mut after_kill, mut after_stop) = (Vec::new(), Vec::new());
    for round in 1..=ground.sizes.rounds {
        let more = ground.sizes.million.div_ceil(BEFORE_KILL);
        filler::fill(&server.discovery().smtp, more, |number| address(ground, number))?;
        server.kill();
        let (killed, started) = ground.timed_server(copy.path())?;
        started.stop()?;
        let (stopped, started) = ground.timed_server(copy.path())?;
        eprintln!("round {round}: P7: {killed:?} after a kill, {stopped:?} after a stop");
        after_kill.push(killed);
        after_stop.push(stopped);
        server = started;
    }
    server.stop()?;
    let million = ground.sizes.million;
    let name = |after: &str| format!("ready, {million} mails, after {after}");
    let anew = Figure::new(
        "once with the index made anew, as after a power cut:",
        Unit::Milliseconds,
        vec![anew.as_secs_f64() * 1e3],
    );
    report.rows.push(Row {
        behind: vec![anew],
        ..start::row(&name("kill -9"), START_GOAL, &after_kill)
    });
    report
        .rows
        .push(start::row(&name("an orderly stop"), START_GOAL, &after_stop));
    Ok(())
}

/// Copies the data of a server while its process is held: what a kill at this moment would leave.
fn copy_stopped(server: &Server, from: &TempDir, to: &TempDir) -> Result<()> {
    let signal = |name: &str| shell::run(Command::new("kill").arg(name).arg(server.pid().to_string()));
    signal("-STOP")?;
    let copied = shell::run(
        Command::new("cp")
            .arg("-a")
            .arg(from.path().join("data"))
            .arg(to.path().join("data")),
    );
    signal("-CONT")?;
    copied
}

/// Removes everything, or waits until it has expired, and until the server has no more work.
fn remove(ground: &Ground, server: &Server, ends: Instant) -> Result<()> {
    match ground.removal {
        Removal::Expiry => {
            eprintln!("waiting for the expiry");
            thread::sleep(ends.saturating_duration_since(stopwatch::instant()));
        }
        Removal::Deletion => {
            let mut connection = Api::of(server)?.connect()?;
            connection.expect(200, "DELETE", "/api/inboxes", b"")?;
        }
    }
    rest_after_removal(server)
}

/// Waits until the server has no more work; no inbox may be left then.
fn rest_after_removal(server: &Server) -> Result<()> {
    let start = stopwatch::instant();
    let (mut before, mut restful) = (processor_time(server.pid())?, 0);
    while restful < RESTFUL_SECONDS {
        ensure!(start.elapsed() < REMOVAL_PATIENCE, "the server does not come to rest");
        thread::sleep(Duration::from_secs(1));
        let now = processor_time(server.pid())?;
        restful = if now.saturating_sub(before) < REST {
            restful + 1
        } else {
            0
        };
        before = now;
    }
    let answer = Api::of(server)?
        .connect()?
        .expect(200, "GET", "/api/inboxes?limit=1", b"")?;
    let answer: Value = serde_json::from_slice(&answer)?;
    let left = answer["inboxes"].as_array().context("inboxes")?;
    ensure!(left.is_empty(), "inboxes are left: {left:?}");
    Ok(())
}

impl Seen {
    fn row(&self, ground: &Ground) -> Row {
        let end = match ground.removal {
            Removal::Expiry => "expired",
            Removal::Deletion => "deleted",
        };
        let name = format!(
            "peak, {} mails in {} inboxes filled, listed, {end}",
            ground.sizes.million, ground.sizes.million_inboxes
        );
        let memory = |name: &str, figure| Figure::new(name, Unit::Megabytes, vec![figure]);
        Row {
            behind: vec![
                memory("filled", self.filled),
                memory("listed", self.listed),
                memory("resident at the end", self.resident),
                memory("disk when filled", self.disk_filled),
                memory("disk at the end", self.disk_removed),
                Figure::new("filling", Unit::PerSecond, vec![self.per_second]),
            ],
            lost: Some(self.lost),
            ..Row::new(Case::P6, MEMORY_GOAL, memory(&name, self.removed))
        }
    }
}
