//! `cargo xtask history`: clients work on the same few inboxes at once, also while the server is killed, and what they
//! saw has one order (D3).
//!
//! Each operation is noted with its interval; the checker then looks for one order, by inbox, that explains all
//! answers: those of lists, of `sync` with its hash, and of what is not found.

pub(crate) mod checker;
mod client;
mod notes;
pub(crate) mod operation;

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;
use tempfile::TempDir;

use crate::probe::dice::Dice;
use crate::server::Server;
use crate::stopwatch;
use crate::trial::Terms;
use checker::Rejection;
use client::Client;
use notes::{Notes, Page};

/// For how long, and with which dice.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// How long clients work in all, in seconds; inboxes expire from 60 on
    #[arg(long, default_value_t = 20)]
    seconds: u64,
    /// Kills of the server in between
    #[arg(long, default_value_t = 3)]
    kills: u32,
    #[command(flatten)]
    terms: Terms,
}

/// Few, so that clients meet.
const INBOXES: usize = 3;
const CLIENTS: usize = 6;
/// A history that lasts so much longer than the shortest life of an inbox must see one expire.
const EXPIRY_MET_SECS: u64 = 15;

fn address(inbox: usize) -> String {
    format!("shared{inbox}@restante.test")
}

/// A few seconds with two kills, for every change.
pub(crate) fn short() -> Result<()> {
    run(&Options {
        seconds: 15,
        kills: 2,
        terms: Terms::seeded(3)?,
    })
}

/// Lets clients work, looks for an order, prints the figures, and writes them if asked to.
pub(crate) fn run(options: &Options) -> Result<()> {
    ensure!(options.seconds > 0, "--seconds must be at least 1");
    let seed = options.terms.seed();
    eprintln!("history: {} s, {} kills, seed {seed}", options.seconds, options.kills);
    let pages = record(options, seed).with_context(|| format!("history: seed {seed}"))?;
    let (took, decided) = stopwatch::time(|| search(&pages, seed));
    eprintln!("history: searched for {:.1} s", took.as_secs_f64());
    decided?;
    let is_long = options.seconds > client::TTL.as_secs() + EXPIRY_MET_SECS;
    ensure!(
        !is_long || notes::expiries(&pages) > 0,
        "history: seed {seed}: no inbox expired, so nothing is said of that"
    );
    let table = table(options, seed, &pages);
    println!("{table}");
    options.terms.write("history", &table)
}

/// Looks for an order of each inbox; they are searched side by side.
fn search(pages: &[Page], seed: u64) -> Result<()> {
    thread::scope(|scope| {
        let search = |page: &'_ Page| checker::check(&page.operations, &page.ids);
        let searches: Vec<_> = pages.iter().map(|page| scope.spawn(move || search(page))).collect();
        for (inbox, (searched, page)) in searches.into_iter().zip(pages).enumerate() {
            let Err(rejection) = searched.join().expect("no search panics") else {
                continue;
            };
            let path = std::env::temp_dir().join(format!("history-{seed}-{inbox}.txt"));
            std::fs::write(&path, told(page))?;
            let what = match rejection {
                Rejection::Unexplained { .. } => "is not linearisable",
                Rejection::Undecided { .. } => "is UNDECIDED, as the search takes too long",
            };
            let path = path.display();
            bail!("history: seed {seed}: inbox {inbox} {what} (all of it in {path}): {rejection:#?}");
        }
        Ok(())
    })
}

/// What clients saw, by inbox.
fn record(options: &Options, seed: u64) -> Result<Vec<Page>> {
    let binary = options.terms.binary()?;
    let home = TempDir::new()?;
    let notes = Notes::new(INBOXES);
    let mut dice = Dice::seeded(seed);
    let lasting = Duration::from_secs(options.seconds) / (options.kills + 1);
    for _ in 0..options.kills {
        let server = Server::start(binary.path(), home.path(), &[])?;
        work(server, &notes, &mut dice, lasting, Last::Kill)?;
    }
    let server = Server::start(binary.path(), home.path(), &[])?;
    work(server, &notes, &mut dice, lasting, Last::Look)?;
    Ok(notes.pages())
}

/// What follows when clients have worked for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    /// The server is killed while they go on.
    Kill,
    /// They come to an end, all inboxes are listed, and the server is stopped.
    Look,
}

fn work(server: Server, notes: &Notes, dice: &mut Dice, lasting: Duration, last: Last) -> Result<()> {
    let clients: Result<Vec<_>> = (0..CLIENTS).map(|_| Client::of(&server, notes, dice.split())).collect();
    let mut looker = Client::of(&server, notes, dice.split())?;
    let is_ending = AtomicBool::new(false);
    let work = |mut client: Client<'_>| -> Result<()> {
        let has_ended = || is_ending.load(Ordering::Acquire);
        while !(last == Last::Look && has_ended()) {
            if !client.step()? {
                ensure!(has_ended(), "a client got no answer while the server lived");
                break;
            }
        }
        Ok(())
    };
    thread::scope(|scope| {
        let working: Vec<_> = clients?
            .into_iter()
            .map(|client| scope.spawn(|| work(client)))
            .collect();
        thread::sleep(lasting);
        is_ending.store(true, Ordering::Release);
        let alive = match last {
            Last::Kill => {
                server.kill();
                None
            }
            Last::Look => Some(server),
        };
        for client in working {
            client.join().expect("no client panics")?;
        }
        let Some(server) = alive else { return Ok(()) };
        for inbox in 0..INBOXES {
            ensure!(looker.look(inbox)?, "the last list is not answered");
        }
        server.stop()
    })
}

fn table(options: &Options, seed: u64, pages: &[Page]) -> String {
    let mut table = "| | |\n|---|---:|\n".to_owned();
    let build = options.terms.build();
    let _ = writeln!(table, "| seconds | {} ({build} build, seed {seed}) |", options.seconds);
    let _ = writeln!(
        table,
        "| clients, inboxes, kills | {CLIENTS}, {INBOXES}, {} |",
        options.kills
    );
    for (name, count) in notes::counts(pages) {
        let _ = writeln!(table, "| {name} | {count} |");
    }
    let _ = writeln!(table, "| inboxes expired | {} |", notes::expiries(pages));
    table.push_str("| inboxes whose history has no order | 0 |\n");
    table
}

/// A history for people, one operation a line.
fn told(page: &Page) -> String {
    let mut operations = page.operations.clone();
    operations.sort_by_key(|operation| operation.invoked);
    let line = |text: String, operation: &operation::Operation| {
        format!(
            "{text}{} {:?} {:?}\n",
            operation.invoked, operation.end, operation.action
        )
    };
    operations.iter().fold(String::new(), line)
}
