//! `cargo xtask powercut`: the server on a disk that loses power in the middle of a load.
//!
//! The store lies on ext4, on a loop device, on a medium that we serve ourselves over `/dev/fuse`: so every write and
//! every flush that reaches the disk is recorded.
//! A cut is any moment of that record: what was flushed is there; of what was not, each write is there, or not, or some
//! of its sectors are. The file system replays its journal, the server starts as after a boot, and everything that was
//! acknowledged before the moment is held against the ledger, as `crash` does.

mod fuse;
mod mount;
mod recording;

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use tempfile::TempDir;

use crate::crash::ledger::{Ledger, Pages};
use crate::crash::load::Load;
use crate::crash::server::{self, Binary, INBOX_MAX};
use crate::crash::survey::{self, Depth};
use crate::crash::{DOCUMENT, PLACES, report};
use crate::probe::dice::Dice;
use crate::server::Server;
use crate::{bench, measured, stopwatch};
use fuse::Medium;
use mount::{FileSystem, run as command};
use recording::Cut;

/// How often, and with which dice.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Power cuts, each in the middle of a load
    #[arg(long, default_value_t = 30)]
    trials: u32,
    /// Repeats the dice of a run; how threads and the disk interleave is not repeated
    #[arg(long)]
    seed: Option<u64>,
    /// Use the release server instead of the debug one
    #[arg(long)]
    release: bool,
    /// Use this binary, which is there already, instead of building one
    #[arg(long, conflicts_with = "release")]
    server: Option<PathBuf>,
    /// Write the table into docs/RELIABILITY.md
    #[arg(long)]
    write: bool,
}

const DISK_BYTES: u64 = 1 << 30;
/// The disk is small; the limit of free room is not what is tried here.
const MIN_FREE: (&str, &str) = ("SVC_STORAGE_MIN_FREE_BYTES", "16777216");
/// A load goes on for so long before the cut, and a little behind it.
const BEFORE_MAX_MS: usize = 1_500;
const BEHIND: Duration = Duration::from_millis(30);
const START_MAX: Duration = Duration::from_secs(5);

/// Two cuts with a fixed seed, for every change; a machine that may not mount is told so.
pub(crate) fn short() -> Result<()> {
    run(&Options {
        trials: 2,
        seed: Some(2),
        release: false,
        server: None,
        write: false,
    })
}

/// Runs the trials, prints the figures, and writes them if asked to; any broken promise is an error.
pub(crate) fn run(options: &Options) -> Result<()> {
    ensure!(options.trials > 0, "--trials must be at least 1");
    let seed = options.seed.unwrap_or_else(|| stopwatch::since_epoch().as_secs());
    let home = TempDir::new()?;
    let places = Places::in_folder(home.path())?;
    if let Err(error) = places.try_out() {
        println!("powercut: SKIPPED, as this machine may not mount: {error:#}");
        return Ok(());
    }
    let binary = Binary::chosen(options.server.as_deref(), options.release)?;
    let mut settings = binary.settings()?;
    settings.push(MIN_FREE);
    eprintln!(
        "powercut: {} trials, seed {seed}, {}",
        options.trials,
        home.path().display()
    );
    let mut run = Run {
        binary,
        settings,
        places,
        ledger: Ledger::new(PLACES, INBOX_MAX),
        figures: Figures::default(),
    };
    let outcome = (0..options.trials).try_for_each(|trial| {
        let done = run.trial(trial, &mut Dice::seeded(seed.wrapping_add(u64::from(trial) << 32)));
        done.with_context(|| format!("trial {trial}"))
    });
    let table = run.table(options, seed);
    println!("{table}");
    if let Err(error) = outcome {
        let kept = home.keep();
        return Err(error.context(format!(
            "powercut: seed {seed}; the images are kept in {}",
            kept.display()
        )));
    }
    if options.write {
        let text = format!("{}\n{table}", bench::machine_facts()?);
        measured::write(DOCUMENT, "cargo xtask powercut --write", &text)?;
    }
    Ok(())
}

/// Files and mount points.
struct Places {
    /// The medium as it is.
    disk: PathBuf,
    /// The medium as it was when the power was switched on; after a cut, as it was left.
    cut: PathBuf,
    /// Where the medium is served.
    medium: PathBuf,
    /// Where the file system is mounted.
    home: PathBuf,
}

impl Places {
    fn in_folder(folder: &Path) -> Result<Self> {
        let [disk, cut, medium, home] = ["disk.img", "cut.img", "medium", "home"].map(|name| folder.join(name));
        fs::create_dir(&medium)?;
        fs::create_dir(&home)?;
        File::create(&disk)?.set_len(DISK_BYTES)?;
        Ok(Self {
            disk,
            cut,
            medium,
            home,
        })
    }

