//! `cargo xtask probe`: what a hostile client would send, over real sockets, to a server that knows nothing of it.
//!
//! The probe shares no code with the server: its SMTP client, its framing and its model of the protocol are its own.
//! A line is named after the rule that it shows; docs/TESTING.md maps rules to lines.

mod breaks;
mod chunks;
pub(crate) mod dice;
mod exact;
mod injection;
mod line;
mod long_lines;
mod model;
pub(crate) mod peer;
mod recipients;
mod refusals;
mod slow;
mod smuggling;
mod starttls;
mod strangers;
pub(crate) mod target;

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use tempfile::TempDir;

use crate::server::Server;
use crate::{repository, shell, stopwatch};
use line::{Line, Needs, Seen};
use target::Target;

/// What to probe.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// SMTP address of a running server, host:port; without it debug servers of this checkout are built and started
    #[arg(long, requires_all = ["http", "key"])]
    server: Option<String>,
    /// Base address of its API
    #[arg(long, requires = "server")]
    http: Option<String>,
    /// File with its API key
    #[arg(long, requires = "server")]
    key: Option<PathBuf>,
    /// Only lines whose name contains this
    #[arg(long)]
    only: Option<String>,
}

/// How a line ended, and how long it took.
struct Row {
    name: String,
    took: Duration,
    seen: Result<Seen>,
}

/// The line of S5 without end, for those who run it against another server.
pub(crate) fn endless_line(target: &Target) -> Result<String> {
    match long_lines::endless(target)? {
        Seen::Passed(text) | Seen::Skipped(text) => Ok(text),
    }
}

/// Builds the debug server, if one of our own is meant, and probes.
pub(crate) fn run(options: &Options) -> Result<()> {
    let lines: Vec<Line> = all()
        .into_iter()
        .filter(|line| options.only.as_ref().is_none_or(|only| line.name.contains(only)))
        .collect();
    ensure!(!lines.is_empty(), "no line has such a name");
    let (Some(smtp), Some(http), Some(key)) = (&options.server, &options.http, &options.key) else {
        shell::run(&mut shell::cargo(["build", "--package", "restante-server"]))?;
        return probe_our_own(&lines);
    };
    let key = fs::read_to_string(key).with_context(|| format!("cannot read {}", key.display()))?;
    let target = Target::remote(smtp, http, &key);
    let rows = run_lines(&lines, |needs| match needs {
        Needs::Any | Needs::Time => Ok(&target),
        Needs::ShortDeadlines | Needs::Certificate => Err("needs a server of our own"),
    });
    conclude(&rows)
}

/// Probes the debug server that was built.
pub(crate) fn walk() -> Result<()> {
    probe_our_own(&all())
}

/// Every line, in the order of the table.
fn all() -> Vec<Line> {
    [
        // First, while nothing else has raised the peak of memory.
        long_lines::lines(),
        smuggling::lines(),
        exact::lines(),
        refusals::lines(),
        chunks::lines(),
        recipients::lines(),
        starttls::lines(),
        strangers::lines(),
        injection::lines(),
        breaks::lines(),
        slow::lines(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The names of all lines, for those who refer to them.
pub(crate) fn names() -> Vec<String> {
    all().into_iter().map(|line| line.name).collect()
}

/// A server of ours and its home.
struct Own {
    server: Server,
    target: Target,
    _home: TempDir,
}

impl Own {
    fn start(variables: &[(&str, &str)]) -> Result<Self> {
        let home = TempDir::new()?;
        let server = Server::start(&repository::target()?.join("debug/server"), home.path(), variables)?;
        let target = Target::local(&server)?;
        Ok(Self {
            server,
            target,
            _home: home,
        })
    }
}

/// A server for each need; every line is run, then they must stop in order.
fn probe_our_own(lines: &[Line]) -> Result<()> {
    let usual = Own::start(&[])?;
    let hasty = Own::start(&slow::SHORT_DEADLINES)?;
    let certified = Own::start(&[("SVC_TLS_SELF_SIGNED", "true"), slow::SHORT_HANDSHAKE])?;
    let rows = run_lines(lines, |needs| match needs {
        Needs::Any | Needs::Time => Ok(&usual.target),
        Needs::ShortDeadlines => Ok(&hasty.target),
        Needs::Certificate => Ok(&certified.target),
    });
    conclude(&rows).inspect_err(|_| eprintln!("-- last lines of the log\n{}", usual.server.log_tail()))?;
    usual.server.stop()?;
    hasty.server.stop()?;
    certified.server.stop()
}

/// Runs all lines, those that wait by nature beside the others, and gives back how each ended, in order.
fn run_lines<'a>(lines: &[Line], target: impl Fn(Needs) -> Result<&'a Target, &'static str> + Sync) -> Vec<Row> {
    let run = |line: &Line| {
        let (took, seen) = stopwatch::time(|| match target(line.needs) {
            Ok(target) => line.run(target),
            Err(reason) => Ok(Seen::skipped(reason)),
        });
        Row {
            name: line.name.clone(),
            took,
            seen,
        }
    };
    let waits = |line: &Line| matches!(line.needs, Needs::Time | Needs::ShortDeadlines);
    thread::scope(|scope| {
        let waiting: Vec<_> = lines
            .iter()
            .filter(|line| waits(line))
            .map(|line| scope.spawn(|| run(line)))
            .collect();
        let mut rows: Vec<Row> = lines.iter().filter(|line| !waits(line)).map(run).collect();
        rows.extend(
            waiting
                .into_iter()
                .map(|thread| thread.join().expect("a line does not panic")),
        );
        rows
    })
}

/// Prints the table; a line that failed is an error.
fn conclude(rows: &[Row]) -> Result<()> {
    let failed = rows.iter().filter(|row| row.seen.is_err()).count();
    for row in rows {
        println!("{row}");
    }
    let took: Duration = rows.iter().map(|row| row.took).sum();
    println!("{} lines, {failed} failed, {:.1} s", rows.len(), took.as_secs_f64());
    if failed > 0 {
        bail!("probe: {failed} line(s) failed");
    }
    Ok(())
}

impl std::fmt::Display for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (outcome, text) = match &self.seen {
            Ok(Seen::Passed(text)) => ("ok", text.clone()),
            Ok(Seen::Skipped(text)) => ("skip", text.clone()),
            Err(error) => ("FAIL", format!("{error:#}")),
        };
        write!(
            f,
            "{outcome:<4} {:>5.1} s  {:<72}  {text}",
            self.took.as_secs_f64(),
            self.name
        )
    }
}
