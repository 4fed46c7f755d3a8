//! `server store ...`: what an operator does with the store of a server that is not running (docs/STORE.md).
//!
//! Each command is a few lines over [`restante_storage`]; findings and results go to standard output, progress and the
//! one line of a failure to standard error.
//!
//! Modules, in reading order: [`arguments`], [`error`], [`progress`], `commands`, `moving`, `report`.

pub mod arguments;
mod commands;
pub mod error;
mod moving;
pub mod progress;
mod report;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use restante_model::Clock;

pub use arguments::StoreCommand;
pub use error::StoreCommandError;

use crate::Settings;
use crate::compose::STORE_DIR;
use progress::Console;

/// What a command takes from the process that it runs in.
#[derive(Debug)]
pub struct Surroundings<'a> {
    /// Where a verification makes indexes to compare.
    pub scratch: PathBuf,
    /// The time, for expiry and progress.
    pub clock: &'a dyn Clock,
}

/// How a command ended that did its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing to tell.
    Done,
    /// A verification found something wrong.
    Findings,
}

/// Runs a command, prints what it has to say, and gives what the process ends with: 0 when it did its work, 1 when a
/// verification found something wrong, 3 when a server or another command has the store, 4 for any other failure.
pub fn run(command: &StoreCommand, settings: &Settings, surroundings: &Surroundings<'_>) -> ExitCode {
    let mut console = Console::of_this_process(surroundings.clock);
    let ended = execute(command, settings, surroundings, &mut console);
    console.end();
    match ended {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Findings) => ExitCode::from(1),
        Err(error) => {
            eprintln!("{error}");
            error.exit_code()
        }
    }
}

fn execute(
    command: &StoreCommand,
    settings: &Settings,
    surroundings: &Surroundings<'_>,
    console: &mut Console<'_>,
) -> Result<Outcome, StoreCommandError> {
    let path = settings.data_path.join(STORE_DIR);
    let mut outcome = Outcome::Done;
    match command {
        StoreCommand::Verify => outcome = commands::verify(&path, &surroundings.scratch, console)?,
        StoreCommand::Rebuild {
            accepts_damage: false, ..
        } => commands::rebuild(&path, console)?,
        StoreCommand::Rebuild { is_confirmed, .. } => commands::rebuild_damaged(&path, *is_confirmed, console)?,
        StoreCommand::Reset { is_confirmed } => commands::reset(&settings.data_path, &path, *is_confirmed, console)?,
        StoreCommand::Stats { as_json } => report::stats(&path, *as_json, console)?,
        StoreCommand::Export { file, damaged } => {
            let to = moving::Destination::of(file, &settings.data_path)?;
            moving::export(&path, &to, *damaged, surroundings.clock.now(), console)?;
        }
        StoreCommand::Import { file } => moving::import(&path, file, settings, console)?,
    }
    console.check()?;
    Ok(outcome)
}

/// Standard input or output instead of a file.
fn is_standard(file: &Path) -> bool {
    file.as_os_str() == "-"
}
