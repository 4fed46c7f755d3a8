//! `cargo xtask powercut`: the server on a disk that loses power in the middle of a load.
//!
//! The store lies on ext4, on a loop device, on a medium that we serve ourselves over `/dev/fuse`: so every write and
//! every flush that reaches the disk is recorded.
//! A cut is any moment of that record: what was flushed is there; of what was not, each write is there, or not, or some
//! of its sectors are. The file system replays its journal, the server starts as after a boot, and everything that was
//! acknowledged before the moment is held against the ledger, as `crash` does.
//!
//! Nearly all the time a disk waits, or all that it was told is flushed. So the moments are chosen afterwards, among the
//! positions of the record between a write and its flush: while the ledger is held nobody notes anything, and what it
//! says holds for every position that the disk reaches meanwhile.

mod fuse;
mod mount;
mod places;
mod recording;
mod report;

use std::fs::OpenOptions;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use tempfile::TempDir;

use crate::crash::home;
use crate::crash::ledger::{Ledger, Pages};
use crate::crash::load::Load;
use crate::crash::survey::{self, Depth};
use crate::crash::{INBOX_MAX, PLACES, SETTINGS};
use crate::probe::dice::Dice;
use crate::server::Server;
use crate::stopwatch;
use crate::trial::Terms;
use crate::trial::binary::Binary;
use mount::FileSystem;
use places::Places;
use recording::Recording;
use report::Figures;

/// How often, and with which dice.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Loads, with three power cuts in each
    #[arg(long, default_value_t = 30)]
    trials: u32,
    #[command(flatten)]
    terms: Terms,
}

/// The disk is small; the limit of free room is not what is tried here.
const MIN_FREE: (&str, &str) = ("SVC_STORAGE_MIN_FREE_BYTES", "16777216");
/// Power cuts of one load, each with an image of its own.
const CUTS: usize = 3;
/// Mails that are acknowledged before each cut, at least, since the cut before; then some time goes by.
const MAILS_MIN: u64 = 25;
const MORE_MAX_MS: usize = 400;
/// Looks whether enough is acknowledged, and the pause between them: 30 s.
const LOOKS: u32 = 6_000;
const PAUSE: Duration = Duration::from_millis(5);
/// For each cut the ledger is held so often and so long; the cut is where most was written and not flushed.
const HOLDS: u32 = 10;
const HOLD: Duration = Duration::from_millis(15);
const BETWEEN_HOLDS: Duration = Duration::from_millis(15);
/// The load goes on behind the last cut.
const BEHIND: Duration = Duration::from_millis(30);
const START_MAX: Duration = Duration::from_secs(5);

/// What the server is told.
fn settings() -> Vec<(&'static str, &'static str)> {
    SETTINGS.into_iter().chain([MIN_FREE]).collect()
}

/// Three loads with a fixed seed, for every change; a machine that may not mount is told so.
pub(crate) fn short() -> Result<()> {
    run(&Options {
        trials: 3,
        terms: Terms::seeded(2)?,
    })
}

/// Runs the trials, prints the figures, and writes them if asked to; any broken promise is an error.
pub(crate) fn run(options: &Options) -> Result<()> {
    ensure!(options.trials > 0, "--trials must be at least 1");
    let seed = options.terms.seed();
    let home = TempDir::new()?;
    let places = Places::in_folder(home.path())?;
    if let Err(error) = places.try_out() {
        println!("powercut: SKIPPED, as this machine may not mount: {error:#}");
        return Ok(());
    }
    let binary = options.terms.binary()?;
    eprintln!(
        "powercut: {} trials, seed {seed}, {}",
        options.trials,
        home.path().display()
    );
    let mut run = Run {
        binary,
        places,
        ledger: Ledger::new(PLACES, INBOX_MAX),
        figures: Figures::default(),
    };
    let outcome = (0..options.trials).try_for_each(|trial| {
        let done = run.trial(trial, &mut Dice::seeded(seed.wrapping_add(u64::from(trial) << 32)));
        done.with_context(|| format!("trial {trial}"))
    });
    let table = run.figures.table(&run.ledger.pages(), options.terms.build(), seed);
    println!("{table}");
    if let Err(error) = outcome {
        let kept = home.keep();
        return Err(error.context(format!(
            "powercut: seed {seed}; the images are kept in {}",
            kept.display()
        )));
    }
    options.terms.write("powercut", &table)
}

/// A run under way.
struct Run {
    binary: Binary,
    places: Places,
    ledger: Ledger,
    figures: Figures,
}

