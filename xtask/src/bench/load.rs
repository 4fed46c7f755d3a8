//! Postfix `smtp-source` and `smtp-sink`.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::stopwatch;

/// Connections of the load at once.
pub(super) const SESSIONS: u32 = 20;

/// Debian's place for them is not on everybody's path.
const FOLDERS: [&str; 3] = ["/usr/sbin", "/usr/bin", "/usr/local/sbin"];

/// Whether a session sends several mails.
#[derive(Debug, Clone, Copy)]
pub(super) enum Connections {
    /// One connection a session.
    Kept,
    /// One connection a mail.
    New,
}

/// One run of `smtp-source`.
pub(super) struct Load {
    pub(super) target: String,
    pub(super) recipient: String,
    pub(super) mails: u32,
    pub(super) bytes: usize,
    pub(super) connections: Connections,
}

impl Load {
    /// Sends all mails and gives back how many a second were acknowledged.
    pub(super) fn run(&self) -> Result<f64> {
        let (took, status) = stopwatch::time(|| self.command().stdout(Stdio::null()).status());
        ensure!(
            status.context("cannot start smtp-source")?.success(),
            "smtp-source failed against {}",
            self.target
        );
        Ok(f64::from(self.mails) / took.as_secs_f64())
    }

    /// Sends until all is sent or the server is gone.
    pub(super) fn run_until_cut(&self) -> Result<()> {
        let status = self.command().stdout(Stdio::null()).stderr(Stdio::null()).status();
        ensure!(
            !status.context("cannot start smtp-source")?.success(),
            "all was sent before the server was killed"
        );
        Ok(())
    }

    fn command(&self) -> Command {
        let mut command = Command::new(program("smtp-source"));
        command.args([
            "-s",
            &SESSIONS.to_string(),
            "-l",
            &self.bytes.to_string(),
            "-m",
            &self.mails.to_string(),
        ]);
        if matches!(self.connections, Connections::Kept) {
            command.arg("-d");
        }
        command.args(["-f", "bench@sender.test", "-t", &self.recipient, &self.target]);
        command
    }
}

/// A running `smtp-sink`; it ends with this.
pub(super) struct Sink {
    child: Child,
    pub(super) address: String,
}

impl Sink {
    /// Starts it on a port that was free a moment ago.
    pub(super) fn start() -> Result<Self> {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
        let mut command = Command::new(program("smtp-sink"));
        // As root it insists on another user to run as; others may not change theirs.
        if std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0) {
            command.args(["-u", "nobody"]);
        }
        let child = command.arg(&address).arg("1000").stdout(Stdio::null()).spawn();
        let sink = Self {
            child: child.context("cannot start smtp-sink")?,
            address,
        };
        for _ in 0..100 {
            if TcpStream::connect(&sink.address).is_ok() {
                return Ok(sink);
            }
            thread::sleep(Duration::from_millis(20));
        }
        bail!("smtp-sink does not listen on {}", sink.address)
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Says what to install.
pub(super) fn check_installed() -> Result<()> {
    for name in ["smtp-source", "smtp-sink"] {
        let found = Command::new(program(name))
            .arg("-?")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        ensure!(
            found.is_ok(),
            "{name} is missing: install the package `postfix` (its daemon need not run)"
        );
    }
    Ok(())
}

fn program(name: &str) -> String {
    let places = FOLDERS.iter().map(|folder| format!("{folder}/{name}"));
    places
        .into_iter()
        .find(|path| std::path::Path::new(path).exists())
        .unwrap_or_else(|| name.to_owned())
}
