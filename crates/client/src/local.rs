//! A server that runs on this machine, found by the discovery file that it writes.
//!
//! Source: decisions, section 10.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;

use restante_wire::{Discovery, discovery};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use zeroize::Zeroizing;

use crate::builder::ClientBuilder;
use crate::{Client, Error};

/// What to do when no server is found, on the command line and in a test.
const NEXT: &str = "start one with `cargo run --release --bin server`, or say where one is: --url or RESTANTE_URL, \
                    Client::new in Rust";

/// A server that runs on this machine as this user, or as one whose files this user may read.
#[derive(Debug, Clone)]
pub struct LocalServer(Discovery);

impl LocalServer {
    /// The server whose discovery file is there, by `XDG_RUNTIME_DIR`, `XDG_STATE_HOME` and `HOME`.
    ///
    /// # Errors
    /// [`Error::NoLocalServer`] if there is no file, or the server that wrote it is gone; [`Error::File`] if it cannot
    /// be read.
    pub fn find() -> Result<Self, Error> {
        #[expect(
            clippy::disallowed_methods,
            reason = "the one place where the client reads the environment; `find_with` takes it as a parameter"
        )]
        Self::find_with(|name| std::env::var_os(name))
    }

    /// As [`Self::find`], with a look-up of the environment's variables.
    ///
    /// # Errors
    /// As [`Self::find`].
    pub fn find_with(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, Error> {
        let Some(path) = discovery::path(variable) else {
            return Err(Error::NoLocalServer(format!(
                "no server is found on this machine, because XDG_RUNTIME_DIR, XDG_STATE_HOME and HOME are unset: {NEXT}"
            )));
        };
        let content = match fs::read(&path) {
            Ok(content) => content,
            Err(error) if is_absence(&error) => {
                return Err(Error::NoLocalServer(format!(
                    "no server runs on this machine (there is no {}): {NEXT}",
                    path.display()
                )));
            }
            Err(error) => return Err(file_error(&path, &error)),
        };
        let discovery: Discovery =
            serde_json::from_slice(&content).map_err(|_| file_error(&path, &"not the file of a server: remove it"))?;
        if !is_running(discovery.pid) {
            return Err(Error::NoLocalServer(format!(
                "no server runs on this machine (that of {}, process {}, is gone): {NEXT}",
                path.display(),
                discovery.pid
            )));
        }
        Ok(Self(discovery))
    }

    /// Base URL of its API.
    pub fn url(&self) -> &str {
        &self.0.url
    }

    /// Where it takes mail, as `host:port`; `None` if it takes none there.
    pub fn smtp(&self) -> Option<&str> {
        self.0.smtp.as_deref()
    }

    /// Where it takes mail over TLS from the first byte on, as `host:port`; `None` if it takes none there.
    pub fn smtp_tls(&self) -> Option<&str> {
        self.0.smtp_tls.as_deref()
    }

    /// The file that holds its API key; `None` if the key was set.
    pub fn api_key_file(&self) -> Option<&Path> {
        self.0.api_key_file.as_deref()
    }

    /// Its API key, from the file.
    ///
    /// # Errors
    /// [`Error::Configuration`] if the server was given its key by a setting; [`Error::File`] if the file cannot be
    /// read.
    pub fn api_key(&self) -> Result<Zeroizing<String>, Error> {
        let Some(path) = self.api_key_file() else {
            return Err(Error::Configuration(format!(
                "the server at {} was given its API key by a setting, so no file holds it: give the same key, by \
                 --api-key or RESTANTE_API_KEY, with Client::new in Rust",
                self.url()
            )));
        };
        let content = Zeroizing::new(fs::read(path).map_err(|error| file_error(path, &error))?);
        let text = std::str::from_utf8(&content).map_err(|_| file_error(path, &"the API key in it is no text"))?;
        Ok(Zeroizing::new(text.trim().to_owned()))
    }

    /// Begins a client of it.
    ///
    /// # Errors
    /// As [`Self::api_key`].
    pub fn builder(&self) -> Result<ClientBuilder, Error> {
        Ok(Client::builder(self.url(), self.api_key()?.as_str()))
    }
}

impl Client {
    /// A client, with all defaults, of the server that runs on this machine.
    ///
    /// ```no_run
    /// use restante_client::{Client, NewInbox};
    ///
    /// # async fn example() -> Result<(), restante_client::Error> {
    /// let client = Client::local()?;
    /// let inbox = client.create_inbox(NewInbox::new()).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`LocalServer::find`] and [`LocalServer::api_key`].
    pub fn local() -> Result<Self, Error> {
        LocalServer::find()?.builder()?.build()
    }
}

