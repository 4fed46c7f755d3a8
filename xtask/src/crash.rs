//! `cargo xtask crash`: the server is killed at random points under load, again and again, on one data directory.
//!
//! After each start everything that the server shows is held against a ledger of what clients were told: what was
//! acknowledged is there as it was, what is gone stays gone, and what was never answered has happened or not, for good.
//! The ledger knows the server by its sockets only.

pub(crate) mod home;
mod hook;
pub(crate) mod ledger;
pub(crate) mod load;
pub(crate) mod message;
pub(crate) mod report;
pub(crate) mod survey;

use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;
use tempfile::TempDir;

use crate::probe::dice::Dice;
use crate::server::Server;
use crate::stopwatch;
use crate::trial::Terms;
use crate::trial::binary::Binary;
use hook::Hook;
use ledger::Ledger;
use load::Load;
use report::Report;
use survey::Depth;

/// How often, and with which dice.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Rounds, each of a start, a load and an end
    #[arg(long, default_value_t = 30)]
    rounds: u32,
    #[command(flatten)]
    terms: Terms,
}

/// Places for inboxes.
pub(crate) const PLACES: usize = 13;
/// Emails of one inbox, at most; only the flooded one is sent more.
pub(crate) const INBOX_MAX: usize = 200;
/// What the server is told.
pub(crate) const SETTINGS: [(&str, &str); 2] = [("SVC_INBOX_MAX_EMAILS", "200"), ("SVC_WEBHOOK_ALLOW_HTTP", "true")];
/// A start may take so long, whatever the end before it left (D2).
const START_MAX: Duration = Duration::from_secs(5);
/// So many rounds last longer than the inboxes that are left to expire.
const EXPIRY_MET_ROUNDS: u32 = 200;
/// A load lasts at most so long.
const LOAD_MAX_MS: usize = 1_500;
/// A start that is interrupted goes on for at most so long.
const START_CUT_MAX_US: usize = 150_000;

/// The address of a place.
pub(crate) fn address(place: usize) -> String {
    format!("place{place}@restante.test")
}

/// A few rounds with a fixed seed, for every change.
pub(crate) fn short() -> Result<()> {
    run(&Options {
        rounds: 10,
        terms: Terms::seeded(4)?,
    })
}

/// Runs the rounds, prints the figures, and writes them if asked to; any broken promise is an error.
pub(crate) fn run(options: &Options) -> Result<()> {
    ensure!(options.rounds > 0, "--rounds must be at least 1");
    let seed = options.terms.seed();
    let home = TempDir::new()?;
    eprintln!(
        "crash: {} rounds, seed {seed}, {}",
        options.rounds,
        home.path().display()
    );
    let mut run = Run {
        binary: options.terms.binary()?,
        home: home.path(),
        ledger: Ledger::new(PLACES, INBOX_MAX),
        segments: Vec::new(),
        hook: None,
        report: Report {
            build: options.terms.build(),
            seed,
            ..Report::default()
        },
    };
    let outcome = (0..options.rounds).try_for_each(|round| {
        let done = run.round(round, &mut Dice::seeded(seed.wrapping_add(u64::from(round) << 32)));
        done.with_context(|| format!("round {round}"))
    });
    let outcome = outcome.and_then(|()| run.last(&mut Dice::seeded(seed)));
    let report = run.finish();
    println!("{}", report.table());
    if let Err(error) = outcome {
        let kept = home.keep();
        return Err(error.context(format!(
            "crash: seed {seed}, {} rounds done; the data is kept in {}",
            report.rounds,
            kept.display()
        )));
    }
    ensure!(
        report.rounds < EXPIRY_MET_ROUNDS || report.tally.expiries > 0,
        "crash: seed {seed}: no inbox expired, so nothing is said of that"
    );
    options.terms.write("crash", &report.table())
}

/// A run under way.
struct Run<'a> {
    binary: Binary,
    home: &'a Path,
    ledger: Ledger,
    /// Numbers of the segments that were there last.
    segments: Vec<u64>,
    /// From the first start on.
    hook: Option<Hook>,
    report: Report,
}

impl Run<'_> {
    /// Starts, compares, loads, ends, and perhaps ends the next starts as well.
    fn round(&mut self, round: u32, dice: &mut Dice) -> Result<()> {
        let server = self.start()?;
        match &mut self.hook {
            Some(hook) => hook.listen(),
            None => self.hook = Some(Hook::on(&server)?),
        }
        survey::compare(&server, &self.ledger, Depth::New, dice)?;
        self.work(server, &round.to_string(), dice)?;
        for _ in 0..dice.below(3) {
            let after = Duration::from_micros(dice.below(START_CUT_MAX_US) as u64);
            Server::interrupt(self.binary.path(), self.home, &SETTINGS, after)?;
            self.report.interrupted += 1;
        }
        if dice.below(4) == 0 {
            home::forget_index(self.home)?;
            self.report.rebuilds += 1;
        }
        self.report.rounds += 1;
        eprintln!("round {round}: {}", self.ledger.pages().tally);
        Ok(())
    }

    /// After the last round everything is compared, to the last byte, and the server's own tool finds nothing wrong.
    fn last(&mut self, dice: &mut Dice) -> Result<()> {
        let server = self.start()?;
        survey::compare(&server, &self.ledger, Depth::All, dice)?;
        self.told()?;
        server.stop()?;
        self.binary.verify(self.home)
    }

    /// Every event of what was acknowledged has reached the webhook by now, or does so within its patience.
    fn told(&mut self) -> Result<()> {
        let Some(hook) = &mut self.hook else { return Ok(()) };
        let promised = self.ledger.pages().events.clone();
        let lost = hook.settle(&promised);
        self.report.events = promised.len();
        self.report.deliveries = hook.deliveries;
        self.report.repeated = hook.repeated();
        let Some(lost) = lost else { return Ok(()) };
        let text = lost.to_string();
        self.ledger.pages().violations.push(lost);
        bail!("{text}")
    }

    fn start(&mut self) -> Result<Server> {
        let is_rebuilt = !home::has_index(self.home);
        let (took, server) = stopwatch::time(|| Server::start(self.binary.path(), self.home, &SETTINGS));
        let longest = if is_rebuilt {
            &mut self.report.longest_rebuild
        } else {
            &mut self.report.longest_start
        };
        *longest = took.max(*longest);
        let server = server.context("it does not open without help")?;
        ensure!(took < START_MAX, "ready only after {took:?}");
        Ok(server)
    }

    /// Lets clients work and ends the server among them.
    fn work(&mut self, server: Server, name: &str, dice: &mut Dice) -> Result<()> {
        let load = Load::on(&server, &self.ledger)?;
        let lasting = match dice.below(4) {
            0 => dice.below(LOAD_MAX_MS / 10),
            _ => dice.below(LOAD_MAX_MS),
        };
        let is_asked = dice.below(6) == 0;
        let mut stopped = Ok(());
        load.run(
            &self.ledger,
            dice,
            name,
            || thread::sleep(Duration::from_millis(lasting as u64)),
            || {
                if is_asked {
                    stopped = server.stop();
                } else {
                    server.kill();
                }
            },
        );
        if is_asked {
            self.report.stops += 1;
        } else {
            self.report.kills += 1;
        }
        let now = home::segment_numbers(self.home)?;
        self.report.segments_deleted += self.segments.iter().filter(|number| !now.contains(number)).count() as u64;
        self.segments = now;
        stopped
    }

    fn finish(self) -> Report {
        let pages = self.ledger.pages();
        Report {
            tally: pages.tally,
            violations: pages.violations.clone(),
            ..self.report
        }
    }
}
