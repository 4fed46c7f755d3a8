//! The index, written anew when most of what it takes on disk is dead.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::super::commit::Committer;
use super::super::index::{Index, rewrite};
use super::stopped::Stopped;
use super::{Compactor, index_of};

/// An index below this size is not written anew.
pub(super) const INDEX_FLOOR: u64 = 4 * 1024 * 1024;
/// Rows that are counted in one step.
const COUNT_ROWS: usize = 10_000;
/// How often, and after what pause, the old index is looked at: readers let it go within moments.
const LET_GO: (usize, Duration) = (100, Duration::from_millis(10));

impl Compactor {
    /// Writes the index anew if it takes more than four times its rows.
    ///
    /// Counting them takes time: it is done when the index has grown by half since the last time.
    pub(super) fn tend_index(&mut self) -> Result<(), Stopped> {
        let size = self.shared.index()?.size_on_disk()?;
        if size >= self.index_limit {
            let is_mostly_dead = size > 4 * self.count_row_bytes()?;
            self.index_limit = size + size / 2;
            if is_mostly_dead {
                self.rewrite_index(size)?;
                let new = self.shared.index()?.size_on_disk()?;
                self.index_limit = INDEX_FLOOR.max(new + new / 2);
                tracing::info!(from = size, to = new, "the index is written anew");
            }
        }
        #[cfg(test)]
        if self.rewrites_always {
            self.rewrite_index(size)?;
        }
        Ok(())
    }

    fn count_row_bytes(&self) -> Result<u64, Stopped> {
        let (mut total, mut next) = (0, Some(Vec::new()));
        while let Some(from) = next {
            let (bytes, then) = self.shared.index()?.row_bytes(from, COUNT_ROWS)?;
            total += bytes;
            next = then;
            self.pause(Duration::ZERO)?;
        }
        Ok(total)
    }

    /// Writes an index anew that takes this size now. One that is not finished leaves nothing behind.
    fn rewrite_index(&mut self, size: u64) -> Result<(), Stopped> {
        // It takes less in the end, but for a while sled may take more than it keeps.
        if self.shared.free_bytes().unwrap_or(0) <= size {
            return Err(Stopped::NoRoom { bytes: size });
        }
        let (old, dir) = self.fill_new().inspect_err(|_| {
            // Without an index the committer makes one, and deletes all others.
            if let Ok(index) = self.shared.index() {
                index.abandon_rewrite();
            }
        })?;
        old.map_or(Ok(()), |old| self.delete_old(old, &dir))
    }

    /// Fills a new index and puts it in the place of the old one, which it gives back.
    fn fill_new(&mut self) -> Result<(Option<Arc<Index>>, std::path::PathBuf), Stopped> {
        self.upkeep(Committer::begin_rewrite)?;
        let mut next = Some(Vec::new());
        while let Some(from) = next {
            let started = Instant::now();
            next = self.upkeep(|committer| Ok(index_of(&committer.shared)?.copy_rows(from)?))?;
            let took = started.elapsed();
            // The log must not outgrow its bound meanwhile.
            let is_urgent = self.compact_urgent()?;
            self.pause(if is_urgent { Duration::ZERO } else { took })?;
        }
        self.shared.index()?.flush_rewritten()?;
        self.upkeep(Committer::finish_rewrite)
    }

    /// Drops an index that is not used any more, once its last reader has gone, and deletes it.
    ///
    /// Here, because both take long: the committer would hold up all mail, a reader the thread that it runs on.
    fn delete_old(&self, mut old: Arc<Index>, dir: &Path) -> Result<(), Stopped> {
        let (looks, pause) = LET_GO;
        for _ in 0..looks {
            match Arc::try_unwrap(old) {
                Ok(index) => {
                    rewrite::delete(index, dir);
                    return Ok(());
                }
                Err(held) => old = held,
            }
            self.pause(pause)?;
        }
        rewrite::delete(old, dir);
        Ok(())
    }
}