/// Whether there is no such file, as opposed to one that cannot be read.
fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Whether a process of this id runs, be it another user's.
fn is_running(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid) != Err(Errno::SRCH))
}

fn file_error(path: &Path, reason: &impl ToString) -> Error {
    Error::File {
        path: path.display().to_string(),
        reason: reason.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::process::{Command, id};

    use super::*;

    /// A user's home, with a discovery file if there is a content for it.
    struct Home {
        root: tempfile::TempDir,
    }

    impl Home {
        fn new() -> Self {
            let root = tempfile::tempdir().unwrap();
            fs::create_dir_all(root.path().join("restante")).unwrap();
            Self { root }
        }

        fn file(&self) -> PathBuf {
            self.root.path().join("restante/server.json")
        }

        fn announce(&self, pid: u32, api_key_file: Option<&Path>) {
            let discovery = Discovery {
                url: "http://127.0.0.1:8080".into(),
                smtp: Some("127.0.0.1:2525".into()),
                smtp_tls: None,
                api_key_file: api_key_file.map(Into::into),
                pid,
            };
            fs::write(self.file(), serde_json::to_vec(&discovery).unwrap()).unwrap();
        }

        fn find(&self) -> Result<LocalServer, Error> {
            LocalServer::find_with(|name| (name == "XDG_RUNTIME_DIR").then(|| self.root.path().into()))
        }
    }

    #[test]
    fn a_running_server_is_found_with_its_key() {
        let home = Home::new();
        let key = home.root.path().join(".api-key");
        fs::write(&key, " the-key-of-this-server\n").unwrap();
        home.announce(id(), Some(&key));
        let server = home.find().unwrap();
        assert_eq!(
            (server.url(), server.smtp(), server.smtp_tls(), server.api_key_file()),
            ("http://127.0.0.1:8080", Some("127.0.0.1:2525"), None, Some(&*key))
        );
        assert_eq!(server.api_key().unwrap().as_str(), "the-key-of-this-server");
        let client = server.builder().unwrap().build().unwrap();
        assert_eq!(client.url(), server.url());
    }

    #[test]
    fn without_a_server_the_error_says_what_to_do() {
        let mut ended = Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        let (absent, stale) = (Home::new(), Home::new());
        stale.announce(ended.id(), None);
        for (found, why) in [
            (absent.find(), format!("(there is no {})", absent.file().display())),
            (stale.find(), format!("process {}, is gone)", ended.id())),
            (LocalServer::find_with(|_| None), "HOME are unset".to_owned()),
        ] {
            let error = found.unwrap_err();
            assert!(matches!(error, Error::NoLocalServer(_)), "{error:?}");
            let text = error.to_string();
            for part in [why.as_str(), "start one with", "--url or RESTANTE_URL", "Client::new"] {
                assert!(text.contains(part), "{part:?} in {text:?}");
            }
        }
    }

    #[test]
    fn a_process_id_that_is_none_is_that_of_no_server() {
        for pid in [0, u32::MAX, 1 << 31] {
            let home = Home::new();
            home.announce(pid, None);
            assert!(matches!(home.find(), Err(Error::NoLocalServer(_))), "{pid}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_used_is_named() {
        let (junk, folder) = (Home::new(), Home::new());
        fs::write(junk.file(), "{}").unwrap();
        fs::create_dir(folder.file()).unwrap();
        for home in [junk, folder] {
            let error = home.find().unwrap_err();
            let shown = home.file().display().to_string();
            assert!(
                matches!(&error, Error::File { path, reason } if *path == shown && !reason.is_empty()),
                "{error:?}"
            );
        }
    }

    #[test]
    fn a_key_that_was_set_must_be_given() {
        let home = Home::new();
        home.announce(id(), None);
        let error = home.find().unwrap().api_key().unwrap_err();
        assert!(matches!(error, Error::Configuration(_)), "{error:?}");
        let text = error.to_string();
        for part in [
            "http://127.0.0.1:8080",
            "by a setting",
            "--api-key or RESTANTE_API_KEY",
            "Client::new",
        ] {
            assert!(text.contains(part), "{part:?} in {text:?}");
        }
    }

    #[test]
    fn a_key_file_that_cannot_be_read_is_named() {
        let home = Home::new();
        let key = home.root.path().join("data/.api-key");
        home.announce(id(), Some(&key));
        let error = home.find().unwrap().api_key().unwrap_err();
        assert!(
            error.to_string().starts_with(&format!("{}: ", key.display())),
            "{error}"
        );
        fs::create_dir_all(key.parent().unwrap()).unwrap();
        fs::write(&key, b"\xff\xfe").unwrap();
        let error = home.find().unwrap().api_key().unwrap_err().to_string();
        assert_eq!(error, format!("{}: the API key in it is no text", key.display()));
    }
}
