//! What an operator does with a store that no server uses: verify it, make its index anew, count it, empty it, fill it.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use restante_model::{InboxKey, Timestamp};
use rustix::fs::{FlockOperation, flock};

use super::frame::FORMAT;
use super::index::{Index, IndexError, Rows};
use super::log::{FILE_MODE, segment_numbers, segment_path, sync_dir};
use super::open::{self, EmbeddedConfig, OpenError, not_usable};
use super::replay::ReplayError;
use super::rows::{MailRow, decode};
use super::shared::segments_dir;
use super::stamp::Stamp;
use super::verify::{self, Finding, Progress, Verified};
use super::{Embedded, marker};

/// Why a tool cannot do its work: one line for the operator.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// There is nothing to work on; tools make no store.
    #[error("there is no store in {}", path.display())]
    NoStore {
        /// The directory.
        path: PathBuf,
    },
    /// The store cannot be opened, or is in use.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A directory beside the store, or for what a tool makes, cannot be used.
    #[error("{}: {error}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

/// What a store takes and holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statistics {
    /// The version of the format.
    pub format: u32,
    /// What its mail depends on.
    pub stamp: Stamp,
    /// Inboxes that are not retired; some may have expired.
    pub inboxes: u64,
    /// Their emails.
    pub emails: u64,
    /// Bytes of what is live: records of inboxes and of their emails.
    pub live_bytes: u64,
    /// Bytes of the log.
    pub log_bytes: u64,
    /// Files of the log.
    pub segments: u64,
    /// Bytes of the index.
    pub index_bytes: u64,
    /// When the oldest of these emails arrived.
    pub oldest_email: Option<Timestamp>,
    /// When the newest did.
    pub newest_email: Option<Timestamp>,
}

/// A store that nothing else uses while this is held.
#[derive(Debug)]
pub struct HeldStore {
    path: PathBuf,
    stamp: Stamp,
    lock: File,
}

impl HeldStore {
    /// Takes a store, which must be there and whole in what stands beside its log. Changes nothing in it; a lock file
    /// that is missing is made.
    ///
    /// # Errors
    /// [`ToolError::NoStore`], [`OpenError::Locked`], and whatever else keeps a server from opening it.
    pub fn hold(path: &Path) -> Result<Self, ToolError> {
        let lock = hold_directory(path)?;
        let stamp = open::check_format(path)?.ok_or_else(|| ToolError::NoStore { path: path.to_owned() })?;
        let path = path.to_owned();
        Ok(Self { path, stamp, lock })
    }

    /// What its mail depends on.
    pub fn stamp(&self) -> &Stamp {
        &self.stamp
    }

    /// Reads every byte and compares the index with the log; `scratch` is a directory with room for two indexes.
    ///
    /// `watch` hears how far it is, `tell` what it finds. Nothing of the store is changed.
    ///
    /// # Errors
    /// What keeps it from going on; damage does not.
    pub fn verify(
        &self,
        scratch: &Path,
        watch: impl FnMut(Progress),
        tell: impl FnMut(&Finding),
    ) -> Result<Verified, ToolError> {
        verify::verify(&self.path, scratch, watch, tell).map_err(|error| self.failed(error))
    }

    /// Makes the index anew from the log. Gives back what the store holds.
    ///
    /// # Errors
    /// [`OpenError::Damaged`] where a start would be refused; the next start makes the index anew then.
    pub fn rebuild(&self) -> Result<Statistics, ToolError> {
        marker::delete_others(&self.path, None).map_err(|error| not_usable(&self.path, error))?;
        self.statistics()
    }

    /// Counts, as the next start finds it: the index is brought to the end of the log first.
    ///
    /// # Errors
    /// Whatever would keep a server from starting.
    pub fn statistics(&self) -> Result<Statistics, ToolError> {
        let (index, dir) = open::index_at_end(&self.path)?;
        let counted = self.count(&index, &dir);
        let left = self.leave(index, &dir);
        counted
            .and_then(|counted| left.map(|()| counted))
            .map_err(|error| self.failed(error))
    }

    fn count(&self, index: &Index, index_dir: &Path) -> Result<Statistics, ReplayError> {
        let meta = index.meta()?;
        let (oldest, newest) = arrivals(index)?;
        let segments = segments_dir(&self.path);
        let numbers = segment_numbers(&segments)?;
        let lengths = numbers
            .iter()
            .map(|segment| Ok(fs::metadata(segment_path(&segments, *segment))?.len()));
        Ok(Statistics {
            format: FORMAT,
            stamp: self.stamp.clone(),
            inboxes: meta.inboxes,
            emails: meta.emails,
            live_bytes: meta.live_bytes,
            log_bytes: lengths.sum::<io::Result<u64>>()?,
            segments: numbers.len() as u64,
            index_bytes: bytes_of(index_dir)?,
            oldest_email: oldest,
            newest_email: newest,
        })
    }

    /// Closes an index so that the next start believes it.
    fn leave(&self, index: Index, dir: &Path) -> Result<(), ReplayError> {
        index.flush()?;
        drop(index);
        Ok(marker::closed(&self.path, dir)?)
    }

    /// Lets the store go, to open it as a server does: read and written through the [`crate::Store`] trait.
    ///
    /// # Errors
    /// As [`Embedded::open`].
    pub fn open(self) -> Result<Embedded, ToolError> {
        let config = EmbeddedConfig::new(&self.path, self.stamp);
        drop(self.lock);
        Ok(Embedded::open(&config)?)
    }

