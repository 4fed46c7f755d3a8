//! Why a start ends before the server serves, or a run unasked: one clear line each.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use restante_auth::ResolverError;
use restante_spam::SpamError;
use restante_storage::{OpenError, ReadError};
use restante_tls::{AuthorityError, CertificateError};
use restante_webhook::SenderError;

use crate::listen::ListenAddress;
use crate::secrets::SecretError;
use crate::settings::SettingErrors;

/// Why a start ends before the server serves, or a run unasked.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The command line cannot be read.
    #[error("{0}; --help shows what there is")]
    Usage(String),
    /// Settings are wrong: a line for each.
    #[error(transparent)]
    Settings(#[from] SettingErrors),
    /// The data directory is not there and cannot be made, or cannot be written.
    #[error("data directory {}: {source}; SVC_DATA_PATH names another", path.display())]
    DataPath {
        /// The directory.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A key cannot be had.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// A listener cannot be opened.
    #[error("cannot listen for {service} on {address}: {source}; {setting} names another port")]
    Listen {
        /// What it is for: `SMTP`, `SMTPS`, `HTTP` or `HTTPS`.
        service: &'static str,
        /// Where.
        address: ListenAddress,
        /// The variable of the port.
        setting: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// The certificate or its key cannot be used.
    #[error("{0}; SVC_TLS_CERT_PATH and SVC_TLS_KEY_PATH name the files")]
    Certificate(CertificateError),
    /// The local authority has no certificate to offer.
    #[error("local certificate authority: {0}; without its folder a new one is made, which clients must trust anew")]
    Authority(AuthorityError),
    /// Email authentication has no DNS server to ask.
    #[error(transparent)]
    Resolver(ResolverError),
    /// The spam filter cannot be asked.
    #[error(transparent)]
    SpamFilter(SpamError),
    /// Nothing can be sent to webhooks.
    #[error(transparent)]
    Webhooks(SenderError),
    /// The store cannot be opened.
    #[error(transparent)]
    Store(OpenError),
    /// The store opens but cannot be read.
    #[error(transparent)]
    StoreRead(ReadError),
    /// A task that must run as long as the server has ended.
    #[error("{0} ended unasked; the log says why")]
    TaskEnded(&'static str),
    /// The tasks of the server cannot be started.
    #[error("cannot start the runtime: {0}")]
    Runtime(io::Error),
}

impl StartError {
    /// What the process ends with: 2 when the command line or the settings must change, else 1.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Usage(_) | Self::Settings(_) => ExitCode::from(2),
            Self::DataPath { .. }
            | Self::Secret(_)
            | Self::Listen { .. }
            | Self::Certificate(_)
            | Self::Authority(_)
            | Self::Resolver(_)
            | Self::SpamFilter(_)
            | Self::Webhooks(_)
            | Self::Store(_)
            | Self::StoreRead(_)
            | Self::TaskEnded(_)
            | Self::Runtime(_) => ExitCode::FAILURE,
        }
    }
}
