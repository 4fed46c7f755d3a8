//! Why a command did not succeed, and what to do next.

mod advice;

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use restante_client::{Error, ImportError};

use crate::commands::SmtpError;
use crate::config::ConfigError;
use crate::context::Connection;
use crate::keystore::KeystoreError;
use crate::output::{clean, note, style};

/// Why a command did not succeed. No text holds a key, a secret or anything of a mail's content.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The client or the server says no.
    #[error(transparent)]
    Client(#[from] Error),
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The keystore cannot be used.
    #[error(transparent)]
    Keystore(#[from] KeystoreError),
    /// An entry of the keystore breaks a rule of exports.
    #[error("the entry {address} of {} is spoiled: {reason}", path.display())]
    SpoiledEntry {
        /// The keystore.
        path: PathBuf,
        /// The inbox.
        address: String,
        /// The rule.
        reason: ImportError,
    },
    /// An exported file breaks a rule of exports.
    #[error("{}: {reason}", path.display())]
    SpoiledExport {
        /// The file.
        path: PathBuf,
        /// The rule.
        reason: ImportError,
    },
    /// No inbox is named, and none is in use.
    #[error("no inbox of {url} is in use, and none is named")]
    NoInboxInUse {
        /// The server.
        url: String,
    },
    /// The command makes no sense like this; the text says what is expected.
    #[error("{0}")]
    Usage(String),
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A mail was not sent.
    #[error(transparent)]
    Smtp(#[from] SmtpError),
    /// The server answers, and says that it cannot do its work.
    #[error("the server cannot take or store mail at the moment")]
    NotHealthy,
    /// Results cannot be written.
    #[error("the output cannot be written: {0}")]
    Output(#[from] io::Error),
    /// Ctrl-C.
    #[error("interrupted")]
    Interrupted,
}

/// A failure, with how the server was found if it was.
#[derive(Debug)]
pub(crate) struct Report {
    failure: Box<Failure>,
    connection: Option<Box<Connection>>,
}

impl From<Failure> for Report {
    fn from(failure: Failure) -> Self {
        Self {
            failure: Box::new(failure),
            connection: None,
        }
    }
}

impl Report {
    /// A failure of a command that worked with a server.
    pub(crate) fn new(failure: Failure, connection: Connection) -> Self {
        Self {
            failure: Box::new(failure),
            connection: Some(Box::new(connection)),
        }
    }

    /// Says it on the standard error, and how the process ends.
    pub(crate) fn say(&self) -> ExitCode {
        // What a server said may stand in it: on one line, so that it cannot say "next:".
        let text = clean::line(&self.failure.text(self.connection.as_deref()));
        // A reader that has seen enough, such as `head`, is no failure; who pressed Ctrl-C knows it.
        let code = self.failure.exit_code();
        if !matches!(code, 0 | 130) {
            note(&format!("{} {text}", style::bad("error:")));
        }
        if let Some(advice) = self.failure.advice(self.connection.as_deref()) {
            note(&format!("{} {}", style::bold("next:"), clean::line(&advice)));
        }
        ExitCode::from(code)
    }
}

impl Failure {
    /// 1 for what was waited for in vain, 130 for Ctrl-C (128 and the signal's number), 2 for every error.
    fn exit_code(&self) -> u8 {
        match self {
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => 0,
            Self::Client(Error::WaitTimeout { .. } | Error::UnexpectedEmail { .. }) | Self::NotHealthy => 1,
            Self::Interrupted => 130,
            _ => 2,
        }
    }
}
