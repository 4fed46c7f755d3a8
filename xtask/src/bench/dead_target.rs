//! W6: a webhook whose target is well, on a server of its own and on one with a second webhook whose target accepts
//! and never answers.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::{Result, ensure};
use tempfile::TempDir;

use super::api::{Api, Mode};
use super::case::Case;
use super::figures::{Figure, Goal, Row, Unit, Waits};
use super::ground::Ground;
use super::latency::paced;
use super::report::Report;
use super::webhooks;
use crate::machine;
use crate::receiver::{Manner, Receiver};
use crate::server::Server;

/// No wait may be longer by more than this factor.
const GOAL: Goal = Goal::AtMost(2.0);
/// In MB: as much as any load may take (P6).
const MEMORY_GOAL: Goal = Goal::AtMost(200.0);
/// So long a time-out that the dead target's webhook is never disabled for its failures.
const TIMEOUT: (&str, &str) = ("SVC_WEBHOOK_TIMEOUT", "3600000");
const ADDRESS: &str = "delivered@restante.test";
/// Between two mails: 500 a second.
const PACE: Duration = Duration::from_millis(2);
/// What has not come by then is lost.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server with a good webhook, and perhaps a dead one.
struct Side {
    _folder: TempDir,
    server: Server,
    good: Receiver,
    _dead: Option<Receiver>,
    waits: Vec<Waits>,
    lost: u64,
}

/// Both sides, round by round.
pub(super) fn run(ground: &Ground, report: &mut Report) -> Result<()> {
    let mut sides = [Side::new(ground, None)?, Side::new(ground, Some(Manner::Dead))?];
    for round in 1..=ground.sizes.rounds {
        for (side, name) in sides.iter_mut().zip(["without", "with"]) {
            let waits = side.measure(ground.sizes.mails_beside_dead)?;
            eprintln!(
                "round {round}: W6: {name} a dead target: p50 {:.2} ms, p99 {:.2} ms",
                waits.p50_ms, waits.p99_ms
            );
        }
    }
    let [without, with] = &sides;
    report.rows.push(waits(without, with));
    report.rows.push(memory(ground, without, with)?);
    sides.into_iter().try_for_each(|side| side.server.stop())
}

/// How much longer a delivery takes beside a dead target.
fn waits(without: &Side, with: &Side) -> Row {
    let figures = |side: &Side, of: fn(&Waits) -> f64| side.waits.iter().map(of).collect::<Vec<f64>>();
    let behind = |name: &str, figures: Vec<f64>| Figure::new(name, Unit::Milliseconds, figures);
    let [p50, p99]: [fn(&Waits) -> f64; 2] = [|waits| waits.p50_ms, |waits| waits.p99_ms];
    let (without_ms, with_ms) = (figures(without, p99), figures(with, p99));
    let ratios = with_ms.iter().zip(&without_ms).map(|(with, without)| with / without);
    let name = "end of DATA to the good target, p99, with a dead one to without";
    let judged = Figure::new(name, Unit::Ratio, ratios.collect());
    Row {
        behind: vec![
            behind("without", without_ms),
            behind("with", with_ms),
            behind("p50 without", figures(without, p50)),
            behind("p50 with", figures(with, p50)),
        ],
        lost: Some(without.lost + with.lost),
        ..Row::new(Case::W6, GOAL, judged)
    }
}

fn memory(ground: &Ground, without: &Side, with: &Side) -> Result<Row> {
    let [without, with] = [without, with].map(|side| machine::memory_mb(side.server.pid(), "VmHWM"));
    let mails = ground.sizes.mails_beside_dead * ground.sizes.rounds;
    let name = format!("peak with a dead target, {mails} mails");
    Ok(Row {
        behind: vec![Figure::new("without", Unit::Megabytes, vec![without?])],
        ..Row::new(Case::W6, MEMORY_GOAL, Figure::new(name, Unit::Megabytes, vec![with?]))
    })
}

impl Side {
    fn new(ground: &Ground, dead: Option<Manner>) -> Result<Self> {
        let folder = ground.folder()?;
        let server = ground.server_with(folder.path(), &[webhooks::SETTINGS, &[TIMEOUT]].concat())?;
        let api = Api::of(&server)?;
        api.create(ADDRESS, Mode::Plain)?;
        let dead = dead.map(Receiver::start).transpose()?;
        if let Some(dead) = &dead {
            api.create_webhook(&dead.url("/dead"))?;
        }
        let good = Receiver::start(Manner::Prompt)?;
        api.create_webhook(&good.url("/good"))?;
        Ok(Self {
            _folder: folder,
            server,
            good,
            _dead: dead,
            waits: Vec::new(),
            lost: 0,
        })
    }

    /// Sends at the pace, and waits until the good target has heard of every mail.
    fn measure(&mut self, mails: usize) -> Result<Waits> {
        let ended = paced(&self.server.discovery().smtp, ADDRESS, mails, PACE)?;
        let came = self.good.take(mails, PATIENCE);
        let came: HashMap<_, _> = came.into_iter().map(|one| (one.email, one.at)).collect();
        let waits = ended
            .iter()
            .filter_map(|(id, end)| Some(came.get(id)?.saturating_duration_since(*end)));
        let waits: Vec<Duration> = waits.collect();
        ensure!(!waits.is_empty(), "nothing was delivered");
        self.lost += (ended.len() - waits.len()) as u64;
        let waits = Waits::of(&waits);
        self.waits.push(waits);
        Ok(waits)
    }
}
