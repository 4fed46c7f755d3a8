//! The lock between processes.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::thread;
use std::time::Duration;

use super::{KeystoreError, file_error};

/// How long another process may hold the lock. It is held for one small write.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(10);

/// A lock (`flock`) on a file that stays; the system releases it when the process ends, however it ends.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Waits for its turn, but not for ever: the process that holds it may be stopped.
    pub(super) fn take(path: &Path) -> Result<Self, KeystoreError> {
        let opened = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path);
        let file = opened.map_err(|source| file_error(path, source))?;
        let attempts = PATIENCE.as_millis() / PAUSE.as_millis();
        for _ in 0..attempts {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _file: file }),
                Err(TryLockError::WouldBlock) => thread::sleep(PAUSE),
                Err(TryLockError::Error(source)) => return Err(file_error(path, source)),
            }
        }
        Err(KeystoreError::Locked { path: path.to_owned() })
    }
}
