//! P11: a server with a million inboxes beside one without, round by round.

use std::time::Duration;

use anyhow::Result;
use tempfile::TempDir;

use super::api::Api;
use super::case::Case;
use super::figures::{Figure, Goal, Row, Unit, Waits};
use super::ground::Ground;
use super::latency::Watched;
use super::lists::{self, Full, Wait};
use super::report::Report;
use crate::server::Server;
use crate::stopwatch;

/// No figure may change by more.
const GOAL: Goal = Goal::AtMost(2.0);
/// Connections that create the inboxes.
const CREATORS: usize = 64;
/// A life that outlasts the measurement, in seconds.
const TTL: u64 = 604_800;

/// A server with all that is measured on it.
struct Side {
    folder: TempDir,
    server: Server,
    watched: Watched,
    full: Full,
    rounds: Vec<Seen>,
    lost: u64,
}

/// What one round saw of one side.
struct Seen {
    told: Waits,
    lists: lists::Seen,
}

/// Both sides, round by round; at last they start again and again.
pub(super) fn run(ground: &Ground, report: &mut Report) -> Result<()> {
    let mut sides = [
        Side::with_inboxes(ground, 0)?,
        Side::with_inboxes(ground, ground.sizes.empty_inboxes)?,
    ];
    for _ in 0..ground.sizes.rounds {
        for side in &mut sides {
            side.measure(ground)?;
        }
    }
    let [without, with] = &sides;
    let lost = with.lost + with.full.lost()?;
    report.rows.extend(rows(without, with, lost));
    report.rows.push(starts(ground, sides)?);
    Ok(())
}

/// A row for each thing that was measured on both.
fn rows(without: &Side, with: &Side, lost: u64) -> Vec<Row> {
    let mut rows = vec![
        row("end of DATA to event, p50", without, with, |seen| seen.told.p50_ms),
        row("end of DATA to event, p99", without, with, |seen| seen.told.p99_ms),
    ];
    for Wait { name, of, .. } in lists::WAITS {
        rows.push(row(&format!("{name}, p50"), without, with, |seen| {
            of(&seen.lists).p50_ms
        }));
    }
    for row in &mut rows {
        row.lost = Some(lost);
    }
    // More is better here, so that the ratio is turned round: the time of one.
    rows.push(row("a new inbox", without, with, |seen| {
        1e3 / seen.lists.created_per_second
    }));
    rows
}

fn row(name: &str, without: &Side, with: &Side, of: impl Fn(&Seen) -> f64) -> Row {
    let figures = |side: &Side| side.rounds.iter().map(&of).collect::<Vec<f64>>();
    compared(name, figures(without), figures(with))
}

fn compared(name: &str, without: Vec<f64>, with: Vec<f64>) -> Row {
    let ratios = with.iter().zip(&without).map(|(with, without)| with / without);
    let judged = Figure::new(format!("{name}, with to without"), Unit::Ratio, ratios.collect());
    Row {
        behind: vec![
            Figure::new("without", Unit::Milliseconds, without),
            Figure::new("with", Unit::Milliseconds, with),
        ],
        ..Row::new(Case::P11, GOAL, judged)
    }
}

/// The starts of both sides, after orderly stops.
fn starts(ground: &Ground, sides: [Side; 2]) -> Result<Row> {
    let mut took = [Vec::new(), Vec::new()];
    let mut folders = Vec::new();
    for side in sides {
        side.server.stop()?;
        folders.push(side.folder);
    }
    for _ in 0..ground.sizes.rounds {
        for (folder, took) in folders.iter().zip(&mut took) {
            let (start, server) = ground.timed_server(folder.path())?;
            took.push(start.as_secs_f64() * 1e3);
            server.stop()?;
        }
    }
    let [without, with] = took;
    Ok(compared("ready after an orderly stop", without, with))
}

impl Side {
    /// A server with so many empty inboxes, a full one and a watched one.
    fn with_inboxes(ground: &Ground, inboxes: usize) -> Result<Self> {
        let folder = ground.folder()?;
        let server = ground.server(folder.path())?;
        let (took, outcome) = stopwatch::time(|| create(&server, inboxes));
        outcome?;
        if inboxes > 0 {
            eprintln!("P11: {inboxes} inboxes in {:.0} s", took.as_secs_f64());
        }
        Ok(Self {
            watched: Watched::new(&server)?,
            full: Full::fill(&server, ground.sizes.listed)?,
            folder,
            server,
            rounds: Vec::new(),
            lost: 0,
        })
    }

    fn measure(&mut self, ground: &Ground) -> Result<()> {
        let told = self.watched.measure(&self.server, ground.sizes.paced_mails / 2)?;
        self.lost += told.lost;
        self.rounds.push(Seen {
            told: told.waits,
            lists: self.full.measure(ground)?,
        });
        Ok(())
    }
}

/// Creates empty inboxes, with a line of progress for each tenth.
fn create(server: &Server, inboxes: usize) -> Result<()> {
    let api = Api::of(server)?;
    let tenth = inboxes.div_ceil(10).max(1);
    for begin in (0..inboxes).step_by(tenth) {
        let count = tenth.min(inboxes - begin);
        let (took, outcome) = stopwatch::time(|| {
            api.create_many(count, CREATORS, Some(TTL), |number| {
                format!("empty-{}@restante.test", begin + number)
            })
        });
        outcome?;
        progress(begin + count, inboxes, count, took);
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "a million")]
fn progress(done: usize, all: usize, count: usize, took: Duration) {
    eprintln!("{done} of {all} inboxes, {:.0}/s", count as f64 / took.as_secs_f64());
}