/// A moment in which the power is cut: a position of the recording, and what was known then.
struct Moment {
    position: usize,
    pages: Pages,
}

/// A while in which what is known stays the same, though the disk goes on.
struct Hold {
    /// Positions of the recording, and how many writes are not flushed there.
    unflushed: Vec<(usize, usize)>,
    pages: Pages,
}

impl Hold {
    /// The most writes that were not flushed at once.
    fn most(&self) -> usize {
        let writes = self.unflushed.iter().map(|(_, writes)| *writes);
        writes.max().unwrap_or(0)
    }
}

impl Run {
    /// Loads, cuts, and compares; the next trial goes on from the medium that the last cut left.
    fn trial(&mut self, trial: u32, dice: &mut Dice) -> Result<()> {
        self.places.keep()?;
        let (mounted, medium) = self.places.switch_on()?;
        let recording = Arc::clone(medium.recording());
        let moments = self.load(trial, &recording, dice)?;
        drop((mounted, medium));
        // What clients met behind a moment is in none of its pages.
        let met = self.ledger.pages().violations.clone();
        for (number, moment) in moments.into_iter().enumerate() {
            self.places.bring_back()?;
            let image = OpenOptions::new().write(true).open(&self.places.disk)?;
            let cut = recording.cut(moment.position, &image, dice)?;
            eprintln!("trial {trial}, cut {number}: {}; {cut:?}", moment.pages.tally);
            self.figures.add(cut);
            self.ledger = Ledger::of(moment.pages);
            self.ledger.pages().violations.clone_from(&met);
            self.compare(dice).with_context(|| format!("cut {number}"))?;
        }
        self.figures.trials += 1;
        Ok(())
    }

    /// Lets clients work; the moments of the cuts, in order.
    fn load(&self, trial: u32, recording: &Recording, dice: &mut Dice) -> Result<Vec<Moment>> {
        let server = Server::start(self.binary.path(), &self.places.home, &settings())?;
        let load = Load::on(&server, &self.ledger)?;
        let mut moments_dice = dice.split();
        load.run(
            &self.ledger,
            dice,
            &format!("cut-{trial}"),
            || {
                let moments = (0..CUTS).map(|_| self.moment(recording, &mut moments_dice)).collect();
                thread::sleep(BEHIND);
                moments
            },
            || server.kill(),
        )
    }

    /// Waits until enough is acknowledged, and chooses a moment between a write and its flush.
    fn moment(&self, recording: &Recording, dice: &mut Dice) -> Result<Moment> {
        let enough = self.ledger.pages().tally.mails + MAILS_MIN;
        let mut looks = 0;
        while self.ledger.pages().tally.mails < enough {
            ensure!(looks < LOOKS, "the server acknowledges too little");
            looks += 1;
            thread::sleep(PAUSE);
        }
        thread::sleep(Duration::from_millis(dice.below(MORE_MAX_MS) as u64));
        let holds: Vec<Hold> = (0..HOLDS).filter_map(|_| self.hold(recording)).collect();
        let most = holds.into_iter().max_by_key(Hold::most);
        let hold = most.context("the server writes nothing")?;
        let (position, _) = hold.unflushed[dice.below(hold.unflushed.len())];
        Ok(Moment {
            position,
            pages: hold.pages,
        })
    }

    /// Holds the ledger, so that nobody begins or notes anything; `None` if the disk had nothing to flush meanwhile.
    fn hold(&self, recording: &Recording) -> Option<Hold> {
        thread::sleep(BETWEEN_HOLDS);
        let pages = self.ledger.pages();
        let first = recording.position();
        thread::sleep(HOLD);
        let unflushed = recording.unflushed(first..=recording.position());
        (!unflushed.is_empty()).then(|| Hold {
            unflushed,
            pages: pages.clone(),
        })
    }

    /// Starts on what the cut left, compares everything, and lets the server's own tool look at every byte.
    fn compare(&mut self, dice: &mut Dice) -> Result<()> {
        let _mounted = FileSystem::mount(&self.places.disk, &self.places.home).context("the file system is damaged")?;
        home::boot(&self.places.home)?;
        let start = || Server::start(self.binary.path(), &self.places.home, &settings());
        let (took, server) = stopwatch::time(start);
        let server = server.context("it does not open without help")?;
        ensure!(took < START_MAX, "ready only after {took:?}");
        self.figures.longest_start = took.max(self.figures.longest_start);
        survey::compare(&server, &self.ledger, Depth::All, dice)?;
        server.stop()?;
        self.binary.verify(&self.places.home)?;
        self.figures.verified += 1;
        Ok(())
    }
}
