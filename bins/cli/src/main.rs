//! The `restante` command: what it was started with goes in, an exit code comes out.
//!
//! Modules, in reading order: `args`, `config`, `context`, `commands`, `attachments`; `keystore`; `output`; `failure`.

mod args;
mod attachments;
mod commands;
mod config;
mod context;
mod failure;
mod keystore;
mod output;

use std::process::ExitCode;

use clap::Parser as _;

use self::args::Arguments;
use self::config::Environment;
use self::failure::{Failure, Report};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match start(arguments, &Environment::of_this_process()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(report) => report.say(),
    }
}

fn start(arguments: Arguments, environment: &Environment) -> Result<(), Report> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::Output)?;
    let done = runtime.block_on(async {
        tokio::select! {
            biased;
            _ = tokio::signal::ctrl_c() => Err(Failure::Interrupted.into()),
            done = commands::run(arguments, environment) => done,
        }
    });
    // A question that nobody answers must not hold the end up.
    runtime.shutdown_background();
    done
}
