//! The `restante` command: what it was started with goes in, an exit code comes out.
//!
//! Modules, in reading order: `args`, `config`, `context`, `commands`; `keystore`; `output`; `failure`.

mod args;
mod commands;
mod config;
mod context;
mod failure;
mod keystore;
mod output;

use std::process::ExitCode;

use clap::Parser as _;

use self::args::Arguments;
use self::failure::Failure;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match start(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn start(arguments: Arguments) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::Output)?;
    runtime.block_on(async {
        tokio::select! {
            biased;
            _ = tokio::signal::ctrl_c() => Err(Failure::Interrupted),
            done = commands::run(arguments) => done,
        }
    })
}
