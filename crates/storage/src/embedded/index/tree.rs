//! The log-structured merge tree under the index: batches that become visible at once, and reads of one moment.
//!
//! The tree has no log of its own and needs none: ours is its log. Changes gather in a table in memory; when that is
//! full it is set aside, written to a file and synced, and files are merged in the background.
//! What a file holds is always whole batches, in their order, so the position in the log that it holds fits its rows.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use lsm_tree::compaction::Leveled;
use lsm_tree::config::PinningPolicy;
use lsm_tree::{AbstractTree, AnyTree, Cache, Config, DescriptorTable, Guard, SequenceNumberCounter, Slice};

use super::super::merge::Changes;
use super::health::Health;
use super::{IndexError, Row, intact};

/// Memory for blocks of files.
const CACHE_BYTES: u64 = 16 * 1024 * 1024;
/// Files that are kept open, at most.
const OPEN_FILES: usize = 64;
/// Bytes of changes after which a table is written; in memory it takes about three times as much.
const TABLE_BYTES: u64 = 4 * 1024 * 1024;
/// Tables that wait to be written while changes go on; more, and who changes helps.
///
/// With the one that changes go to that is about 50 MiB of memory at most, while the disk is slow.
const WAITING_TABLES: usize = 3;
/// Files that are merged at once into the next level.
const MERGED_FILES: u8 = 4;
/// Files that wait to be merged; more, and who changes helps: only far behind, as that takes long.
const WAITING_FILES: usize = 24;
/// Bytes of a merged file. Four of them are the first level, each further level is ten times as large.
const FILE_BYTES: u64 = 8 * 1024 * 1024;

/// The tree, and up to which batch it is visible.
pub(super) struct Tree {
    lsm: AnyTree,
    /// Numbers the batches, and what the tree does on its own.
    next: SequenceNumberCounter,
    /// The first number that readers do not see.
    visible: AtomicU64,
    /// Held for reading from when a reader takes its number until it holds the tables: what it sees cannot be merged
    /// away in between.
    snapshots: RwLock<()>,
    /// Held while a batch is under way.
    writing: Mutex<()>,
    /// Held while files are merged.
    merging: Mutex<()>,
    /// Bytes of changes after which a table is written.
    table_bytes: u64,
    health: Arc<Health>,
}

impl std::fmt::Debug for Tree {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tree")
            .field("visible", &self.visible)
            .finish_non_exhaustive()
    }
}

impl Tree {
    /// Opens the tree in a directory, or makes a new one there.
    pub(super) fn open(dir: &Path) -> Result<Self, IndexError> {
        Self::open_with(dir, TABLE_BYTES)
    }

    fn open_with(dir: &Path, table_bytes: u64) -> Result<Self, IndexError> {
        let next = SequenceNumberCounter::default();
        // What is visible is told here: the tree would show the batch under way when it is done with a file.
        let config = Config::new(dir, next.clone(), SequenceNumberCounter::default())
            .use_cache(Arc::new(Cache::with_capacity_bytes(CACHE_BYTES)))
            .use_descriptor_table(Some(Arc::new(DescriptorTable::new(OPEN_FILES))))
            .index_block_partitioning_policy(PinningPolicy::all(true))
            .filter_block_partitioning_policy(PinningPolicy::all(true));
        if let Some(damage) = intact::damage(dir).map_err(lsm_tree::Error::Io)? {
            return Err(IndexError::Damaged(damage));
        }
        let tree = guarded(|| config.open())?;
        let first = tree.get_highest_seqno().map_or(1, |highest| highest + 1);
        next.fetch_max(first);
        Ok(Self {
            lsm: tree,
            visible: AtomicU64::new(next.get()),
            next,
            snapshots: RwLock::default(),
            writing: Mutex::default(),
            merging: Mutex::default(),
            table_bytes,
            health: Arc::default(),
        })
    }

    /// What was found out about its files.
    pub(super) fn health(&self) -> &Health {
        &self.health
    }

    /// The value at a key.
    pub(super) fn get(&self, key: &[u8]) -> Result<Option<Slice>, IndexError> {
        let _snapshot = self.snapshots.read().unwrap_or_else(PoisonError::into_inner);
        let read = || self.lsm.get(key, self.visible.load(Ordering::Acquire));
        self.health.check(guarded(read))
    }

    /// The rows within a range of keys as they are now, from either end.
    pub(super) fn range(
        &self,
        keys: Range<Vec<u8>>,
    ) -> impl DoubleEndedIterator<Item = Result<Row, IndexError>> + use<> {
        let rows = {
            let _snapshot = self.snapshots.read().unwrap_or_else(PoisonError::into_inner);
            // Keys that are in the wrong order are no range: the tree would panic.
            let keys = if keys.start <= keys.end {
                keys
            } else {
                Vec::new()..Vec::new()
            };
            self.lsm.range(keys, self.visible.load(Ordering::Acquire), None)
        };
        let health = Arc::clone(&self.health);
        rows.map(move |row| health.check(guarded(|| row.into_inner())))
    }

