//! A server as a child process, with what it says and logs.

use std::fs;
use std::io::{BufRead as _, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::http::{self, Answer};

/// Longer than anything takes; a test that waits so long has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A server that is up; dropping it kills it.
pub(crate) struct Daemon {
    /// Where SMTP listens.
    pub(crate) smtp: SocketAddr,
    /// Where SMTP listens with TLS from the first byte, if it does.
    pub(crate) smtp_tls: Option<SocketAddr>,
    /// Where HTTP listens.
    pub(crate) http: SocketAddr,
    /// Where HTTPS listens, if it does.
    pub(crate) https: Option<SocketAddr>,
    /// The API key.
    pub(crate) key: String,
    /// From the start of the process until it answered that it is ready.
    pub(crate) ready_after: Duration,
    process: Process,
}

/// How a process ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Its exit status.
    pub(crate) status: ExitStatus,
    /// Its standard output.
    pub(crate) said: String,
    /// Its standard error.
    pub(crate) logged: String,
    /// How long that took since somebody began to wait.
    pub(crate) took: Duration,
}

struct Process {
    child: Option<Child>,
    pid: Pid,
    said: Page,
    logged: Page,
    readers: Vec<JoinHandle<()>>,
}

/// The server with a home of its own, which is where it runs: ports of its own, and no variable but these (without
/// `SVC_`).
pub(crate) fn command(home: &Path, variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_server"));
    command.env_clear().current_dir(home).stdin(Stdio::null());
    command.env("HOME", home).env("XDG_RUNTIME_DIR", home.join("run"));
    command.env("SVC_SMTP_PORT", "0").env("SVC_SERVER_PORT", "0");
    for (name, value) in variables {
        command.env(format!("SVC_{name}"), value);
    }
    command
}

/// Runs a command that must end by itself.
pub(crate) fn run(command: Command) -> Ended {
    Process::spawn(command).wait()
}

/// Starts a server and kills it soon afterwards, wherever it is then.
pub(crate) fn start_and_kill(home: &Path, after: Duration) {
    let process = Process::spawn(command(home, &[]));
    let (_silent, nothing) = mpsc::sync_channel::<()>(0);
    // Nobody sends: this waits for the time alone, which is the random point of the kill.
    let _ = nothing.recv_timeout(after);
    drop(process);
}

impl Daemon {
    /// Starts the server in its home and waits until it is ready.
    pub(crate) fn start(home: &Path, variables: &[(&str, &str)]) -> Self {
        Self::start_by(command(home, variables), home, variables)
    }

    /// The same by a command of the test, which comes from [`command`] with these arguments.
    pub(crate) fn start_by(command: Command, home: &Path, variables: &[(&str, &str)]) -> Self {
        let began = now();
        let process = Process::spawn(command);
        process.said.wait_for("\n  API key ", &process.logged);
        let said = process.said.text();
        let address = |name: &str| {
            let line = said.lines().find_map(|line| line.trim_start().strip_prefix(name))?;
            let line = line.trim_start().trim_start_matches("http://");
            Some(line.trim_start_matches("https://").parse().unwrap())
        };
        let must = |name| address(name).unwrap_or_else(|| panic!("{name} in {said}"));
        let (smtp, http) = (must("SMTP "), must("HTTP "));
        let ready = http::send("GET", &format!("http://{http}/health/ready"), &[], b"");
        let _ = ready.expect_status(200);
        Self {
            smtp,
            smtp_tls: address("SMTPS "),
            http,
            https: address("HTTPS "),
            key: key_of(home, variables),
            ready_after: began.elapsed(),
            process,
        }
    }

    /// Sends a request with the API key.
    pub(crate) fn request(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        let key = ("X-API-Key", self.key.as_str());
        let json = ("Content-Type", "application/json");
        let text = body.map(ToString::to_string).unwrap_or_default();
        http::send(
            method,
            &format!("http://{}{path}", self.http),
            &[key, json],
            text.as_bytes(),
        )
    }

    /// GET, which must be answered 200.
    pub(crate) fn get(&self, path: &str) -> Value {
        self.request("GET", path, None).expect_status(200).json()
    }

    /// Creates an inbox that is plain or, with a key, encrypted.
    pub(crate) fn create(&self, address: &str, kem_key: Option<&str>) -> Value {
        let mode = if kem_key.is_some() { "encrypted" } else { "plain" };
        let body = json!({ "emailAddress": address, "encryption": mode, "clientKemPk": kem_key });
        self.request("POST", "/api/inboxes", Some(&body))
            .expect_status(201)
            .json()
    }

