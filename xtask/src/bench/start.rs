//! P7 with nothing: from the start of the process to the answer that it is ready.

use std::time::Duration;

use anyhow::Result;

use super::case::Case;
use super::figures::{Figure, Goal, Row, Unit};
use super::ground::Ground;
use super::report::Report;

/// In ms.
const GOAL: Goal = Goal::AtMost(100.0);

/// Starts in new folders, and again with what the first start left there.
pub(super) fn run(ground: &Ground, report: &mut Report) -> Result<()> {
    let (mut first, mut again) = (Vec::new(), Vec::new());
    for _ in 0..ground.sizes.rounds {
        let folder = ground.folder()?;
        for starts in [&mut first, &mut again] {
            let (took, server) = ground.timed_server(folder.path())?;
            starts.push(took);
            server.stop()?;
        }
    }
    report.rows.push(row("ready, the very first start", GOAL, &first));
    report.rows.push(row("ready, empty store", GOAL, &again));
    Ok(())
}

/// The row of some starts.
pub(super) fn row(name: &str, goal: Goal, starts: &[Duration]) -> Row {
    let rounds = starts.iter().map(|took| took.as_secs_f64() * 1e3).collect();
    Row::new(Case::P7, goal, Figure::new(name, Unit::Milliseconds, rounds))
}
