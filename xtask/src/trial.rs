//! What crash, history and powercut share: what they are told, the server under trial, and the client that asks it.

pub(crate) mod api;
pub(crate) mod binary;
pub(crate) mod emails_hash;
pub(crate) mod instant;

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use crate::{machine, measured, repository, stopwatch};
use binary::Binary;

/// Where the proofs are written.
const DOCUMENT: &str = "docs/RELIABILITY.md";

/// With which dice and on which server.
#[derive(Debug, Default, Args)]
pub(crate) struct Terms {
    /// Repeats the dice of a run; how threads and the disk interleave is not repeated
    #[arg(long)]
    seed: Option<u64>,
    /// Use the release server instead of the debug one
    #[arg(long)]
    release: bool,
    /// Use this binary, which is there already, instead of building one
    #[arg(long, conflicts_with = "release")]
    server: Option<PathBuf>,
    /// Write the table into docs/RELIABILITY.md
    #[arg(long, conflicts_with = "server")]
    write: bool,
}

impl Terms {
    /// Those of a short run for every change: always the same dice, and the debug server that is built already.
    ///
    /// Building it alone would choose other features of what it is made of, and compile half of that again.
    pub(crate) fn seeded(seed: u64) -> Result<Self> {
        Ok(Self {
            seed: Some(seed),
            server: Some(repository::target()?.join("debug/server")),
            ..Self::default()
        })
    }

    /// The seed that was asked for, or one of this second.
    pub(crate) fn seed(&self) -> u64 {
        self.seed.unwrap_or_else(|| stopwatch::since_epoch().as_secs())
    }

    /// The server under trial; it is built, unless one was named.
    pub(crate) fn binary(&self) -> Result<Binary> {
        Binary::chosen(self.server.as_deref(), self.release)
    }

    /// Which build that is.
    pub(crate) fn build(&self) -> &'static str {
        match (&self.server, self.release) {
            (Some(_), _) => "given",
            (None, true) => "release",
            (None, false) => "debug",
        }
    }

    /// Puts the table of a command, with the facts of the machine, into the document, if that was asked for.
    pub(crate) fn write(&self, command: &str, table: &str) -> Result<()> {
        if !self.write {
            return Ok(());
        }
        let text = format!("{}\n{table}", machine::lines()?);
        measured::write(DOCUMENT, &format!("cargo xtask {command} --write"), &text)
    }
}
