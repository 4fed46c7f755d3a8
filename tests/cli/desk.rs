//! Somebody's machine: a home that was never used, and a server that runs on it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use restante_model::{Clock, SystemClock};
use restante_server::discovery::DiscoveryFile;
use restante_wire::discovery;
use tempfile::TempDir;

use crate::ran::Ran;
use crate::server::Server;

/// A home, and perhaps a server that the command finds by itself.
pub(crate) struct Desk {
    home: TempDir,
    server: Option<(Server, DiscoveryFile)>,
}

impl Desk {
    /// A machine with a server.
    pub(crate) fn new() -> Self {
        Self::with_settings(&[])
    }

    /// A machine with a server of these `SVC_` variables (without the prefix).
    pub(crate) fn with_settings(variables: &[(&str, &str)]) -> Self {
        Self::with_clock(variables, Arc::new(SystemClock))
    }

    /// The same with a clock of the test.
    pub(crate) fn with_clock(variables: &[(&str, &str)], clock: Arc<dyn Clock>) -> Self {
        let mut desk = Self::without_server();
        let server = Server::start(variables, clock);
        let file = server.announce(desk.discovery_path());
        desk.server = Some((server, file));
        desk
    }

    /// A machine on which no server runs.
    pub(crate) fn without_server() -> Self {
        Self {
            home: tempfile::tempdir().unwrap(),
            server: None,
        }
    }

    /// The server.
    pub(crate) fn server(&self) -> &Server {
        &self.server.as_ref().expect("this machine has a server").0
    }

    /// Where the server says how to reach it: by the server's own rule.
    fn discovery_path(&self) -> PathBuf {
        let home = self.home.path();
        discovery::path(|name| (name == "HOME").then(|| home.into())).unwrap()
    }

    /// A path within the home.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// The folder of the private keys.
    pub(crate) fn data(&self) -> PathBuf {
        self.path(".local/share/restante")
    }

    /// The command in this home, with nothing else in its environment.
    pub(crate) fn command<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Command {
        let mut command = Command::new(binary());
        command.args(arguments).env_clear().env("HOME", self.home.path());
        command.current_dir(self.home.path()).stdin(Stdio::null());
        command
    }

    /// Runs the command to its end.
    pub(crate) fn run<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Ran {
        Ran::of(&mut self.command(arguments))
    }

    /// Runs the command with more in its environment.
    pub(crate) fn run_with(&self, environment: &[(&str, &str)], arguments: &[&str]) -> Ran {
        Ran::of(self.command(arguments).envs(environment.iter().copied()))
    }

    /// Starts the command and leaves it running, with pipes for what it prints.
    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        let mut command = self.command(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Creates an inbox, which becomes the active one, and gives back its address.
    pub(crate) fn create_inbox(&self, arguments: &[&str]) -> String {
        let created = self.run(["inbox", "create", "--json"].iter().chain(arguments));
        created.expect(0).json()["emailAddress"].as_str().unwrap().to_owned()
    }

    /// Sends a text mail to an inbox and waits until the command shows it; its id.
    pub(crate) fn deliver(&self, to: &str, subject: &str, text: &str) -> String {
        self.server().send(to, subject, text);
        self.newest(to)
    }

    /// Sends a message as it is; its id.
    pub(crate) fn deliver_raw(&self, to: &str, message: &[u8]) -> String {
        self.server().send_raw(to, message);
        self.newest(to)
    }

    /// What was answered 250 is in the next list.
    fn newest(&self, inbox: &str) -> String {
        let listed = self.run(["email", "list", "--inbox", inbox, "--json"]).expect(0).json();
        let emails = listed.as_array().unwrap_or_else(|| panic!("a list: {listed}"));
        emails[0]["id"].as_str().unwrap().to_owned()
    }
}

/// The command under test.
pub(crate) fn binary() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_restante"))
}
