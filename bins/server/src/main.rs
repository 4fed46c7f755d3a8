//! The server's process: what it was started with goes in, an exit code comes out.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::num::NonZero;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use restante_model::SystemClock;
use restante_server::settings::{self, Invocation, LogSettings, Machine};
use restante_server::store_command::{self, Surroundings};
use restante_server::{Secrets, Settings, StartError, data_directory, limits, logs, panics, run};
use tokio::runtime::Builder;
use tracing::Level;

/// glibc keeps blocks of up to 32 MiB in the heaps of its threads, where the memory of large messages stays
/// (docs/adr/0014); how this one is set up stands in `.cargo/config.toml`.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// How long the end waits for tasks that block: one may hang on a disk that does not answer.
const LAST_WAIT: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    match start() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{error}");
            error.exit_code()
        }
    }
}

fn start() -> Result<ExitCode, StartError> {
    let environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    match settings::read(std::env::args_os(), environment.clone(), &Machine::of_this_process())? {
        Invocation::Print(text) => {
            // A reader that has seen enough, such as `head`, is no failure.
            let _ = std::io::stdout().write_all(text.as_bytes());
            Ok(ExitCode::SUCCESS)
        }
        Invocation::Serve(settings) => {
            let variable = |name: &str| environment.get(OsStr::new(name)).cloned();
            logs::start(settings.log, variable("NO_COLOR").as_deref());
            panics::log_places_only();
            serve(*settings, restante_wire::discovery::path(variable)).map(|()| ExitCode::SUCCESS)
        }
        Invocation::Store(command, settings) => {
            let level = settings.log.level.min(Level::WARN);
            let no_color = environment.get(OsStr::new("NO_COLOR"));
            logs::start(LogSettings { level, ..settings.log }, no_color.map(OsString::as_os_str));
            panics::log_places_only();
            let surroundings = Surroundings {
                scratch: std::env::temp_dir(),
                clock: &SystemClock,
            };
            Ok(store_command::run(&command, &settings, &surroundings))
        }
    }
}

fn serve(settings: Settings, discovery: Option<PathBuf>) -> Result<(), StartError> {
    tracing::info!(target: "restante", "profile {}", settings.profile);
    if let Err(error) = limits::raise_open_files() {
        tracing::warn!(target: "restante", "the limit of open files cannot be raised: {error}");
    }
    data_directory::prepare(&settings.data_path)?;
    let secrets = Secrets::prepare(&settings.data_path, &settings.secrets)?;
    let runtime = Builder::new_multi_thread()
        .worker_threads(workers())
        .enable_all()
        .build()
        .map_err(StartError::Runtime)?;
    let ended = runtime.block_on(run::run(settings, secrets, discovery));
    runtime.shutdown_timeout(LAST_WAIT);
    ended
}

/// Threads for what does not block: all cores but one, where the committer and the blocking work run.
///
/// With one more, two of them on two cores wake each other for every other read of a socket: a mail that comes on a
/// connection of its own costs a sixth more processor time, most of it the kernel's.
fn workers() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    cores.saturating_sub(1).max(1)
}
