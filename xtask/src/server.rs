//! A server of our own as a child process, on free ports of this machine.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use crate::shell;

/// Between two looks at a server that starts or stops; what the bench says of a start is as exact as this.
const PAUSE: Duration = Duration::from_millis(2);
/// Looks until it is too late: 2 min, for a store with a million mails.
const LOOKS: u32 = 60_000;
/// Bytes of the log that are shown when a script fails.
const LOG_TAIL_BYTES: usize = 4_000;

/// A running server; it is killed when this is dropped.
pub(crate) struct Server {
    child: Child,
    discovery: Discovery,
    discovery_path: PathBuf,
    log: PathBuf,
}

/// What the server says of itself in `restante/server.json`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Discovery {
    /// Base address of the HTTP API.
    pub(crate) url: String,
    /// Address and port of the SMTP listener.
    pub(crate) smtp: String,
    /// Where the API key is.
    pub(crate) api_key_file: PathBuf,
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
    /// Starts the binary with its data in the folder, which may be that of an earlier one, and waits until it is ready.
    pub(crate) fn start(binary: &Path, folder: &Path, variables: &[(&str, &str)]) -> Result<Self> {
        let log = folder.join("server.log");
        let discovery_path = folder.join("restante/server.json");
        let mut guard = Guard(Some(
            command(binary, folder, variables, &log)?
                .spawn()
                .context("cannot start the server")?,
        ));
        let outcome = look(|| ready(guard.0.as_mut(), &discovery_path));
        let discovery = outcome.with_context(|| format!("the server is not ready\n{}", tail(&log)))?;
        let child = guard.0.take().context("the guard holds the child")?;
        Ok(Self {
            child,
            discovery,
            discovery_path,
            log,
        })
    }

    /// Starts the binary and kills it after so long, wherever its start is by then.
    pub(crate) fn interrupt(binary: &Path, folder: &Path, variables: &[(&str, &str)], after: Duration) -> Result<()> {
        let log = folder.join("interrupted.log");
        let child = command(binary, folder, variables, &log)?.spawn();
        let _guard = Guard(Some(child.context("cannot start the server")?));
        thread::sleep(after);
        Ok(())
    }

    /// Where it listens.
    pub(crate) fn discovery(&self) -> &Discovery {
        &self.discovery
    }

    /// The end of its log.
    pub(crate) fn log_tail(&self) -> String {
        tail(&self.log)
    }

    /// The file that it logs to.
    pub(crate) fn log_path(&self) -> &Path {
        &self.log
    }

    /// Its process.
    pub(crate) fn pid(&self) -> u32 {
        self.discovery.pid
    }

    /// The API key.
    pub(crate) fn api_key(&self) -> Result<String> {
        let path = &self.discovery.api_key_file;
        let key = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(key.trim().to_owned())
    }

    /// Ends it as a power cut of the process would: SIGKILL.
    pub(crate) fn kill(mut self) {
        kill(&mut self.child);
    }

    /// Asks it to stop and checks that it does so in order.
    pub(crate) fn stop(mut self) -> Result<()> {
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

fn command(binary: &Path, folder: &Path, variables: &[(&str, &str)], log: &Path) -> Result<Command> {
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
    command.env("SVC_SMTP_PORT", "0").env("SVC_SERVER_PORT", "0");
    command.envs(variables.iter().copied());
    let log = File::create(log)?;
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    Ok(command)
}

/// What the server says of itself, once it answers that it is ready.
fn ready(child: Option<&mut Child>, path: &Path) -> Result<Option<Discovery>> {
    let child = child.context("the guard holds the child")?;
    if let Some(status) = child.try_wait()? {
        bail!("the server stopped with {status}");
    }
    let Ok(text) = fs::read_to_string(path) else {
        return Ok(None);
    };
    // It may be half written, or that of a server that was killed.
    let discovery: Option<Discovery> = serde_json::from_str(&text).ok();
    let Some(discovery) = discovery.filter(|discovery| discovery.pid == child.id()) else {
        return Ok(None);
    };
    let answer = ureq::get(format!("{}/health/ready", discovery.url)).call();
    Ok(answer.is_ok().then_some(discovery))
}

/// Looks again and again until there is something, for two minutes at most.
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
