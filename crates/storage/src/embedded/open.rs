//! Opening a store: the lock, the stamp, the index and the end of the log.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::due::Due;
use super::frame::FORMAT;
use super::index::{Index, IndexError, Rows};
use super::ledger::{Bound, Ledger};
use super::lock;
use super::log::{Log, segment_numbers, sync_dir};
use super::manifest::Manifest;
use super::marker::{self, DIR_MODE};
use super::replay::{End, ReplayError, replay};
use super::rows::{key, queue_key};
use super::shared::segments_dir;
use super::stamp::{self, Stamp, Stamped};

/// How an embedded store is opened.
#[derive(Debug, Clone)]
pub struct EmbeddedConfig {
    /// Its directory; made if it does not exist. One instance at a time uses it.
    pub path: PathBuf,
    /// Mail is refused while the disk has less free space than this.
    pub min_free_bytes: u64,
    /// What the stored mail depends on.
    pub stamp: Stamp,
    /// Size at which a segment of the log ends and the next begins.
    ///
    /// The log is compacted when it takes more than twice what is live and one segment.
    pub segment_bytes: u64,
    #[cfg(test)]
    pub(super) compact_below: Option<u64>,
}

impl EmbeddedConfig {
    /// Segments of 64 MiB, and no floor of free space.
    pub fn new(path: impl Into<PathBuf>, stamp: Stamp) -> Self {
        Self {
            path: path.into(),
            min_free_bytes: 0,
            stamp,
            segment_bytes: 64 * 1024 * 1024,
            #[cfg(test)]
            compact_below: None,
        }
    }

    fn bound(&self) -> Bound {
        #[cfg(test)]
        if let Some(percent) = self.compact_below {
            return Bound::Share(percent);
        }
        Bound::Double {
            slack: self.segment_bytes,
        }
    }
}

/// Why a store does not open: one line for the person who starts the server.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has it open.
    #[error("the data directory {} is in use by another instance", path.display())]
    Locked {
        /// The directory.
        path: PathBuf,
    },
    /// The path leads to something else.
    #[error("{} is not a directory", path.display())]
    NotADirectory {
        /// The path.
        path: PathBuf,
    },
    /// The directory belongs to another user.
    #[error(
        "the data directory {} belongs to user id {owner}, and this process runs as user id {user}: run it as the owner",
        path.display()
    )]
    NotOwned {
        /// The directory.
        path: PathBuf,
        /// The user id of its owner.
        owner: u32,
        /// The user id of this process.
        user: u32,
    },
    /// The directory cannot be read or written.
    #[error("the data directory {} cannot be used: {error}", path.display())]
    NotUsable {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// A store of another version of this program.
    #[error(
        "the store in {} has format {found}, and this version reads format {FORMAT}: export it with the version that \
         wrote it and import that here, or use another data directory (docs/STORE.md)",
        path.display()
    )]
    Format {
        /// The directory.
        path: PathBuf,
        /// The format that it has.
        found: String,
    },
    /// A part of it is not there.
    #[error("the store in {} is incomplete: it has no {lacking}; was it copied to its end?", path.display())]
    Incomplete {
        /// The directory.
        path: PathBuf,
        /// What is missing in it.
        lacking: &'static str,
    },
    /// Its mail was stored under another wire profile or keys.
    #[error(
        "the store in {} was filled with {what} {stored}, and this start has {ours}: \
         start with the former again, use another data directory, or delete this one with all its mail",
        path.display()
    )]
    OtherStamp {
        /// The directory.
        path: PathBuf,
        /// Which value differs.
        what: &'static str,
        /// The value of the store.
        stored: String,
        /// The value of this start.
        ours: String,
    },
    /// Mail that was acknowledged cannot be read.
    #[error(
        "the store in {} is damaged: segment {segment} cannot be read at byte {offset}; \
         `server store rebuild --accept-damage` gives up what cannot be read (docs/STORE.md)",
        path.display()
    )]
    Damaged {
        /// The directory.
        path: PathBuf,
        /// The number of the segment file.
        segment: u32,
        /// Where in it.
        offset: u64,
    },
    /// A file is not there, and with it mail that was acknowledged: the directory was copied in part, perhaps.
    #[error("the store in {} is not whole: {} is missing", path.display(), file.display())]
    Missing {
        /// The directory.
        path: PathBuf,
        /// The file.
        file: PathBuf,
    },
    /// The list of the segments cannot be read, so that nobody knows whether one is missing.
    #[error("the store in {} is damaged: {} cannot be read", path.display(), file.display())]
    Spoiled {
        /// The directory.
        path: PathBuf,
        /// The file.
        file: PathBuf,
    },
    /// The index can be neither opened nor made anew.
    #[error("the index of the store in {} cannot be made: {reason}", path.display())]
    Index {
        /// The directory.
        path: PathBuf,
        /// What failed.
        reason: String,
    },
}