    /// The emails of an inbox, newest first.
    pub(crate) fn emails(&self, address: &str) -> Vec<Value> {
        let list = self.get(&format!("/api/inboxes/{address}/emails"));
        list.as_array().unwrap().clone()
    }

    /// The process id.
    pub(crate) fn pid(&self) -> Pid {
        self.process.pid
    }

    /// Asks it to stop.
    pub(crate) fn terminate(&self) {
        kill_process(self.process.pid, Signal::TERM).unwrap();
    }

    /// Asks it to stop as a terminal does.
    pub(crate) fn interrupt(&self) {
        kill_process(self.process.pid, Signal::INT).unwrap();
    }

    /// Ends it without a warning.
    pub(crate) fn kill(self) -> Ended {
        kill_process(self.process.pid, Signal::KILL).unwrap();
        self.wait()
    }

    /// What it has printed so far.
    pub(crate) fn said(&self) -> String {
        self.process.said.text()
    }

    /// Waits until the log holds the text.
    pub(crate) fn wait_for_log(&self, text: &str) {
        self.process.logged.wait_for(text, &self.process.said);
    }

    /// Whether the log holds the text by now.
    pub(crate) fn has_logged(&self, text: &str) -> bool {
        self.process.logged.text().contains(text)
    }

    /// Waits until the process has ended.
    pub(crate) fn wait(self) -> Ended {
        self.process.wait()
    }

    /// Asks it to stop and waits until it has, which must be a success.
    pub(crate) fn stop(self) -> Ended {
        self.terminate();
        let ended = self.wait();
        assert_eq!(ended.status.code(), Some(0), "{ended:?}");
        ended
    }
}

/// The key that was given, else that of the file.
fn key_of(home: &Path, variables: &[(&str, &str)]) -> String {
    let given = |wanted: &str| {
        variables
            .iter()
            .find(|(name, _)| *name == wanted)
            .map(|(_, value)| *value)
    };
    if let Some(key) = given("LOCAL_API_KEY") {
        return key.to_owned();
    }
    let data = given("DATA_PATH").map_or_else(|| home.join("data"), PathBuf::from);
    fs::read_to_string(data.join(".api-key")).unwrap().trim().to_owned()
}

impl Process {
    fn spawn(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (said, logged) = (Page::default(), Page::default());
        let readers = vec![
            said.filled_by(child.stdout.take().unwrap()),
            logged.filled_by(child.stderr.take().unwrap()),
        ];
        Self {
            pid: Pid::from_child(&child),
            child: Some(child),
            said,
            logged,
            readers,
        }
    }

    fn wait(mut self) -> Ended {
        let began = now();
        let mut child = self.child.take().unwrap();
        let (done, ended) = mpsc::sync_channel(1);
        let waiter = thread::spawn(move || done.send(child.wait().unwrap()));
        let status = ended.recv_timeout(PATIENCE).unwrap_or_else(|_| {
            kill_process(self.pid, Signal::KILL).unwrap();
            panic!("the process does not end; it logged\n{}", self.logged.text())
        });
        waiter.join().unwrap().unwrap();
        for reader in self.readers.drain(..) {
            reader.join().unwrap();
        }
        Ended {
            status,
            said: self.said.text(),
            logged: self.logged.text(),
            took: began.elapsed(),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // It may have ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// What a process has written so far.
#[derive(Clone, Default)]
struct Page {
    written: Arc<(Mutex<Written>, Condvar)>,
}

#[derive(Default)]
struct Written {
    text: String,
    is_complete: bool,
}

impl Page {
    fn filled_by(&self, pipe: impl Read + Send + 'static) -> JoinHandle<()> {
        let page = self.clone();
        thread::spawn(move || {
            for line in BufReader::new(pipe).split(b'\n') {
                let line = String::from_utf8_lossy(&line.unwrap()).into_owned();
                page.change(|written| written.text = format!("{}{line}\n", written.text));
            }
            page.change(|written| written.is_complete = true);
        })
    }

    fn change(&self, change: impl FnOnce(&mut Written)) {
        change(&mut self.written.0.lock().unwrap());
        self.written.1.notify_all();
    }

    fn text(&self) -> String {
        self.written.0.lock().unwrap().text.clone()
    }

    fn wait_for(&self, text: &str, other: &Self) {
        let guard = self.written.0.lock().unwrap();
        let is_missing = |written: &mut Written| !written.text.contains(text) && !written.is_complete;
        let (guard, _) = self.written.1.wait_timeout_while(guard, PATIENCE, is_missing).unwrap();
        let found = guard.text.contains(text);
        assert!(found, "no {text:?} in\n{}\nbeside\n{}", guard.text, other.text());
    }
}

/// The time by the system's clock: these tests measure other processes.
pub(crate) fn now() -> Instant {
    Instant::now()
}
