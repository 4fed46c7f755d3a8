//! What an operator does with a store that no server uses: verify it, make its index anew, count it, empty it, fill it.
//!
//! Modules: `replace` (a store that goes, and one that takes its place).

mod replace;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use restante_model::{InboxKey, Timestamp, WebhookId};

use super::frame::FORMAT;
use super::index::{Index, IndexError, Rows};
use super::judge::{self, Accepted};
use super::log::{segment_numbers, segment_path};
use super::manifest::Manifest;
use super::open::{self, EmbeddedConfig, OpenError, not_usable};
use super::queue_rows::QueueRows;
use super::replay::{ReplayError, replay_watched};
use super::rows::{MailRow, WebhookRow, decode, key, queue_key};
use super::shared::segments_dir;
use super::stamp::Stamp;
use super::verify::{self, Finding, Progress, Verified, VerifyError};
use super::{Embedded, lock, marker};

pub use replace::{NewStore, leftovers, remove};

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
    /// Damage that cannot be given up: nothing can be read of the last segment, nor written behind it.
    #[error(
        "nothing was given up: segment {segment} of the store in {} has no header, and it is the last; only a backup \
         helps, or `server store reset`, which removes all mail",
        path.display()
    )]
    Headless {
        /// The directory.
        path: PathBuf,
        /// The number of the segment file.
        segment: u32,
    },
    /// The directory for temporary files cannot be used.
    #[error("the directory for temporary files, {} (TMPDIR), cannot be used: {reason}", path.display())]
    Scratch {
        /// The directory.
        path: PathBuf,
        /// What failed in it.
        reason: String,
    },
    /// Somebody made a store where a new one was to be.
    #[error("a server or another command has begun a store in {} meanwhile", path.display())]
    Taken {
        /// The directory.
        path: PathBuf,
    },
    /// A new store cannot take the place of a directory that is a mount.
    #[error("{} is a mount, which cannot be replaced: mount or link the data directory instead", path.display())]
    Mount {
        /// The directory.
        path: PathBuf,
    },
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
    /// Webhooks that are not removed.
    pub webhooks: u64,
    /// Deliveries that are queued for them.
    pub queued_deliveries: u64,
    /// Bytes of what is live: records of inboxes and of their emails, and of webhooks and what they are to be told.
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
        verify::verify(&self.path, scratch, watch, tell).map_err(|error| match error {
            VerifyError::Store(error) => self.failed(error),
            VerifyError::Scratch(reason) => ToolError::Scratch {
                path: scratch.to_owned(),
                reason,
            },
        })
    }

    /// Has all later starts pass by the damage that keeps a store from opening with [`OpenError::Damaged`].
    ///
    /// What cannot be read is lost, and nobody can tell what it was: if it was a deletion, what was deleted comes
    /// back; if it was an inbox, its mail is gone when the index is made anew. Gives back all that is damaged, also
    /// what was accepted before.
    ///
    /// # Errors
    /// [`ToolError::Headless`], and what else keeps the log from being read.
    pub fn accept_damage(&self) -> Result<Vec<Accepted>, ToolError> {
        let accept = || {
            let manifest = Manifest::read(&segments_dir(&self.path))?;
            manifest.trim()?;
            judge::accept_damage(&manifest)
        };
        accept().map_err(|error| match error {
            ReplayError::Damaged { segment, .. } => {
                let path = self.path.clone();
                ToolError::Headless { path, segment }
            }
            error => self.failed(error),
        })
    }

    /// Makes the index anew from the log, beside the one that is there, which goes when the new one stands. Gives back
    /// what the store holds; `watch` hears how far it is.
    ///
    /// # Errors
    /// [`OpenError::Damaged`] where a start without an index would be refused; the store is as it was then.
    pub fn rebuild(&self, watch: impl FnMut(Progress)) -> Result<Statistics, ToolError> {
        let mut last = marker::last_number(&self.path).map_err(|error| self.failed(error.into()))?;
        let dir = marker::create(&self.path, &mut last).map_err(|error| self.failed(error.into()))?;
        let made = self.make_index(&dir, watch);
        if made.is_err() {
            // Nothing refers to it: the next start deletes it otherwise.
            let _ = fs::remove_dir_all(&dir);
        }
        let counted = made.map_err(|error| self.failed(error))?;
        marker::delete_others(&self.path, Some(&dir)).map_err(|error| self.failed(error.into()))?;
        Ok(counted)
    }

    fn make_index(&self, dir: &Path, mut watch: impl FnMut(Progress)) -> Result<Statistics, ReplayError> {
        let manifest = Manifest::open(&segments_dir(&self.path))?;
        manifest.trim()?;
        let index = Index::open(dir)?;
        let step = "making the index from the log";
        replay_watched(&index, &manifest, |done, total| watch(Progress { step, done, total }))?;
        self.leave(index, dir)
    }

    /// Counts, as the next start finds it: the index is brought to the end of the log first.
    ///
    /// # Errors
    /// Whatever would keep a server from starting.
    pub fn statistics(&self) -> Result<Statistics, ToolError> {
        let (index, dir) = open::index_at_end(&self.path)?;
        self.leave(index, &dir).map_err(|error| self.failed(error))
    }

    /// Counts, and closes an index so that the next start believes it.
    fn leave(&self, index: Index, dir: &Path) -> Result<Statistics, ReplayError> {
        // Before it is measured: what is in memory has no size yet.
        index.flush()?;
        let counted = self.count(&index, dir);
        drop(index);
        marker::closed(&self.path, dir)?;
        counted
    }

    fn count(&self, index: &Index, index_dir: &Path) -> Result<Statistics, ReplayError> {
        let meta = index.meta()?;
        let (oldest, newest) = arrivals(index)?;
        let (webhooks, queued_deliveries) = webhooks(index)?;
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
            webhooks,
            queued_deliveries,
            live_bytes: meta.live_bytes,
            log_bytes: lengths.sum::<io::Result<u64>>()?,
            segments: numbers.len() as u64,
            index_bytes: bytes_of(index_dir)?,
            oldest_email: oldest,
            newest_email: newest,
        })
    }

    /// Opens it as a server does, without letting it go: it is read and written through the [`crate::Store`] trait.
    ///
    /// # Errors
    /// As [`Embedded::open`].
    pub fn open(self) -> Result<Embedded, ToolError> {
        let config = EmbeddedConfig::new(&self.path, self.stamp);
        Ok(Embedded::open_locked(&config, self.lock)?)
    }

    fn failed(&self, error: ReplayError) -> ToolError {
        open::replay_error(&self.path, error).into()
    }
}

fn directory_error(path: &Path, error: io::Error) -> ToolError {
    let path = path.to_owned();
    ToolError::Directory { path, error }
}

/// Locks a directory that is there, as a server does.
fn hold_directory(path: &Path) -> Result<File, ToolError> {
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(ToolError::NoStore { path: path.to_owned() }),
        Err(error) => Err(not_usable(path, error).into()),
        Ok(metadata) if !metadata.is_dir() => Err(OpenError::NotADirectory { path: path.to_owned() }.into()),
        Ok(_) => Ok(lock::take(path)?),
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

/// How many webhooks there are, and how many deliveries are queued for them.
fn webhooks(index: &Index) -> Result<(u64, u64), IndexError> {
    let (mut webhooks, mut queued) = (0, 0);
    for row in index.iter(key::all(queue_key::WEBHOOKS)) {
        let (name, value) = row?;
        if !decode::<WebhookRow>(&value)?.state.is_removed {
            let id = key::last_id(&name)
                .map(WebhookId::from_bytes)
                .ok_or(IndexError::Missing)?;
            let queue = index.queue(id)?;
            webhooks += 1;
            queued += queue.first.count + queue.retry.count;
        }
    }
    Ok((webhooks, queued))
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
