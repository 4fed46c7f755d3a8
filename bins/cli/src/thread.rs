//! The command runs on a thread of its own, so that Ctrl-C is heard while it reads a terminal or a pipe, or waits for a
//! lock.

use std::io;
use std::panic::resume_unwind;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use crate::args::Arguments;
use crate::commands;
use crate::config::Environment;
use crate::failure::{Failure, Report};

/// How long a command may take to end by itself after Ctrl-C: files without a name go, the line of the spinner too.
const GRACE: Duration = Duration::from_millis(200);
/// What the first thread of a process has where nobody changed it.
const STACK_BYTES: usize = 8 << 20;

/// Does what the command line asks for, until it is done or until Ctrl-C.
pub(crate) fn start(arguments: Arguments, environment: Environment) -> Result<(), Report> {
    let here = runtime().map_err(Failure::Output)?;
    // From here on Ctrl-C is heard.
    let listening = here.enter();
    let mut interrupt = signal(SignalKind::interrupt()).map_err(Failure::Output)?;
    drop(listening);
    let (end, mut ended) = oneshot::channel();
    let command = Builder::new()
        .name("command".to_owned())
        .stack_size(STACK_BYTES)
        .spawn(move || end.send(run(arguments, &environment)));
    let command = command.map_err(Failure::Output)?;
    let done = here.block_on(async {
        tokio::select! {
            biased;
            done = &mut ended => done.ok(),
            _ = interrupt.recv() => match tokio::time::timeout(GRACE, &mut ended).await {
                Ok(done) => done.ok(),
                // It reads or waits somewhere, and ends with the process.
                Err(_) => Some(Err(Failure::Interrupted.into())),
            },
        }
    });
    done.unwrap_or_else(|| panic_of(command))
}

/// The command panicked: so does this thread.
fn panic_of<T>(command: JoinHandle<T>) -> Result<(), Report> {
    match command.join() {
        Err(panic) => resume_unwind(panic),
        Ok(_) => Err(Failure::Usage("the command broke off".to_owned()).into()),
    }
}

fn run(arguments: Arguments, environment: &Environment) -> Result<(), Report> {
    let runtime = runtime().map_err(Failure::Output)?;
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

fn runtime() -> io::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}
