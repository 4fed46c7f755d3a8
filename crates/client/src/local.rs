//! A server that runs on this machine, found by the discovery file that it writes.
//!
//! Source: decisions, section 10.

mod own_file;
mod this_machine;

use std::ffi::OsString;
use std::io;
use std::path::Path;

use restante_wire::{Discovery, discovery};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use zeroize::Zeroizing;

use crate::builder::ClientBuilder;
use crate::{Client, Error};

/// What to do when no server is found.
const NEXT: &str = "start one with `cargo run --release --bin server`, or give the URL and the API key of one";

/// A server that runs on this machine, as this user or as root: nobody else is believed.
#[derive(Debug, Clone)]
pub struct LocalServer(Discovery);

impl LocalServer {
    /// The server whose discovery file is there, by `XDG_RUNTIME_DIR`, `XDG_STATE_HOME` and `HOME`.
    ///
    /// # Errors
    /// [`Error::NoLocalServer`] if there is no file, or the server that wrote it is gone; [`Error::File`] if it cannot
    /// be read, if anybody but this user and root may have written it, or if its URL is of another machine.
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
        let content = match own_file::read_trusted(&path) {
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
        if !this_machine::is_meant(&discovery.url) {
            let reason = "the URL in it is not one of this machine; remove the file if no server of yours wrote it";
            return Err(file_error(&path, &reason));
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
    /// read, is no regular file, or is larger than any key.
    pub fn api_key(&self) -> Result<Zeroizing<String>, Error> {
        let Some(path) = self.api_key_file() else {
            return Err(Error::Configuration(format!(
                "the server at {} was given its API key by a setting, so no file holds it: give the URL and the same \
                 key",
                self.url()
            )));
        };
        let content = own_file::read_key(path).map_err(|error| file_error(path, &error))?;
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
mod tests;