/// What opening had to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Recovery {
    /// Whether there was no store, and one was made.
    pub created: bool,
    /// Whether the index was made anew from the whole log.
    pub rebuilt: bool,
    /// Calls of the log that the index had not applied.
    pub replayed: u64,
    /// Bytes cut off the end of the log: an unfinished write, or a last group that was spoiled since (ADR 0009).
    pub torn_bytes: u64,
}

/// An opened directory.
pub(super) struct Opened {
    pub(super) lock: File,
    pub(super) index: Index,
    pub(super) index_dir: PathBuf,
    pub(super) log: Log,
    pub(super) due: Due,
    pub(super) ledger: Ledger,
    pub(super) manifest: Manifest,
    pub(super) recovery: Recovery,
}

/// Opens the directory of a store that the caller has locked.
pub(super) fn open(config: &EmbeddedConfig, lock: File) -> Result<Opened, OpenError> {
    let usable = |error| not_usable(&config.path, error);
    let segments = segments_dir(&config.path);
    let stored = check_format(&config.path)?;
    make_dir(&segments).map_err(usable)?;
    sync_dir(&config.path).map_err(usable)?;
    // Last, so that a store with a stamp and without its segments is known to be incomplete.
    if stored.is_none() {
        stamp::write(&config.path, &config.stamp).map_err(usable)?;
    }
    let failed = |error: ReplayError| replay_error(&config.path, error);
    let manifest = Manifest::open(&segments).map_err(failed)?;
    manifest.trim().map_err(failed)?;
    let (index, index_dir, end, rebuilt) = open_index(&config.path, &manifest)?;
    check_stamp(config, stored.as_ref(), &index)?;
    let sequence = index.meta().map_err(|error| failed(error.into()))?.last_sequence;
    let known = (manifest.synced_bytes(end.segment), end.offset);
    let log = Log::open(&segments, end.segment, known, config.segment_bytes, sequence).map_err(usable)?;
    manifest.note_synced(log.end()).map_err(usable)?;
    let ledger = Ledger::new(config.bound());
    ledger.load(&segments, &index).map_err(failed)?;
    let due = Due::default();
    due.load(&index).map_err(|error| failed(error.into()))?;
    let recovery = Recovery {
        created: stored.is_none(),
        rebuilt: rebuilt && stored.is_some(),
        replayed: end.calls,
        torn_bytes: end.torn_bytes,
    };
    tell(recovery, end);
    Ok(Opened {
        lock,
        index,
        index_dir,
        log,
        due,
        ledger,
        manifest,
        recovery,
    })
}

fn tell(recovery: Recovery, end: End) {
    let Recovery {
        created,
        rebuilt,
        replayed,
        torn_bytes,
    } = recovery;
    if torn_bytes > 0 {
        tracing::warn!(
            segment = end.segment,
            offset = end.offset,
            bytes = torn_bytes,
            "cut what cannot be read off the end of the log: an unfinished write, unless the disk spoiled it"
        );
    }
    if created {
        tracing::info!("made a new store");
    } else {
        tracing::info!(rebuilt, replayed, segment = end.segment, "opened the store");
    }
}

pub(super) fn not_usable(path: &Path, error: io::Error) -> OpenError {
    let path = path.to_owned();
    if error.kind() == io::ErrorKind::NotADirectory {
        return OpenError::NotADirectory { path };
    }
    if error.kind() == io::ErrorKind::PermissionDenied
        && let Ok(metadata) = fs::metadata(&path)
    {
        let (owner, user) = (metadata.uid(), rustix::process::geteuid().as_raw());
        if owner != user {
            return OpenError::NotOwned { path, owner, user };
        }
    }
    OpenError::NotUsable { path, error }
}

fn make_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(DIR_MODE).create(path)
}

