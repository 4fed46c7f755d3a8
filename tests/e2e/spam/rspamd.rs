//! A real rspamd on a port of the loopback interface, without a rule that would ask the network.

use std::io::{BufRead as _, BufReader, ErrorKind};
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use tempfile::TempDir;

/// Longer than it ever takes.
const PATIENCE: Duration = Duration::from_mins(1);
/// Another program may take the port between the look for a free one and the start.
const STARTS: usize = 5;

/// Starts rspamd, and ends it when its standard input ends: so it does when the test is over, however it ended. A killed
/// main process would leave its workers behind.
const KEEPER: &str = r#""$@" 2>&1 & rspamd=$!; exec >/dev/null; read -r _; kill "$rspamd"; wait "$rspamd""#;

/// A running rspamd; it ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Rspamd {
    port: u16,
    keeper: Child,
    stdin: Option<ChildStdin>,
    log: Receiver<String>,
    reader: Option<JoinHandle<()>>,
    _home: TempDir,
}

impl Rspamd {
    /// Starts one.
    pub(crate) fn start() -> Self {
        must_be_installed();
        let mut said = Vec::new();
        for _ in 0..STARTS {
            let rspamd = Self::spawn();
            match rspamd.wait_for("starting normal process") {
                Ok(_) => return rspamd,
                Err(log) => said = log,
            }
        }
        panic!("rspamd does not start:\n{}", said.join("\n"));
    }

    /// Its base URL.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Waits for a line of its log with this text, and returns it.
    ///
    /// # Errors
    /// What it logged instead until it ended.
    pub(crate) fn wait_for(&self, text: &str) -> Result<String, Vec<String>> {
        let mut said = Vec::new();
        while let Ok(line) = self.log.recv_timeout(PATIENCE) {
            if line.contains(text) {
                return Ok(line);
            }
            said.push(line);
        }
        Err(said)
    }

    fn spawn() -> Self {
        let home = tempfile::tempdir().unwrap();
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = free.local_addr().unwrap().port();
        let file = home.path().join("rspamd.conf");
        std::fs::write(&file, configuration(home.path(), port)).unwrap();
        std::fs::write(home.path().join("suffixes"), "test\n").unwrap();
        drop(free);
        let mut keeper = Command::new("sh")
            .args(["-c", KEEPER, "sh", "rspamd", "--no-fork", "--insecure", "--config"])
            .arg(&file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (stdin, stdout) = (keeper.stdin.take(), keeper.stdout.take().unwrap());
        let (log, reader) = read(stdout);
        Self {
            port,
            keeper,
            stdin,
            log,
            reader: Some(reader),
            _home: home,
        }
    }
}

impl Drop for Rspamd {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.keeper.wait();
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

fn must_be_installed() {
    let version = Command::new("rspamd").arg("--version").stdout(Stdio::null()).status();
    match version {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            panic!("these tests run rspamd: install it (Debian: apt-get install --no-install-recommends rspamd)")
        }
        version => assert!(version.unwrap().success()),
    }
}

/// Reads the log, so that rspamd never waits for a reader; a test that has enough of it loses the rest.
fn read(stdout: ChildStdout) -> (Receiver<String>, JoinHandle<()>) {
    let (sender, receiver) = sync_channel(10_000);
    let reader = std::thread::spawn(move || {
        for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
            let _ = sender.try_send(String::from_utf8_lossy(&line).into_owned());
        }
    });
    (receiver, reader)
}

/// One worker, the thresholds that rspamd has by default, and no module: what is left is the test pattern. The nameserver
/// is a port where nobody answers.
fn configuration(home: &Path, port: u16) -> String {
    let home = home.display();
    format!(
        r#"options {{
            filters = "";
            explicit_modules = [];
            dns {{ nameserver = "127.0.0.1:9"; timeout = 0.1s; retransmits = 1; }}
            pidfile = "{home}/rspamd.pid";
            cache_file = "{home}/symbols.cache";
            history_file = "{home}/history";
            hs_cache_dir = "{home}/";
            control_socket = "{home}/control.sock mode=0600";
            tempdir = "{home}";
            url_tld = "{home}/suffixes";
        }}
        logging {{ type = "console"; level = "info"; color = false; }}
        worker "normal" {{ bind_socket = "127.0.0.1:{port}"; count = 1; }}
        actions {{ reject = 15; add_header = 6; greylist = 4; }}
        "#
    )
}
