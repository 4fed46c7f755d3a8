//! What all cases stand on: the binary, the place of its data, and how much is wanted.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use tempfile::TempDir;

use super::case::{Case, Sizes};
use super::million::Removal;
use crate::server::Server;
use crate::stopwatch;

/// No limit of retention may remove what is measured.
const SETTINGS: &[(&str, &str)] = &[
    ("SVC_INBOX_MAX_EMAILS", "10000000"),
    ("SVC_STORAGE_MAX_BYTES", "1000000000000"),
];

/// The ground of all cases.
pub(super) struct Ground {
    pub(super) binary: PathBuf,
    /// Where folders of data are made.
    pub(super) data: PathBuf,
    pub(super) sizes: Sizes,
    pub(super) removal: Removal,
    pub(super) wanted: Vec<Case>,
}

impl Ground {
    /// Whether a case was asked for; all are if none is named.
    pub(super) fn wants(&self, case: Case) -> bool {
        self.wanted.is_empty() || self.wanted.contains(&case)
    }

    /// A folder for the data of a server; it goes with this.
    pub(super) fn folder(&self) -> Result<TempDir> {
        let folder = tempfile::Builder::new().prefix("bench-").tempdir_in(&self.data);
        folder.with_context(|| format!("cannot make a folder in {}", self.data.display()))
    }

    /// A server with its data in the folder.
    pub(super) fn server(&self, folder: &Path) -> Result<Server> {
        self.server_with(folder, &[])
    }

    /// A server with its data in the folder and more settings.
    pub(super) fn server_with(&self, folder: &Path, settings: &[(&str, &str)]) -> Result<Server> {
        Server::start(&self.binary, folder, &[SETTINGS, settings].concat())
    }

    /// A server, and how long it took until it was ready.
    pub(super) fn timed_server(&self, folder: &Path) -> Result<(Duration, Server)> {
        let (took, server) = stopwatch::time(|| self.server(folder));
        Ok((took, server?))
    }
}
