//! The `restante` command: what it was started with goes in, an exit code comes out.
//!
//! Modules, in reading order: `args`, `config`, `context`, `commands`, `attachments`; `keystore`; `output`; `failure`;
//! `thread`.

mod args;
mod attachments;
mod commands;
mod config;
mod context;
mod failure;
mod keystore;
mod output;
mod thread;

use std::process::ExitCode;

use clap::Parser as _;

use self::args::Arguments;
use self::config::Environment;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match thread::start(arguments, Environment::of_this_process()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(report) => report.say(),
    }
}
