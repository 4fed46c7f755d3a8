//! Faults of the disk, made for a running server: strace has its system calls fail or wait, and lets go of it again.
//!
//! The server begins under a strace that changes nothing. That one needs no privilege, and it asks the kernel to let
//! others trace the server later, which otherwise only root may (Yama).

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};

use rustix::process::{Pid, Signal, kill_process};

use crate::daemon::{Daemon, command, now};

/// What the server does not get to see of its disk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fault<'a> {
    /// System calls, with commas between them.
    pub(crate) calls: &'a str,
    /// What becomes of them, in the words of strace: `error=EIO`.
    pub(crate) fate: &'a str,
    /// Only calls about these files; all if there are none.
    pub(crate) files: &'a [PathBuf],
}

impl Fault<'_> {
    /// What strace is told.
    fn arguments(&self) -> Vec<String> {
        let mut arguments = vec![
            format!("--trace={}", self.calls),
            format!("--inject={}:{}", self.calls, self.fate),
        ];
        arguments.extend(self.files.iter().map(|file| format!("--trace-path={}", file.display())));
        arguments
    }

    /// The server under this fault from its first instruction on.
    pub(crate) fn throughout(&self, home: &Path, variables: &[(&str, &str)]) -> Command {
        let mut options = vec!["--output=/dev/null".to_owned()];
        options.extend(self.arguments());
        under_strace(&command(home, variables), &options)
    }

    /// Lets the fault begin in a server of [`start`].
    pub(crate) fn begin(&self, server: &Daemon) -> Ongoing {
        Ongoing::attach(server, &self.arguments())
    }

    /// The same, and the log tells of these calls too, which go on as ever.
    pub(crate) fn begin_beside(&self, calls: &str, server: &Daemon) -> Ongoing {
        let mut arguments = self.arguments();
        arguments[0] = format!("--trace={},{calls}", self.calls);
        Ongoing::attach(server, &arguments)
    }
}

/// A fault that lasts until this is dropped.
pub(crate) struct Ongoing {
    strace: Child,
    complaints: Option<JoinHandle<String>>,
    log: tempfile::NamedTempFile,
}

impl Ongoing {
    fn attach(server: &Daemon, arguments: &[String]) -> Self {
        let log = tempfile::NamedTempFile::new().unwrap();
        let mut strace = Command::new("strace")
            .args(["--follow-forks", "--attach", &pid_of(server).to_string(), "--output"])
            .arg(log.path())
            .args(arguments)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(strace.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        assert!(line.contains(" attached"), "{line}");
        let complaints = thread::spawn(move || {
            let mut rest = String::new();
            stderr.read_to_string(&mut rest).unwrap();
            rest
        });
        Self {
            strace,
            complaints: Some(complaints),
            log,
        }
    }

    /// Ends the fault; the calls that it was about, a line each.
    pub(crate) fn end(mut self) -> String {
        self.let_go();
        fs::read_to_string(self.log.path()).unwrap()
    }

    fn let_go(&mut self) {
        let Some(complaints) = self.complaints.take() else {
            return;
        };
        // It may have ended with the server.
        let _ = kill_process(Pid::from_child(&self.strace), Signal::TERM);
        let _ = self.strace.wait();
        let _ = complaints.join();
    }
}

impl Drop for Ongoing {
    fn drop(&mut self) {
        self.let_go();
    }
}

/// Whether this machine lets a process trace its own child; says so if it does not.
pub(crate) fn are_permitted() -> bool {
    let tried = Command::new("strace")
        .args(["--output=/dev/null", "--trace=none", "true"])
        .output();
    let tried = tried.unwrap_or_else(|error| panic!("strace (Debian package strace): {error}"));
    if !tried.status.success() {
        let why = String::from_utf8_lossy(&tried.stderr);
        eprintln!("no faults by strace on this machine, only by a limit of file sizes: {why}");
    }
    tried.status.success()
}

/// Starts a server that faults can begin in.
pub(crate) fn start(home: &Path, variables: &[(&str, &str)]) -> Daemon {
    let options = ["--output=/dev/null".to_owned(), "--trace=none".to_owned()];
    let command = under_strace(&command(home, variables), &options);
    let server = Daemon::start_by(command, home, variables);
    let tracer = tracer_of(&server).expect("it was started under strace");
    kill_process(tracer, Signal::TERM).unwrap();
    let deadline = now() + crate::daemon::PATIENCE;
    while tracer_of(&server).is_some() {
        assert!(now() < deadline, "strace does not let go");
        thread::yield_now();
    }
    server
}

/// The same command under strace, whose options these are; it stays the child of whoever starts it.
pub(crate) fn under_strace(server: &Command, options: &[String]) -> Command {
    let mut strace = Command::new("strace");
    strace.env_clear().stdin(Stdio::null());
    strace.envs(server.get_envs().filter_map(|(name, value)| Some((name, value?))));
    strace.current_dir(server.get_current_dir().expect("it has a home"));
    // Of its three ways to take signals only this one lets it be ended.
    strace.args(["--daemonize", "--interruptible=2", "--follow-forks"]);
    strace.args(options).arg(server.get_program()).args(server.get_args());
    strace
}

/// Who traces the server, if anybody does.
fn tracer_of(server: &Daemon) -> Option<Pid> {
    let status = fs::read_to_string(format!("/proc/{}/status", pid_of(server))).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("TracerPid:")).unwrap();
    Pid::from_raw(line.trim().parse().unwrap())
}

fn pid_of(server: &Daemon) -> i32 {
    server.pid().as_raw_nonzero().get()
}