    /// Makes the file system and mounts it once, as every trial does.
    fn try_out(&self) -> Result<()> {
        let mut make = Command::new("mkfs.ext4");
        command(make.args(["-q", "-F", "-E", "nodiscard"]).arg(&self.disk))?;
        let medium = Medium::of(&self.disk, &self.medium)?;
        let _mounted = FileSystem::mount(medium.file(), &self.home)?;
        Ok(())
    }

    /// Keeps the medium as it is now.
    fn keep(&self) -> Result<()> {
        command(Command::new("cp").arg("--sparse=always").args([&self.disk, &self.cut]))?;
        Ok(())
    }
}

/// What the trials came to.
#[derive(Debug, Default)]
struct Figures {
    trials: u32,
    cut: Cut,
    longest_start: Duration,
}

/// A run under way.
struct Run {
    binary: Binary,
    settings: Vec<(&'static str, &'static str)>,
    places: Places,
    ledger: Ledger,
    figures: Figures,
}

impl Run {
    /// Loads, cuts, and compares; the next trial goes on from the medium that the cut left.
    fn trial(&mut self, trial: u32, dice: &mut Dice) -> Result<()> {
        self.places.keep()?;
        let medium = Medium::of(&self.places.disk, &self.places.medium)?;
        let mounted = FileSystem::mount(medium.file(), &self.places.home)?;
        let (position, pages) = self.load(trial, &medium, dice)?;
        let image = OpenOptions::new().write(true).open(&self.places.cut)?;
        let cut = medium.recording().cut(position, &image, dice)?;
        drop((mounted, medium));
        fs::rename(&self.places.cut, &self.places.disk)?;
        eprintln!("trial {trial}: {}; {cut:?}", pages.tally);
        self.figures.cut.add(cut);
        self.ledger = Ledger::of(pages);
        self.compare(dice)?;
        self.figures.trials += 1;
        Ok(())
    }

    /// Lets clients work; the moment of the cut, and what was known at that moment.
    fn load(&self, trial: u32, medium: &Medium, dice: &mut Dice) -> Result<(usize, Pages)> {
        let server = Server::start(self.binary.path(), &self.places.home, &self.settings)?;
        let load = Load::on(&server, &self.ledger, &self.settings)?;
        let before = Duration::from_millis(dice.below(BEFORE_MAX_MS) as u64);
        let name = format!("cut-{trial}");
        let moment = load.run(
            &self.ledger,
            dice,
            &name,
            || {
                thread::sleep(before);
                // Nobody begins or notes anything while the ledger is held.
                let pages = self.ledger.pages();
                let moment = (medium.recording().position(), pages.clone());
                drop(pages);
                thread::sleep(BEHIND);
                moment
            },
            || server.kill(),
        );
        Ok(moment)
    }

    /// Starts on what the cut left and compares everything.
    fn compare(&mut self, dice: &mut Dice) -> Result<()> {
        let _mounted = FileSystem::mount(&self.places.disk, &self.places.home).context("the file system is damaged")?;
        server::boot(&self.places.home)?;
        let start = || Server::start(self.binary.path(), &self.places.home, &self.settings);
        let (took, server) = stopwatch::time(start);
        let server = server.context("it does not open without help")?;
        ensure!(took < START_MAX, "ready only after {took:?}");
        self.figures.longest_start = took.max(self.figures.longest_start);
        survey::compare(&server, &self.ledger, Depth::All, dice)?;
        server.stop()
    }

    fn table(&self, options: &Options, seed: u64) -> String {
        let (figures, pages) = (&self.figures, self.ledger.pages());
        let (cut, tally, build) = (
            &figures.cut,
            &pages.tally,
            if options.release { "release" } else { "debug" },
        );
        let [lost, returned, other] = report::counts(&pages.violations);
        let unflushed = format!("{} whole, {} torn, {} lost", cut.whole, cut.torn, cut.lost);
        let rows = [
            ("power cuts", format!("{} ({build} build, seed {seed})", figures.trials)),
            ("writes of the disk that were flushed", cut.flushed.to_string()),
            ("writes that were not", unflushed),
            ("acknowledged before the cuts: mails", tally.mails.to_string()),
            ("acknowledged: emails deleted", tally.deletions.to_string()),
            ("acknowledged: emails marked as read", tally.marks.to_string()),
            ("acknowledged: inboxes created", tally.creations.to_string()),
            ("acknowledged: inboxes deleted", tally.inbox_deletions.to_string()),
            ("lost", lost.to_string()),
            ("returned from the dead", returned.to_string()),
            ("otherwise not as promised", other.to_string()),
            ("longest start", format!("{:.2} s", figures.longest_start.as_secs_f64())),
        ];
        let row = |(name, value): (&str, String)| format!("| {name} | {value} |\n");
        let rows: String = rows.into_iter().map(row).collect();
        format!("| | |\n|---|---:|\n{rows}")
    }
}
