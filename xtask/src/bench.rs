//! `cargo xtask bench`: the release server under load from programs that we did not write, as ratios in one run.
//!
//! Load is Postfix `smtp-source`, the reference is Postfix `smtp-sink`, which accepts and discards: nothing that stores
//! can be faster. Rounds are interleaved, so that a slow moment of the machine meets all alike.

mod api;
mod load;
mod machine;
mod report;
mod witness;

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Args;
use tempfile::TempDir;

use crate::server::Server;
use crate::{release, repository, stopwatch};
use load::{Connections, Load, Sink};
use report::{Crash, Measured, Report, Row};
use witness::Witness;

/// How much to measure.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Interleaved rounds
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Mails of one measurement
    #[arg(long, default_value_t = 10_000)]
    mails: u32,
    /// Write docs/BENCHMARKS.md and docs/benchmarks.json
    #[arg(long)]
    write: bool,
}

const SESSIONS: u32 = 20;
const MAIL_BYTES: u32 = 2048;
/// Appends with a sync of their own, to know the disk.
const SYNCS: usize = 500;
/// When the server is killed after the load has begun.
const KILL_AFTER: Duration = Duration::from_millis(400);

/// What one row of the table measures.
struct Case {
    name: &'static str,
    inbox: Inbox,
    connections: Connections,
}

#[derive(Clone, Copy, PartialEq)]
enum Inbox {
    Plain,
    Encrypted,
}

const CASES: [Case; 3] = [
    Case {
        name: "plain inbox, connections kept",
        inbox: Inbox::Plain,
        connections: Connections::Kept,
    },
    Case {
        name: "encrypted inbox, connections kept",
        inbox: Inbox::Encrypted,
        connections: Connections::Kept,
    },
    Case {
        name: "plain inbox, a connection for each mail",
        inbox: Inbox::Plain,
        connections: Connections::New,
    },
];

impl Inbox {
    fn address(self) -> &'static str {
        match self {
            Self::Plain => "plain@restante.test",
            Self::Encrypted => "encrypted@restante.test",
        }
    }
}

/// Measures, prints the table, and writes it if asked to.
pub(crate) fn run(options: &Options) -> Result<()> {
    ensure!(
        options.rounds > 0 && options.mails > 0,
        "--rounds and --mails must be at least 1"
    );
    load::check_installed()?;
    release::run()?;
    let binary = repository::target()?.join("release/server");
    let (rows, peak_memory_mib) = measure(&binary, options)?;
    let report = Report {
        machine: machine::facts()?,
        mails: options.mails,
        rounds: options.rounds,
        sync_us: sync_median_us()?,
        rows,
        peak_memory_mib,
        crashes: [Inbox::Plain, Inbox::Encrypted]
            .into_iter()
            .map(|inbox| crash(&binary, inbox, options.mails))
            .collect::<Result<_>>()?,
    };
    println!("{}", report.table());
    if options.write { report.write() } else { Ok(()) }
}

/// What figures are measured on, one line a fact.
pub(crate) fn machine_facts() -> Result<String> {
    Ok(machine::facts()?.lines())
}

/// All cases beside the reference, round by round, and the server's peak memory in MiB.
fn measure(binary: &Path, options: &Options) -> Result<(Vec<Row>, u64)> {
    let folder = TempDir::new()?;
    let server = Server::start(binary, folder.path(), &[])?;
    let api = api::Api::of(&server)?;
    api.create_plain(Inbox::Plain.address())?;
    api.create_encrypted(Inbox::Encrypted.address())?;
    let sink = Sink::start()?;
    let mut rows: Vec<_> = CASES.iter().map(|case| Row::new(case.name)).collect();
    for round in 0..options.rounds {
        for (case, row) in CASES.iter().zip(&mut rows) {
            let load = |target: &str| Load {
                target: target.to_owned(),
                recipient: case.inbox.address(),
                mails: options.mails,
                connections: case.connections,
            };
            let reference = load(&sink.address).run()?;
            let ours = load(&server.discovery().smtp).run()?;
            row.rounds.push(Measured { ours, reference });
            eprintln!(
                "round {}: {}: {ours:.0} mails/s, smtp-sink {reference:.0}",
                round + 1,
                case.name
            );
        }
    }
    let sent = |inbox: Inbox| {
        let cases = CASES.iter().filter(|case| case.inbox == inbox).count();
        u64::from(options.mails) * (cases * options.rounds) as u64
    };
    for (case, row) in CASES.iter().zip(&mut rows) {
        row.lost = sent(case.inbox).saturating_sub(api.ids(case.inbox.address())?.len() as u64);
    }
    let peak_memory_mib = machine::peak_memory_mib(server.pid())?;
    server.stop()?;
    Ok((rows, peak_memory_mib))
}

/// Kills the server in the middle of the load and counts after a restart what was acknowledged before.
fn crash(binary: &Path, inbox: Inbox, mails: u32) -> Result<Crash> {
    let folder = TempDir::new()?;
    let server = Server::start(binary, folder.path(), &[])?;
    let api = api::Api::of(&server)?;
    match inbox {
        Inbox::Plain => api.create_plain(inbox.address())?,
        Inbox::Encrypted => api.create_encrypted(inbox.address())?,
    }
    let witness = Witness::before(server.discovery().smtp.clone())?;
    let load = Load {
        target: witness.address.clone(),
        recipient: inbox.address(),
        mails,
        connections: Connections::Kept,
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(KILL_AFTER);
            server.kill();
        });
        load.run_until_cut()
    })?;
    let acknowledged = witness.acknowledged();
    let server = Server::start(binary, folder.path(), &[])?;
    let present = api::Api::of(&server)?.ids(inbox.address())?;
    server.stop()?;
    let name = if inbox == Inbox::Plain { "plain" } else { "encrypted" };
    Ok(Crash {
        name,
        acknowledged: acknowledged.len(),
        listed: present.len(),
        lost: acknowledged.difference(&present).count(),
    })
}

/// The median of one append of a mail's size and its `fdatasync`, in microseconds.
fn sync_median_us() -> Result<f64> {
    let folder = TempDir::new()?;
    let mut file = File::create(folder.path().join("appended"))?;
    let mail = vec![b'x'; MAIL_BYTES as usize];
    let mut took = Vec::with_capacity(SYNCS);
    for _ in 0..SYNCS {
        let (time, outcome) = stopwatch::time(|| file.write_all(&mail).and_then(|()| file.sync_data()));
        outcome.context("cannot write where the server would")?;
        took.push(time.as_secs_f64() * 1e6);
    }
    Ok(report::median(&mut took))
}