    /// Makes changes visible in one step. Says whether there is something to tidy.
    ///
    /// To be called by one thread at a time.
    pub(super) fn apply(&self, changes: Changes) -> Result<bool, IndexError> {
        let is_full = {
            let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
            let number = self.next.next();
            for (key, value) in changes {
                match value {
                    Some(value) => self.lsm.insert(key, value, number),
                    None => self.lsm.remove(key, number),
                };
            }
            self.visible.store(number + 1, Ordering::Release);
            self.lsm.active_memtable().size() >= self.table_bytes
        };
        if !is_full {
            return Ok(false);
        }
        self.set_aside();
        if self.lsm.sealed_memtable_count() > WAITING_TABLES {
            self.write_tables()?;
        }
        if self.lsm.l0_run_count() > WAITING_FILES {
            self.tidy()?;
        }
        Ok(true)
    }

    /// Hands all changes to files, so that a restart need not replay them.
    pub(super) fn flush(&self) -> Result<(), IndexError> {
        self.set_aside();
        self.write_tables()
    }

    /// Writes the tables that were set aside, and merges files as long as there are too many.
    pub(super) fn tidy(&self) -> Result<(), IndexError> {
        self.write_tables()?;
        let _merging = self.merging.lock().unwrap_or_else(PoisonError::into_inner);
        let strategy = Leveled::default()
            .with_l0_threshold(MERGED_FILES)
            .with_table_target_size(FILE_BYTES);
        let strategy = Arc::new(strategy);
        loop {
            let before = self.lsm.current_version().id();
            let merged = guarded(|| self.lsm.compact(strategy.clone(), self.seen_by_all()));
            self.health.check(merged)?;
            if self.lsm.current_version().id() == before {
                return Ok(());
            }
            self.show();
            self.write_tables()?;
        }
    }

    /// Writes the tables that were set aside; files may be merged meanwhile.
    fn write_tables(&self) -> Result<(), IndexError> {
        let lock = self.lsm.get_flush_lock();
        let written = guarded(|| self.lsm.flush(&lock, self.seen_by_all()));
        if self.health.check(written)?.is_some() {
            self.show();
        }
        Ok(())
    }

    /// Sets the table in memory aside, between two batches and while no reader is between its number and its tables:
    /// whatever reads later sees all that is in it.
    fn set_aside(&self) {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let _snapshots = self.snapshots.write().unwrap_or_else(PoisonError::into_inner);
        self.lsm.rotate_memtable();
    }

    /// The number that every reader from now on sees up to, at least.
    fn seen_by_all(&self) -> u64 {
        let _snapshots = self.snapshots.write().unwrap_or_else(PoisonError::into_inner);
        self.visible.load(Ordering::Acquire)
    }

    /// Lets readers see the files as the tree has just changed them, and lets go of those that nobody sees any more.
    fn show(&self) {
        {
            let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
            // No batch is under way, so all numbers that were given are whole.
            self.visible.store(self.next.get(), Ordering::Release);
        }
        let seen = self.seen_by_all();
        let dir = &self.lsm.tree_config().path;
        if let Err(error) = self.lsm.get_version_history_lock().maintenance(dir, seen) {
            tracing::warn!(%error, "cannot delete old files of the index");
        }
    }
}

