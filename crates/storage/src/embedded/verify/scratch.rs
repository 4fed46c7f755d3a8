//! A directory for what a verification makes, removed with it, or by the next one.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use restante_envelope::{base64url, digest::random_bytes};
use rustix::fs::{FlockOperation, flock};

use super::super::marker::DIR_MODE;
use super::{VerifyError, is_full};

const PREFIX: &str = "restante-verify-";

pub(super) struct Scratch {
    path: PathBuf,
    /// Tells it from one that a verification that was killed has left.
    _lock: File,
}

impl Scratch {
    /// A new directory in another one, from which those go that nobody uses any more.
    pub(super) fn new(parent: &Path) -> Result<Self, VerifyError> {
        remove_leftovers(parent);
        let name = format!("{PREFIX}{}", base64url::encode(random_bytes::<9>()));
        let path = parent.join(name);
        make(&path)?;
        let lock = lock(&path).map_err(|error| VerifyError::scratch(&error))?;
        Ok(Self { path, _lock: lock })
    }

    /// A new directory in it.
    pub(super) fn dir(&self, name: &str) -> Result<PathBuf, VerifyError> {
        let path = self.path.join(name);
        make(&path)?;
        Ok(path)
    }

    /// A copy of a directory, in it.
    pub(super) fn copy_of(&self, dir: &Path) -> Result<PathBuf, VerifyError> {
        let copy = self.dir("copy")?;
        copy_into(dir, &copy)?;
        Ok(copy)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Left behind, it goes with the next one.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// What cannot be removed is in nobody's way.
fn remove_leftovers(parent: &Path) {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let ours = entries.filter(|entry| {
        let is_named = entry.file_name().to_string_lossy().starts_with(PREFIX);
        is_named
            && entry
                .metadata()
                .is_ok_and(|found| found.is_dir() && found.uid() == user())
    });
    for left in ours.map(|entry| entry.path()) {
        if let Ok(_lock) = lock(&left) {
            let _ = fs::remove_dir_all(&left);
        }
    }
}

fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn lock(dir: &Path) -> io::Result<File> {
    let dir = File::open(dir)?;
    flock(&dir, FlockOperation::NonBlockingLockExclusive)?;
    Ok(dir)
}

fn make(path: &Path) -> Result<(), VerifyError> {
    let made = DirBuilder::new().mode(DIR_MODE).create(path);
    made.map_err(|error| VerifyError::scratch(&error))
}

fn copy_into(from: &Path, to: &Path) -> Result<(), VerifyError> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            make(&target)?;
            copy_into(&entry.path(), &target)?;
        } else {
            copy(&mut File::open(entry.path())?, &target)?;
        }
    }
    Ok(())
}

fn copy(from: &mut File, to: &Path) -> Result<(), VerifyError> {
    let mut to = File::create_new(to).map_err(|error| VerifyError::scratch(&error))?;
    io::copy(from, &mut to).map_err(|error| {
        if is_full(&error) {
            VerifyError::scratch(&error)
        } else {
            error.into()
        }
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_uses_any_more_is_removed_and_nothing_else() {
        let parent = tempfile::tempdir().unwrap();
        fs::create_dir_all(parent.path().join("restante-verify-left/fresh")).unwrap();
        fs::create_dir(parent.path().join("other")).unwrap();
        let first = Scratch::new(parent.path()).unwrap();
        let second = Scratch::new(parent.path()).unwrap();
        assert!(first.path.exists() && second.path.exists());
        drop((first, second));
        let left: Vec<_> = fs::read_dir(parent.path()).unwrap().flatten().collect();
        assert_eq!(left.len(), 1);
        assert_eq!(left[0].file_name(), "other");
    }
}
