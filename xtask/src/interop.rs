//! `cargo xtask interop`: programs that we did not write, unchanged, against our debug server and our command line.
//!
//! The official Python SDK of the peer walks through scripts of ours and through its own tests; a library of Standard
//! Webhooks judges deliveries.

mod distribution;
mod environment;
mod junit;
mod suite;
mod summary;
mod walks;

use anyhow::Result;

use crate::shell;

/// What to do with what it comes to.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Write what the SDK's own tests came to into docs/INTEROP.md
    #[arg(long)]
    write: bool,
}

/// Builds the debug server and the command line, and walks.
pub(crate) fn run(options: &Options) -> Result<()> {
    let packages = ["--package", "restante-server", "--package", "restante-cli"];
    shell::run(shell::cargo(["build"]).args(packages))?;
    let python = environment::prepare()?;
    walks::run(&python)?;
    let outcome = suite::run(&python)?;
    if options.write {
        summary::write(&python, &outcome)?;
    }
    outcome.check()
}

/// The same with what was built, and nothing is written.
pub(crate) fn walk() -> Result<()> {
    let python = environment::prepare()?;
    walks::run(&python)?;
    suite::run(&python)?.check()
}
