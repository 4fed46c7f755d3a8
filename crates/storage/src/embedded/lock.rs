//! Who may use a directory: one process at a time, of the user who owns it.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use restante_envelope::{base64url, digest::random_bytes};
use rustix::fs::{FlockOperation, flock};
use rustix::process::geteuid;

use super::log::FILE_MODE;
use super::open::{OpenError, not_usable};

const FILE: &str = "LOCK";

/// Locks a directory that is there, until the file is dropped.
///
/// # Errors
/// [`OpenError::Locked`], [`OpenError::NotOwned`], [`OpenError::NotUsable`].
pub(super) fn take(dir: &Path) -> Result<File, OpenError> {
    check_owner(dir)?;
    let usable = |error: io::Error| not_usable(dir, error);
    let locked = || OpenError::Locked { path: dir.to_owned() };
    let lock = open(dir).map_err(usable)?;
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) if is_in(dir, &lock).map_err(usable)? => Ok(lock),
        // Whoever held it until now has replaced the store.
        Ok(()) | Err(rustix::io::Errno::WOULDBLOCK) => Err(locked()),
        Err(error) => Err(usable(error.into())),
    }
}

/// Gives the name of the lock away; the directory may be replaced then.
pub(super) fn remove(dir: &Path) -> io::Result<()> {
    fs::remove_file(dir.join(FILE))
}

/// Whether a name in the directory is that of its lock.
pub(super) fn is_lock(name: &std::ffi::OsStr) -> bool {
    name == FILE
}

/// Refuses a directory in which this process would make files that its owner cannot use.
///
/// The superuser may write anywhere, and the server of the owner would stop at such a file.
///
/// # Errors
/// [`OpenError::NotOwned`], [`OpenError::NotUsable`].
pub(super) fn check_owner(dir: &Path) -> Result<(), OpenError> {
    let usable = |error| not_usable(dir, error);
    let owner = fs::metadata(dir).map_err(usable)?.uid();
    let user = geteuid().as_raw();
    if owner == user || owner_of_new(dir).map_err(usable)?.is_none_or(|new| new == owner) {
        return Ok(());
    }
    let path = dir.to_owned();
    Err(OpenError::NotOwned { path, owner, user })
}

/// Who owns what is made here: some file systems give all files to one user, and none is made on one that is read-only.
fn owner_of_new(dir: &Path) -> io::Result<Option<u32>> {
    let path = dir.join(format!("owner-{}", base64url::encode(random_bytes::<9>())));
    let made = OpenOptions::new()
        .create_new(true)
        .write(true)
        .mode(FILE_MODE)
        .open(&path);
    match made {
        Ok(file) => {
            let owner = file.metadata().map(|metadata| metadata.uid());
            fs::remove_file(&path)?;
            owner.map(Some)
        }
        Err(error) if error.kind() == io::ErrorKind::ReadOnlyFilesystem => Ok(None),
        Err(error) => Err(error),
    }
}

fn open(dir: &Path) -> io::Result<File> {
    let path = dir.join(FILE);
    let opened = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(FILE_MODE)
        .open(&path);
    match opened {
        // What is only read can be locked all the same.
        Err(error) if error.kind() == io::ErrorKind::ReadOnlyFilesystem => File::open(path),
        opened => opened,
    }
}

/// Whether this file is the lock of the directory still.
fn is_in(dir: &Path, lock: &File) -> io::Result<bool> {
    let ours = lock.metadata()?;
    match fs::metadata(dir.join(FILE)) {
        Ok(there) => Ok((there.dev(), there.ino()) == (ours.dev(), ours.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_was_replaced_is_not_taken() {
        let dir = tempfile::tempdir().unwrap();
        let first = take(dir.path()).unwrap();
        assert!(matches!(take(dir.path()), Err(OpenError::Locked { .. })));
        let waiting = open(dir.path()).unwrap();
        remove(dir.path()).unwrap();
        drop(first);
        flock(&waiting, FlockOperation::NonBlockingLockExclusive).unwrap();
        assert!(!is_in(dir.path(), &waiting).unwrap());
        assert!(take(dir.path()).is_ok());
    }

    #[test]
    fn the_owner_of_what_is_made_is_the_user_and_nothing_is_left() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(owner_of_new(dir.path()).unwrap(), Some(geteuid().as_raw()));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
