//! A debug server of its own, as a child process on free ports with an empty data directory.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use tempfile::TempDir;

use crate::shell;

/// Between two looks at a server that starts or stops.
const PAUSE: Duration = Duration::from_millis(50);
/// Looks until it is too late: 30 s.
const LOOKS: u32 = 600;
/// Bytes of the log that are shown when a script fails.
const LOG_TAIL_BYTES: usize = 4_000;

/// A running server; it is killed when this is dropped.
pub(super) struct Server {
    child: Child,
    discovery: Discovery,
    discovery_path: PathBuf,
    log: PathBuf,
    _folder: TempDir,
}

/// What the server says of itself in `restante/server.json`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Discovery {
    /// Base address of the HTTP API.
    pub(super) url: String,
    /// Address and port of the SMTP listener.
    pub(super) smtp: String,
    /// Where the API key is.
    pub(super) api_key_file: PathBuf,
    /// Its process.
    pid: u32,
}

/// Kills the child unless it was handed on: a start that fails half way leaves no process.
struct Guard(Option<Child>);

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            kill(child);
        }
    }
}

impl Server {
    /// Starts the binary with the peer's wire profile and waits until it is ready.
    pub(super) fn start(binary: &Path) -> Result<Self> {
        let folder = TempDir::new()?;
        let log = folder.path().join("server.log");
        let discovery_path = folder.path().join("restante/server.json");
        let mut guard = Guard(Some(
            command(binary, folder.path(), &log)?
                .spawn()
                .context("cannot start the server")?,
        ));
        let outcome = look(|| ready(guard.0.as_mut(), &discovery_path));
        let discovery = outcome.with_context(|| format!("the server is not ready\n{}", tail(&log)))?;
        let child = guard.0.take().context("the guard holds the child")?;
        ensure!(
            discovery.pid == child.id(),
            "{} is not of this server",
            discovery_path.display()
        );
        Ok(Self {
            child,
            discovery,
            discovery_path,
            log,
            _folder: folder,
        })
    }

    /// Where it listens.
    pub(super) fn discovery(&self) -> &Discovery {
        &self.discovery
    }

    /// The end of its log.
    pub(super) fn log_tail(&self) -> String {
        tail(&self.log)
    }

    /// Asks it to stop and checks that it does so in order.
    pub(super) fn stop(mut self) -> Result<()> {
        shell::run(Command::new("kill").arg("-TERM").arg(self.child.id().to_string()))?;
        let status = look(|| Ok(self.child.try_wait()?)).context("the server does not stop")?;
        ensure!(
            status.success(),
            "the server stopped with {status}\n{}",
            self.log_tail()
        );
        ensure!(
            !self.discovery_path.exists(),
            "the server left its discovery file behind"
        );
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        kill(&mut self.child);
    }
}

fn command(binary: &Path, folder: &Path, log: &Path) -> Result<Command> {
    let mut command = Command::new(binary);
    // Settings of the surrounding shell must not reach the server.
    let ours = std::env::vars_os()
        .map(|(name, _)| name)
        .filter(|name| name.to_string_lossy().starts_with("SVC_"));
    for name in ours {
        command.env_remove(name);
    }
    command
        .env("XDG_RUNTIME_DIR", folder)
        .env("SVC_DATA_PATH", folder.join("data"));
    command
        .env("SVC_WIRE_PROFILE", "vaultsandbox")
        .env("SVC_SMTP_PORT", "0")
        .env("SVC_SERVER_PORT", "0");
    let log = File::create(log)?;
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    Ok(command)
}

/// What the server says of itself, once it answers that it is ready.
fn ready(child: Option<&mut Child>, path: &Path) -> Result<Option<Discovery>> {
    if let Some(status) = child.context("the guard holds the child")?.try_wait()? {
        bail!("the server stopped with {status}");
    }
    let Ok(text) = fs::read_to_string(path) else {
        return Ok(None);
    };
    let discovery: Discovery = serde_json::from_str(&text).with_context(|| format!("not understood: {text}"))?;
    let answer = ureq::get(format!("{}/health/ready", discovery.url)).call();
    Ok(answer.is_ok().then_some(discovery))
}

/// Looks again and again until there is something, for half a minute at most.
fn look<T>(mut once: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    for _ in 0..LOOKS {
        if let Some(found) = once()? {
            return Ok(found);
        }
        thread::sleep(PAUSE);
    }
    bail!("waited {} s", (PAUSE * LOOKS).as_secs())
}

fn kill(child: &mut Child) {
    // Both fail only for a child that has already been waited for.
    let _ = child.kill();
    let _ = child.wait();
}

fn tail(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let from = text.len().saturating_sub(LOG_TAIL_BYTES);
    String::from_utf8_lossy(&text[from..]).into_owned()
}
