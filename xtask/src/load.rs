//! `cargo xtask load`: the limits that need a release server and a crowd of clients; too heavy for every change.
//!
//! Each row has a server of its own, so that its peak of memory is the row's.

mod abandoned;
mod crowd;
mod flood;
mod letter;
mod report;

use anyhow::{Result, bail};
use clap::Args;
use tempfile::TempDir;

use crate::probe::target::Target;
use crate::server::Server;
use crate::{probe, release, repository};

/// What to run.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Only rows whose name contains this
    #[arg(long)]
    only: Option<String>,
    /// Write the table into docs/TESTING.md
    #[arg(long)]
    write: bool,
}

/// A row of the table: a server with settings, and what is done to it.
struct Case {
    name: &'static str,
    /// What must hold, in words.
    limit: &'static str,
    settings: &'static [(&'static str, &'static str)],
    run: fn(&Target) -> Result<String>,
}

/// The budget of R3.
const BUDGET: (&str, &str) = ("SVC_SMTP_MAX_INFLIGHT_BYTES", "134217728");

const CASES: &[Case] = &[
    Case {
        name: "R3 50 senders of 25 MB, plain inbox, budget 128 MiB",
        limit: "250 or 452 4.3.1, all delivered and read back equal, VmHWM under 256 MB",
        settings: &[BUDGET],
        run: flood::plain,
    },
    Case {
        name: "R3 50 senders of 25 MB, encrypted inbox, budget 128 MiB",
        limit: "250 or 452 4.3.1, all delivered and read back whole, VmHWM under 256 MB",
        settings: &[BUDGET],
        run: flood::encrypted,
    },
    Case {
        name: "R1 2,000 slow clients beside a good one",
        limit: "the median of the good one's mails rises by less than 50 ms",
        settings: &[],
        run: crowd::run,
    },
    Case {
        name: "S5 64 MB without a line end",
        limit: "one 500, VmHWM rises by less than 1 MB",
        settings: &[],
        run: probe::endless_line,
    },
    Case {
        name: "R3 1,000 resets in the middle of 1 MB",
        limit: "nothing stored, VmRSS rises by less than 16 MB",
        settings: &[],
        run: abandoned::run,
    },
];

/// The names of all rows, for those who refer to them.
pub(crate) fn names() -> impl Iterator<Item = String> {
    CASES.iter().map(|case| case.name.to_owned())
}

/// Builds the release server, runs the rows, prints the table, and writes it if asked to.
pub(crate) fn run(options: &Options) -> Result<()> {
    release::run()?;
    raise_open_files()?;
    let chosen = |case: &&Case| options.only.as_ref().is_none_or(|only| case.name.contains(only));
    let rows: Vec<report::Row> = CASES.iter().filter(chosen).map(row).collect();
    let table = report::table(&rows);
    println!("{table}");
    if options.write {
        report::write(&table)?;
    }
    match rows.iter().filter(|row| row.seen.is_err()).count() {
        0 => Ok(()),
        failed => bail!("load: {failed} row(s) failed"),
    }
}

fn row(case: &Case) -> report::Row {
    eprintln!("== {}", case.name);
    let seen = serve(case);
    match &seen {
        Ok(text) => eprintln!("ok: {text}"),
        Err(error) => eprintln!("FAILED: {error:#}"),
    }
    report::Row {
        name: case.name,
        limit: case.limit,
        seen,
    }
}

/// A server for the row, which must also stop in order.
fn serve(case: &Case) -> Result<String> {
    let home = TempDir::new()?;
    let server = Server::start(
        &repository::target()?.join("release/server"),
        home.path(),
        case.settings,
    )?;
    let seen = (case.run)(&Target::local(&server)?);
    server.stop()?;
    seen
}

/// Every slow client is a file of this process.
fn raise_open_files() -> Result<()> {
    let pid = std::process::id().to_string();
    let mut raise = std::process::Command::new("prlimit");
    crate::shell::run(raise.args(["--pid", &pid, "--nofile=8192:"]))
}
