//! Developer commands: `cargo xtask <command>`.
//!
//! `ci` is what the README calls the test command; every other command is one step of it or helps while editing.

mod bench;
mod ci;
mod crash;
mod fixtures;
mod fuzz;
mod history;
mod interop;
mod load;
mod machine;
mod measured;
mod powercut;
mod probe;
mod receiver;
mod release;
mod repository;
mod server;
mod shell;
mod stopwatch;
mod tidy;
mod trial;
mod vectors;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Developer commands of restante")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Check the rules that the compiler does not know: arrows, bans, names, documents
    Tidy {
        /// Rewrite the crate table in docs/ARCHITECTURE.md from the one in code
        #[arg(long)]
        fix: bool,
    },
    /// Write tests/vectors/envelope and tests/vectors/webhook-signature from the independent builders
    Vectors {
        /// Compare instead of writing
        #[arg(long)]
        check: bool,
    },
    /// Write the messages under tests/fixtures that no editor should write by hand
    Fixtures {
        /// Compare instead of writing
        #[arg(long)]
        check: bool,
    },
    /// Build the release binaries
    Build,
    /// Run the official Python SDK and its own tests against a debug server
    Interop(interop::Options),
    /// Send hostile input to a running server, by default a debug server of this checkout
    Probe(probe::Options),
    /// Send more than there is room for to the release server: large mails, slow clients, resets
    Load(load::Options),
    /// Measure the release server beside Postfix smtp-sink, with smtp-source as the load
    Bench(bench::Options),
    /// Kill the server at random points under load and compare with what clients were told
    Crash(crash::Options),
    /// Let clients share inboxes, and look for one order that explains what they saw
    History(history::Options),
    /// Cut the power of the disk in the middle of a load and compare with what clients were told
    Powercut(powercut::Options),
    /// Run the fuzz targets under libFuzzer; needs a nightly compiler and cargo-fuzz
    Fuzz(fuzz::Options),
    /// Run everything that must pass before a change lands
    Ci,
}

fn main() -> ExitCode {
    match run(&Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: &Command) -> Result<()> {
    match command {
        Command::Tidy { fix: true } => tidy::fix(),
        Command::Tidy { fix: false } => tidy::run(),
        Command::Vectors { check } => vectors::run(*check),
        Command::Fixtures { check } => fixtures::run(*check),
        Command::Build => release::run(),
        Command::Interop(options) => interop::run(options),
        Command::Probe(options) => probe::run(options),
        Command::Load(options) => load::run(options),
        Command::Bench(options) => bench::run(options),
        Command::Crash(options) => crash::run(options),
        Command::History(options) => history::run(options),
        Command::Powercut(options) => powercut::run(options),
        Command::Fuzz(options) => fuzz::run(options),
        Command::Ci => ci::run(),
    }
}
