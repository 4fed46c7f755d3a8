//! Why a command did not succeed, and what to do next.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use restante_client::Error;

/// Why a command did not succeed. No text holds a key, a secret or anything of a mail's content.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The client or the server says no.
    #[error(transparent)]
    Client(#[from] Error),
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
    /// The mail server refused the message or could not be reached.
    #[error("{server} says: {reply}")]
    Smtp {
        /// `host:port`.
        server: String,
        /// The reply's code and text, or what the network says.
        reply: String,
    },
    /// Results cannot be written.
    #[error("the output cannot be written: {0}")]
    Output(#[from] io::Error),
    /// Ctrl-C.
    #[error("interrupted")]
    Interrupted,
}

impl Failure {
    /// Says it on the standard error, and how the process ends.
    pub(crate) fn report(&self) -> ExitCode {
        if matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe) {
            // A reader that has seen enough, such as `head`, is no failure.
            return ExitCode::SUCCESS;
        }
        anstream::eprintln!("error: {self}");
        ExitCode::from(2)
    }
}
