//! A store that goes with all its mail, and one that takes the place of an empty one.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

#[cfg(doc)]
use super::super::OpenError;
use super::super::log::sync_dir;
use super::super::marker::DIR_MODE;
use super::super::{Embedded, EmbeddedConfig, Stamp, lock, open};
use super::{HeldStore, ToolError, directory_error, hold_directory};

/// What is under construction, beside the store.
const IMPORT: &str = "import";
/// What is to be deleted: in the store, and beside it.
const REMOVED: &str = "removed";
/// What makes a directory a store goes first: one that is half removed is refused, and one without both is none.
const FIRST: [&str; 2] = ["stamp", "segments"];

/// Removes a store with all its mail, whatever its format and however damaged it is, and what commands that were
/// killed left of one; a directory that a link leads to is emptied. Nothing else beside it is touched.
///
/// # Errors
/// [`ToolError::NoStore`] if there was nothing to remove, [`OpenError::Locked`], or what the system says.
pub fn remove(path: &Path) -> Result<(), ToolError> {
    let is_linked = path.is_symlink();
    let path = &resolved(path)?;
    let beside = leftovers(path);
    let held = match hold_directory(path) {
        Err(ToolError::NoStore { .. }) if !beside.is_empty() => None,
        held => Some(held?),
    };
    beside.iter().try_for_each(|leftover| remove_if_there(leftover))?;
    let Some(_lock) = held else {
        return sync_parent(path);
    };
    empty(path)?;
    remove_emptied(path, is_linked)
}

/// What commands that were killed have left of stores: mail may be in it.
///
/// An import that runs just now is among it.
pub fn leftovers(path: &Path) -> Vec<PathBuf> {
    let all = [beside(path, IMPORT), beside(path, REMOVED), path.join(REMOVED)];
    all.into_iter().filter(|path| path.exists()).collect()
}

/// A store under construction beside the place where it will be: all or nothing.
#[derive(Debug)]
pub struct NewStore {
    path: PathBuf,
    building: PathBuf,
    /// Keeps servers and other commands from the place.
    lock: File,
    /// Whether a link leads to the place.
    is_linked: bool,
}

impl NewStore {
    /// Begins a store that will be in `path`, where there must be none, or one without inboxes; the place is held until
    /// it is finished. What an earlier one that was not finished left behind is removed.
    ///
    /// # Errors
    /// [`ToolError`]; `Ok(None)` if the store that is there is not empty.
    pub fn begin(path: &Path) -> Result<Option<Self>, ToolError> {
        let is_linked = path.is_symlink();
        let path = resolved(path)?;
        if !path.exists() && geteuid().is_root() {
            // The server of whoever owns the data directory could not open what is the superuser's.
            lock::check_owner(open::parent(&path))?;
        }
        let lock = open::lock_directory(&path)?;
        let building = beside(&path, IMPORT);
        let new = Self {
            path,
            building,
            lock,
            is_linked,
        };
        match new.prepare() {
            Ok(true) => Ok(Some(new)),
            Ok(false) => Ok(None),
            Err(error) => {
                // What failed is what there is to tell.
                let _ = new.remove_place();
                Err(error)
            }
        }
    }

    /// Whether it may be made.
    fn prepare(&self) -> Result<bool, ToolError> {
        let failed = |error| directory_error(&self.path, error);
        if let Some(stamp) = open::check_format(&self.path)? {
            let lock = self.lock.try_clone().map_err(failed)?;
            let path = self.path.clone();
            if (HeldStore { path, stamp, lock }).statistics()?.inboxes > 0 {
                return Ok(false);
            }
        }
        let device = |path: &Path| fs::metadata(path).map(|metadata| metadata.dev());
        if device(&self.path).map_err(failed)? != device(open::parent(&self.path)).map_err(failed)? {
            let path = self.path.clone();
            return Err(ToolError::Mount { path });
        }
        remove_if_there(&self.building)?;
        Ok(true)
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
    /// [`ToolError::Taken`], [`ToolError::Directory`]; the place holds no inboxes then, and the new store is removed.
    pub fn finish(self) -> Result<(), ToolError> {
        let placed = self.place();
        if placed.is_err() {
            // It is in nobody's way, and goes with the next import or reset.
            let _ = remove_if_there(&self.building);
        }
        placed
    }

    fn place(&self) -> Result<(), ToolError> {
        let failed = |error| directory_error(&self.path, error);
        empty(&self.path)?;
        // A directory is renamed over an empty one only: who has locked this one since then has it.
        lock::remove(&self.path).map_err(failed)?;
        match fs::rename(&self.building, &self.path) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
                let path = self.path.clone();
                Err(ToolError::Taken { path })
            }
            Err(error) => Err(failed(error)),
            Ok(()) => sync_parent(&self.path),
        }
    }

    /// Removes it.
    ///
    /// # Errors
    /// [`ToolError::Directory`].
    pub fn abandon(self) -> Result<(), ToolError> {
        remove_if_there(&self.building)?;
        self.remove_place()
    }

    /// Removes the place of the store if there is none.
    fn remove_place(&self) -> Result<(), ToolError> {
        let failed = |error| directory_error(&self.path, error);
        for entry in fs::read_dir(&self.path).map_err(failed)? {
            if !lock::is_lock(&entry.map_err(failed)?.file_name()) {
                return Ok(());
            }
        }
        remove_emptied(&self.path, self.is_linked)
    }
}

/// Empties a directory but for its lock, in steps that no start takes for a store.
fn empty(path: &Path) -> Result<(), ToolError> {
    let failed = |error| directory_error(path, error);
    let removed = path.join(REMOVED);
    remove_if_there(&removed)?;
    DirBuilder::new().mode(DIR_MODE).create(&removed).map_err(failed)?;
    let mut names = FIRST.map(Into::into).to_vec();
    for entry in fs::read_dir(path).map_err(failed)? {
        names.push(entry.map_err(failed)?.file_name());
    }
    for name in names {
        if lock::is_lock(&name) || name == REMOVED {
            continue;
        }
        match fs::rename(path.join(&name), removed.join(&name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        if FIRST.iter().any(|first| name == *first) {
            sync_dir(path).map_err(failed)?;
        }
    }
    remove_if_there(&removed)?;
    sync_dir(path).map_err(failed)
}

/// Removes a directory that has nothing but its lock; one that is a mount, or that a link leads to, stays, and is empty.
fn remove_emptied(path: &Path, is_linked: bool) -> Result<(), ToolError> {
    lock::remove(path).map_err(|error| directory_error(path, error))?;
    if !is_linked {
        let _ = fs::remove_dir(path);
    }
    sync_parent(path)
}

/// Where a link leads to, so that what it leads to is emptied and replaced.
fn resolved(path: &Path) -> Result<PathBuf, ToolError> {
    if path.is_symlink() {
        return fs::canonicalize(path).map_err(|error| directory_error(path, error));
    }
    Ok(path.to_owned())
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
    let parent = open::parent(path);
    sync_dir(parent).map_err(|error| directory_error(parent, error))
}
