//! Why a command did not do its work: one line for the operator.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use restante_storage::OpenError;
use restante_storage::embedded::ToolError;
use restante_storage::transfer::{ExportError, ImportError};

use crate::secrets::SecretError;

/// Why a command did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum StoreCommandError {
    /// The store cannot be used.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// What cannot be undone, and nobody has confirmed.
    #[error("nothing was {undone}: {reason}")]
    Unconfirmed {
        /// What would have been done.
        undone: &'static str,
        /// What to do about it.
        reason: &'static str,
    },
    /// The file of an export or import cannot be used.
    #[error("{}: {error}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// The place of an export is something else than a file.
    #[error("{} is not a file; - writes to standard output", file.display())]
    NotAFile {
        /// The place.
        file: PathBuf,
    },
    /// The place of an export is among the files of the server, which it would replace.
    #[error("{} is in the data directory: an export goes elsewhere", file.display())]
    InDataDirectory {
        /// The place.
        file: PathBuf,
    },
    /// Standard output cannot be written.
    #[error("the result cannot be written: {0}")]
    Output(io::Error),
    /// The export ended early.
    #[error("the export was not made: {error}{}", advice(error))]
    Export {
        /// Why.
        error: ExportError,
    },
    /// The import ended early.
    #[error("nothing was imported: {0}")]
    Import(#[from] ImportError),
    /// An import into a store with inboxes.
    #[error("nothing was imported: the store in {} is not empty; `server store reset` empties it", path.display())]
    NotEmpty {
        /// The store.
        path: PathBuf,
    },
    /// An import into a data directory without the keys that the mail depends on.
    #[error(
        "nothing was imported: {} missing; copy signing-key, event-key and seal-mac-key from the data directory of the \
         export first",
        listed(missing)
    )]
    KeysMissing {
        /// The files.
        missing: Vec<PathBuf>,
    },
    /// An import into a data directory with other keys.
    #[error(
        "nothing was imported: the export depends on {what} {theirs}, and this data directory has {ours}; copy \
         signing-key, event-key and seal-mac-key from the data directory of the export first"
    )]
    OtherKey {
        /// Which key differs.
        what: &'static str,
        /// The fingerprint in the export.
        theirs: String,
        /// Ours.
        ours: String,
    },
    /// An import under another wire profile.
    #[error("nothing was imported: the export has wire profile {theirs}; set SVC_WIRE_PROFILE={theirs} first")]
    OtherProfile {
        /// That of the export.
        theirs: String,
    },
    /// A key cannot be had.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The tasks of the command cannot be started.
    #[error("cannot start the runtime: {0}")]
    Runtime(io::Error),
}

fn listed(files: &[PathBuf]) -> String {
    let names: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
    let verb = if names.len() == 1 { "is" } else { "are" };
    format!("{} {verb}", names.join(", "))
}

fn advice(error: &ExportError) -> &'static str {
    match error {
        ExportError::Damaged { .. } | ExportError::QueueDamaged => {
            "; `server store verify` tells more, and --skip-damaged leaves out what is damaged"
        }
        ExportError::Write(_) | ExportError::Read(_) => "",
    }
}

impl StoreCommandError {
    /// What the process ends with: 3 when a server or another command has the store, else 4.
    pub fn exit_code(&self) -> ExitCode {
        let is_in_use = matches!(
            self,
            Self::Tool(ToolError::Open(OpenError::Locked { .. }) | ToolError::Taken { .. })
        );
        ExitCode::from(if is_in_use { 3 } else { 4 })
    }
}