    fn failed(&self, error: ReplayError) -> ToolError {
        open::replay_error(&self.path, error).into()
    }
}

/// Removes a store with all its mail, whatever its format and however damaged it is; nothing beside it is touched.
///
/// # Errors
/// [`ToolError::NoStore`], [`OpenError::Locked`], or what the system says.
pub fn remove(path: &Path) -> Result<(), ToolError> {
    let _lock = hold_directory(path)?;
    remove_held(path)
}

/// In one step, as far as a start can see: half a store is never where the store is looked for.
fn remove_held(path: &Path) -> Result<(), ToolError> {
    let aside = beside(path, "removed");
    let failed = |error| directory_error(path, error);
    remove_if_there(&aside)?;
    fs::rename(path, &aside).map_err(failed)?;
    sync_parent(path)?;
    remove_if_there(&aside)
}

/// A store under construction beside the place where it will be: all or nothing.
#[derive(Debug)]
pub struct NewStore {
    path: PathBuf,
    building: PathBuf,
    /// The empty store that it replaces, if there is one.
    replaced: Option<File>,
}

impl NewStore {
    /// Begins a store that will be in `path`, where there must be none, or one without inboxes. What an earlier one
    /// that was not finished left behind is removed.
    ///
    /// # Errors
    /// [`ToolError`]; `Ok(None)` if the store that is there is not empty.
    pub fn begin(path: &Path) -> Result<Option<Self>, ToolError> {
        let replaced = match HeldStore::hold(path) {
            Ok(held) if held.statistics()?.inboxes > 0 => return Ok(None),
            Ok(held) => Some(held.lock),
            Err(ToolError::NoStore { .. }) => None,
            Err(error) => return Err(error),
        };
        let building = beside(path, "import");
        remove_if_there(&building)?;
        let path = path.to_owned();
        Ok(Some(Self {
            path,
            building,
            replaced,
        }))
    }

    /// Opens it, to be filled. It must be closed and dropped before [`NewStore::finish`].
    ///
    /// # Errors
    /// As [`Embedded::open`].
    pub fn open(&self, stamp: Stamp) -> Result<Embedded, ToolError> {
        Ok(Embedded::open(&EmbeddedConfig::new(&self.building, stamp))?)
    }

    /// Puts it in its place.
    ///
    /// # Errors
    /// [`ToolError::Directory`]; the place holds what it held then, or nothing.
    pub fn finish(self) -> Result<(), ToolError> {
        if self.replaced.is_some() {
            remove_held(&self.path)?;
        }
        fs::rename(&self.building, &self.path).map_err(|error| directory_error(&self.path, error))?;
        sync_parent(&self.path)
    }

    /// Removes it.
    ///
    /// # Errors
    /// [`ToolError::Directory`].
    pub fn abandon(self) -> Result<(), ToolError> {
        remove_if_there(&self.building)
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{name}.{suffix}"))
}

fn remove_if_there(path: &Path) -> Result<(), ToolError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(directory_error(path, error)),
        _ => Ok(()),
    }
}

fn sync_parent(path: &Path) -> Result<(), ToolError> {
    let parent = path.parent().unwrap_or(path);
    sync_dir(parent).map_err(|error| directory_error(parent, error))
}

fn directory_error(path: &Path, error: io::Error) -> ToolError {
    let path = path.to_owned();
    ToolError::Directory { path, error }
}

/// Locks a directory that is there, as a server does.
fn hold_directory(path: &Path) -> Result<File, ToolError> {
    let usable = |error| not_usable(path, error);
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(ToolError::NoStore { path: path.to_owned() });
        }
        Err(error) => return Err(usable(error).into()),
        Ok(metadata) if !metadata.is_dir() => {
            return Err(OpenError::NotADirectory { path: path.to_owned() }.into());
        }
        Ok(_) => {}
    }
    let lock = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(FILE_MODE)
        .open(path.join("LOCK"))
        .map_err(usable)?;
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(lock),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(OpenError::Locked { path: path.to_owned() }.into()),
        Err(error) => Err(usable(error.into()).into()),
    }
}

/// When the first and the last email of the inboxes that are not retired arrived.
fn arrivals(index: &Index) -> Result<(Option<Timestamp>, Option<Timestamp>), IndexError> {
    let (mut oldest, mut newest) = (None::<u64>, None::<u64>);
    let mut last = None;
    for row in index.iter(b"m".to_vec()..b"n".to_vec()) {
        let (name, value) = row?;
        let inbox = name
            .get(1..17)
            .and_then(|inbox| inbox.try_into().ok())
            .ok_or(IndexError::Missing)?;
        let is_live = match last {
            Some((known, is_live)) if known == inbox => is_live,
            _ => index.inbox(InboxKey::from_bytes(inbox))?.is_some(),
        };
        last = Some((inbox, is_live));
        if is_live {
            let at = decode::<MailRow>(&value)?.received_at;
            oldest = Some(oldest.map_or(at, |oldest| oldest.min(at)));
            newest = newest.max(Some(at));
        }
    }
    Ok((oldest.map(Timestamp::from_unix_ms), newest.map(Timestamp::from_unix_ms)))
}

/// Bytes of the files in a directory and below.
fn bytes_of(dir: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        bytes += if entry.file_type()?.is_dir() {
            bytes_of(&entry.path())?
        } else {
            entry.metadata()?.len()
        };
    }
    Ok(bytes)
}