pub(super) fn parent(path: &Path) -> &Path {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

/// Locks a directory, which is made if it is not there.
pub(super) fn lock_directory(path: &Path) -> Result<File, OpenError> {
    if path.exists() && !path.is_dir() {
        return Err(OpenError::NotADirectory { path: path.to_owned() });
    }
    make_dir(path)
        .and_then(|()| sync_dir(parent(path)))
        .map_err(|error| not_usable(path, error))?;
    lock::take(path)
}

/// The stamp, once the format is known to be ours; none in a new directory.
pub(super) fn check_format(path: &Path) -> Result<Option<Stamp>, OpenError> {
    let other = |found| {
        Err(OpenError::Format {
            path: path.to_owned(),
            found,
        })
    };
    let incomplete = |lacking| {
        let path = path.to_owned();
        Err(OpenError::Incomplete { path, lacking })
    };
    match stamp::read(path).map_err(|error| not_usable(path, error))? {
        Stamped::Ours(_) if !segments_dir(path).exists() => incomplete("segments"),
        Stamped::Ours(stamp) => Ok(Some(stamp)),
        Stamped::OtherFormat(found) => other(found),
        Stamped::Nothing if holds_segments(path)? => incomplete("stamp"),
        Stamped::Nothing => Ok(None),
    }
}

/// Whether there are segments: a start that ended early has made the directory and nothing in it.
fn holds_segments(path: &Path) -> Result<bool, OpenError> {
    match segment_numbers(&segments_dir(path)) {
        Ok(numbers) => Ok(!numbers.is_empty()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(not_usable(path, error)),
    }
}

/// An empty store takes any stamp; another one only its own.
fn check_stamp(config: &EmbeddedConfig, stored: Option<&Stamp>, index: &Index) -> Result<(), OpenError> {
    let path = config.path.clone();
    let Some((what, stored, ours)) = stored.and_then(|stored| config.stamp.difference(stored)) else {
        return Ok(());
    };
    let failed = |error: IndexError| OpenError::Index {
        path: path.clone(),
        reason: error.to_string(),
    };
    let has_none = |prefix| index.prefix(prefix, 1).map(|rows| rows.is_empty()).map_err(failed);
    let has_inboxes = index.meta().map_err(failed)?.inboxes > 0 || !has_none(key::RETIRED)?;
    // Webhooks are sealed with a key of the stamp too.
    if !has_inboxes && has_none(queue_key::WEBHOOKS)? {
        return stamp::write(&path, &config.stamp).map_err(|error| not_usable(&path, error));
    }
    Err(OpenError::OtherStamp {
        path,
        what,
        stored,
        ours,
    })
}

/// The index at the end of the log: the one that is there if it may be believed and opens, or a new one.
fn open_index(path: &Path, manifest: &Manifest) -> Result<(Index, PathBuf, End, bool), OpenError> {
    let failed = |error| replay_error(path, error);
    let usable = |error| not_usable(path, error);
    if let Some(dir) = marker::trusted(path).map_err(usable)? {
        marker::delete_others(path, Some(&dir)).map_err(usable)?;
        match open_at(path, manifest, &dir) {
            Ok((index, end)) => return Ok((index, dir, end, false)),
            Err(error @ (ReplayError::Damaged { .. } | ReplayError::Missing { .. })) => return Err(failed(error)),
            Err(error) => tracing::warn!(%error, "the index is made anew from the log"),
        }
    }
    let mut last = marker::last_number(path).map_err(usable)?;
    marker::delete_others(path, None).map_err(usable)?;
    let dir = marker::create(path, &mut last).map_err(usable)?;
    let (index, end) = open_at(path, manifest, &dir).map_err(failed)?;
    Ok((index, dir, end, true))
}

/// The index of a store that the caller holds, at the end of the log, and its directory.
pub(super) fn index_at_end(path: &Path) -> Result<(Index, PathBuf), OpenError> {
    let failed = |error| replay_error(path, error);
    let manifest = Manifest::open(&segments_dir(path)).map_err(failed)?;
    manifest.trim().map_err(failed)?;
    let (index, dir, ..) = open_index(path, &manifest)?;
    Ok((index, dir))
}

fn open_at(path: &Path, manifest: &Manifest, dir: &Path) -> Result<(Index, End), ReplayError> {
    marker::opened(path, dir)?;
    let index = Index::open(dir)?;
    let end = replay(&index, manifest)?;
    // The rows that a start needs can be read: otherwise a damaged index would keep it from starting.
    Ledger::new(Bound::Double { slack: 0 }).load(manifest.dir(), &index)?;
    Due::default().load(&index)?;
    Ok((index, end))
}

pub(super) fn replay_error(path: &Path, error: ReplayError) -> OpenError {
    let path = path.to_owned();
    match error {
        ReplayError::Io(error) => not_usable(&path, error),
        ReplayError::Damaged { segment, offset } => OpenError::Damaged { path, segment, offset },
        ReplayError::Missing { file } => OpenError::Missing { path, file },
        ReplayError::Spoiled { file } => OpenError::Spoiled { path, file },
        error @ (ReplayError::Index(_) | ReplayError::Ahead) => OpenError::Index {
            path,
            reason: error.to_string(),
        },
    }
}
