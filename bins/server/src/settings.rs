//! Settings: one table, read once at the start, from flags over `SVC_*` variables over defaults.
//!
//! The table ([`table::SECTIONS`]) makes the flags, `--help`, `--check-config` and the reference page
//! `docs/settings.md`; [`read`] checks everything that was given against it and names all errors at once.
//! A value that cannot be read stops the start: it never becomes the default.
//!
//! Modules, in reading order: [`kind`], [`table`], [`machine`], [`resolve`], [`relations`], [`profile`], [`typed`],
//! [`flags`], [`report`], [`error`].

mod defaults;
pub mod error;
pub mod flags;
pub mod kind;
pub mod machine;
pub mod nearest;
pub mod profile;
pub mod relations;
pub mod report;
pub mod resolve;
pub mod table;
pub mod typed;

use std::ffi::OsString;

pub use error::{SettingError, SettingErrors};
pub use machine::Machine;
pub use profile::{ChosenProfile, Profile, ProfileReason};
pub use resolve::Source;
pub use typed::{
    ApiKeySource, CertificateSource, ChaosSettings, HttpSettings, InboxSettings, LogFormat, LogSettings,
    SecretSettings, Settings, SigningKeyPaths, SmtpSettings, StorageSettings, Throttle, TlsSettings, WebhookSettings,
};

use crate::StartError;
use crate::certificate::ServerCertificate;
use crate::store_command::StoreCommand;

/// What the command line asks for.
#[derive(Debug)]
pub enum Invocation {
    /// Run the server.
    Serve(Box<Settings>),
    /// Look after the store and end.
    Store(StoreCommand, Box<Settings>),
    /// Print a text and end: help, version, effective settings, reference page.
    Print(String),
}

/// How the variables begin that say where the API key comes from: no command of the store needs one.
const API_KEY: &str = "SVC_LOCAL_API_KEY";

/// Reads the command line, which starts with the program's name, and the environment.
///
/// # Errors
/// [`StartError::Usage`] for a command line that cannot be read, else [`StartError::Settings`] with every error; a mere
/// check also reads the files of the certificate ([`StartError::Certificate`]).
pub fn read(
    argv: impl IntoIterator<Item = OsString>,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
    machine: &Machine,
) -> Result<Invocation, StartError> {
    let (asked, given_flags) = match flags::parse(argv)? {
        flags::Parsed::Print(text) => return Ok(Invocation::Print(text)),
        flags::Parsed::Run { asked, flags } => (asked, flags),
    };
    if asked == flags::Asked::Reference {
        return Ok(Invocation::Print(report::reference_page()));
    }
    let needs_key = !matches!(asked, flags::Asked::Store(_));
    let is_key = |name: &OsString| name.to_str().is_some_and(|name| name.starts_with(API_KEY));
    let environment = environment.into_iter().filter(|(name, _)| needs_key || !is_key(name));
    let resolved = resolve::resolve(given_flags, environment, machine)?;
    Ok(match asked {
        flags::Asked::CheckConfig => {
            ServerCertificate::check(&Settings::from(&resolved))?;
            Invocation::Print(report::effective(&resolved))
        }
        flags::Asked::Store(command) => Invocation::Store(command, Box::new(Settings::from(&resolved))),
        flags::Asked::Serve | flags::Asked::Reference => Invocation::Serve(Box::new(Settings::from(&resolved))),
    })
}

#[cfg(test)]
mod tests;
