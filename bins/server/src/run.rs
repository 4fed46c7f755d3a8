//! Runs the server until it is told to stop.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use restante_model::SystemClock;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::StartError;
use crate::compose::RunningServer;
use crate::discovery::{self, DiscoveryFile};
use crate::secrets::Secrets;
use crate::settings::Settings;
use crate::startup::Running;

/// Transactions and requests under way may take so long to end after the first signal.
/// It is less than the ten seconds after which container runtimes kill.
const GRACE: Duration = Duration::from_secs(8);

/// Runs the server; `discovery` is where its discovery file belongs, if anywhere.
///
/// # Errors
/// Whatever keeps it from serving, or ends it unasked.
pub async fn run(settings: Settings, secrets: Secrets, discovery: Option<PathBuf>) -> Result<(), StartError> {
    let mut signals = Signals::new().map_err(StartError::Runtime)?;
    let api_key = secrets.api_key_origin.clone();
    let started = tokio::select! {
        started = RunningServer::start(&settings, secrets, Arc::new(SystemClock)) => started,
        () = signals.next() => {
            tracing::info!(target: "restante", "stopped before it was up");
            return Ok(());
        }
    };
    let mut server = started?;
    let (profile, data_path) = (settings.profile, settings.data_path);
    let running = Running {
        profile,
        data_path,
        api_key,
        smtp: server.smtp,
        smtp_tls: server.smtp_tls,
        http: server.http,
        https: server.https,
        authority: server.authority.clone(),
        rspamd: settings.spam.map(|spam| spam.url),
        chaos: settings.chaos,
        test_emails: settings.http.test_emails,
    };
    // Before the output, so that whoever waits for that finds the file.
    let _discovery = discovery.and_then(|path| announce(path, &running));
    // A start whose output nobody reads is still a start.
    let _ = write!(std::io::stdout(), "{running}");

    let ended = tokio::select! {
        () = signals.next() => Ok(()),
        task = server.failed() => Err(StartError::TaskEnded(task)),
    };
    tracing::info!(target: "restante", "stopping");
    tokio::select! {
        () = server.stop(GRACE) => {}
        () = signals.next() => tracing::warn!(target: "restante", "stopped at once by a second signal"),
    }
    ended
}

/// Writes the discovery file; it is removed when what this gives back is dropped.
fn announce(path: PathBuf, running: &Running) -> Option<DiscoveryFile> {
    let written = DiscoveryFile::write(path, &discovery::describe(running, std::process::id()));
    written
        .inspect_err(|error| tracing::warn!(target: "restante", "{error}"))
        .ok()
}

/// SIGTERM and SIGINT, and SIGXFSZ, which is caught and left alone.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    /// A write beyond the limit of file sizes would end the process; caught, it fails as on a full disk.
    _beyond_file_size: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            _beyond_file_size: signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