/// What the tree does; it asserts on some damaged files instead of returning an error.
fn guarded<T>(act: impl FnOnce() -> lsm_tree::Result<T>) -> Result<T, IndexError> {
    Ok(catch_unwind(AssertUnwindSafe(act)).map_err(|_| IndexError::Panicked)??)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::atomic::AtomicBool;

    use proptest::prelude::*;

    use super::*;

    /// Tables so small that almost every batch is a file.
    const SMALL: u64 = 64;

    fn rows(tree: &Tree, keys: Range<Vec<u8>>) -> Vec<(Vec<u8>, Vec<u8>)> {
        let row = |row: Result<Row, IndexError>| row.map(|(key, value)| (key.to_vec(), value.to_vec())).unwrap();
        tree.range(keys).map(row).collect()
    }

    /// What happens to a tree.
    #[derive(Debug, Clone)]
    enum Act {
        Apply(Vec<(u8, Option<u8>)>),
        Flush,
        Tidy,
        Reopen,
    }

    fn act() -> impl Strategy<Value = Act> {
        let change = (0..30_u8, proptest::option::of(any::<u8>()));
        prop_oneof![
            6 => proptest::collection::vec(change, 1..6).prop_map(Act::Apply),
            1 => Just(Act::Flush),
            1 => Just(Act::Tidy),
            1 => Just(Act::Reopen),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

        /// Whenever changes become files and files are merged, the rows are those of a map; what is reopened without
        /// a flush is the map as it was after some batch.
        #[test]
        fn a_tree_is_a_map(acts in proptest::collection::vec(act(), 1..60)) {
            let dir = tempfile::tempdir().unwrap();
            let mut tree = Tree::open_with(dir.path(), SMALL).unwrap();
            let mut states = vec![BTreeMap::new()];
            for act in acts {
                let mut now = states.last().cloned().unwrap_or_default();
                match act {
                    Act::Apply(changes) => {
                        let batch = changes.iter().map(|(key, value)| (vec![*key], value.map(|value| Slice::from([value]))));
                        tree.apply(batch.collect()).unwrap();
                        for (key, value) in changes {
                            match value {
                                Some(value) => now.insert(vec![key], vec![value]),
                                None => now.remove(&vec![key]),
                            };
                        }
                        states.push(now);
                    }
                    Act::Flush => tree.flush().unwrap(),
                    Act::Tidy => tree.tidy().unwrap(),
                    Act::Reopen => {
                        drop(tree);
                        tree = Tree::open_with(dir.path(), SMALL).unwrap();
                        let found: BTreeMap<_, _> = rows(&tree, vec![0]..vec![255]).into_iter().collect();
                        let at = states.iter().rposition(|state| *state == found);
                        prop_assert!(at.is_some(), "no batch left {found:?}");
                        states.truncate(at.unwrap_or_default() + 1);
                    }
                }
                let expected: Vec<_> = states.last().cloned().unwrap_or_default().into_iter().collect();
                prop_assert_eq!(rows(&tree, vec![0]..vec![255]), expected);
            }
        }
    }

    #[test]
    fn a_flush_keeps_all_that_was_applied() {
        let dir = tempfile::tempdir().unwrap();
        let tree = Tree::open(dir.path()).unwrap();
        tree.apply(BTreeMap::from([(b"a".to_vec(), Some(Slice::from(b"1")))]))
            .unwrap();
        tree.flush().unwrap();
        drop(tree);
        let tree = Tree::open(dir.path()).unwrap();
        assert_eq!(tree.get(b"a").unwrap().as_deref(), Some(b"1".as_slice()));
    }

    /// Not one wrong bit in what says how much there is asks for memory without end.
    #[test]
    fn a_damaged_list_is_refused_before_room_is_made_for_it() {
        const LISTS_BYTES: usize = 400;
        let dir = tempfile::tempdir().unwrap();
        let tree = Tree::open(dir.path()).unwrap();
        let batch = (0..9_u8).map(|key| (vec![key], Some(Slice::from([key]))));
        tree.apply(batch.collect()).unwrap();
        tree.flush().unwrap();
        drop(tree);
        let of = |folder: &Path| {
            let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
            entries.filter(|path| path.is_file()).collect::<Vec<_>>()
        };
        let lists = of(dir.path());
        let tables = of(&dir.path().join("tables"));
        assert!(lists.len() >= 2 && !tables.is_empty(), "{lists:?} {tables:?}");
        for path in lists.iter().chain(&tables) {
            let whole = std::fs::read(path).unwrap();
            for at in whole.len().saturating_sub(LISTS_BYTES)..whole.len() {
                for bit in [0, 7] {
                    let mut wrong = whole.clone();
                    wrong[at] ^= 1 << bit;
                    std::fs::write(path, wrong).unwrap();
                    let opened = Tree::open(dir.path());
                    let is_named = path.file_name().is_some_and(|name| name == "current");
                    assert!(opened.is_err() || !is_named, "{} {at}", path.display());
                }
            }
            std::fs::write(path, whole).unwrap();
        }
        assert_eq!(rows(&Tree::open(dir.path()).unwrap(), vec![0]..vec![9]).len(), 9);
    }

    /// A batch sets all keys to one value: a reader that finds two values has seen half a batch, and one that misses
    /// a key has seen a merge take away what it was to see.
    #[test]
    fn readers_see_whole_batches_while_files_are_merged() {
        const KEYS: u8 = 40;
        let dir = tempfile::tempdir().unwrap();
        let tree = Tree::open_with(dir.path(), 4 * SMALL).unwrap();
        let batch = |value: u32| (0..KEYS).map(move |key| (vec![key], Some(Slice::from(value.to_be_bytes()))));
        tree.apply(batch(0).collect()).unwrap();
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !is_done.load(Ordering::Relaxed) {
                        let found = rows(&tree, vec![0]..vec![KEYS]);
                        assert_eq!(found.len(), usize::from(KEYS));
                        assert!(found.iter().all(|(_, value)| *value == found[0].1));
                        assert!(tree.get(&[7]).unwrap().is_some());
                    }
                });
            }
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    tree.tidy().unwrap();
                }
            });
            for value in 1..400 {
                tree.apply(batch(value).collect()).unwrap();
            }
            is_done.store(true, Ordering::Relaxed);
        });
        assert_eq!(rows(&tree, vec![0]..vec![KEYS])[0].1, 399_u32.to_be_bytes());
    }
}
