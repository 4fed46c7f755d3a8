//! What the disk alone can do: appends that are synced one by one.

use std::fs::File;
use std::io::Write as _;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use tempfile::TempDir;

use super::figures::Waits;
use super::ground::Ground;
use crate::stopwatch;

/// A file that grows where servers keep their data; it goes with this.
pub(super) struct Appended {
    _folder: TempDir,
    file: File,
    mail: Vec<u8>,
}

impl Appended {
    /// An empty one that grows by so many bytes at a time.
    pub(super) fn new(ground: &Ground, bytes: usize) -> Result<Self> {
        let folder = ground.folder()?;
        Ok(Self {
            file: File::create(folder.path().join("appended"))?,
            mail: vec![b'x'; bytes],
            _folder: folder,
        })
    }

    /// So many appends on one thread, each with its own `fdatasync`: how many a second.
    pub(super) fn rate(mut self, mails: u32) -> Result<f64> {
        let (took, outcome) = stopwatch::time(|| (0..mails).try_for_each(|_| self.append()));
        outcome?;
        Ok(f64::from(mails) / took.as_secs_f64())
    }

    /// How long the `fdatasync` of an append takes at a pace of one each such time.
    pub(super) fn paced(mut self, syncs: usize, pace: Duration) -> Result<Waits> {
        let mut took = Vec::with_capacity(syncs);
        for _ in 0..syncs {
            self.file.write_all(&self.mail)?;
            let (wait, outcome) = stopwatch::time(|| self.file.sync_data());
            outcome.context("cannot sync where the server would")?;
            took.push(wait);
            thread::sleep(pace.saturating_sub(wait));
        }
        Ok(Waits::of(&took))
    }

    fn append(&mut self) -> Result<()> {
        let outcome = self.file.write_all(&self.mail).and_then(|()| self.file.sync_data());
        outcome.context("cannot write where the server would")
    }
}
