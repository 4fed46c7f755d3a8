//! Files that only their owner reads: loaded if they are there, else made, never overwritten.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use restante_envelope::{base64url, digest};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use tracing::warn;
use zeroize::Zeroizing;

/// Bytes of a key file, at most: nothing that is a key comes near, and a wrong path must not fill the memory.
const SIZE_MAX: u64 = 64 * 1024;

/// Whether a file was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileState {
    /// It was.
    Loaded,
    /// It has just been made.
    Created,
}

/// Why a key file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// It is there and cannot be read.
    #[error("{}: cannot be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// It is not there and cannot be made.
    #[error("{}: cannot be made: {source}", path.display())]
    Create {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

/// The content of a key file; when there is none, what `fresh` makes is kept first.
///
/// Of two processes that start at once both have the content of the first.
pub(super) fn load_or_create(
    path: &Path,
    fresh: impl FnOnce() -> Zeroizing<Vec<u8>>,
) -> Result<(Zeroizing<Vec<u8>>, FileState), KeyFileError> {
    match load(path) {
        Err(KeyFileError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
        outcome => return Ok((outcome?, FileState::Loaded)),
    }
    let bytes = fresh();
    match create(path, &bytes) {
        Ok(()) => Ok((bytes, FileState::Created)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok((load(path)?, FileState::Loaded)),
        Err(source) => Err(KeyFileError::Create {
            path: path.into(),
            source,
        }),
    }
}

/// The content of a key file. One that others can read is used, with a warning: a mounted secret may be meant so.
pub(super) fn load(path: &Path) -> Result<Zeroizing<Vec<u8>>, KeyFileError> {
    let bytes = load_public(path)?;
    // It has just been read: if the mode cannot be had now, there is nothing to warn of.
    let mode = fs::metadata(path).map_or(0, |metadata| metadata.permissions().mode());
    if let Some(warning) = lax_mode(path, mode) {
        warn!("{warning}");
    }
    Ok(bytes)
}

/// What is to be said of a secret that its owner shares with others.
fn lax_mode(path: &Path, mode: u32) -> Option<String> {
    let mode = mode & 0o777;
    let path = path.display();
    (mode & 0o077 != 0).then(|| format!("{path}: mode {mode:04o} lets others at this secret; chmod 600 is enough"))
}

/// The content of a file whose mode does not matter.
pub(super) fn load_public(path: &Path) -> Result<Zeroizing<Vec<u8>>, KeyFileError> {
    let content = File::open(path).and_then(|file| {
        // Room for all of it at once: a buffer that grows leaves pieces of the secret behind.
        let mut bytes = Zeroizing::new(Vec::with_capacity(usize::try_from(SIZE_MAX).unwrap_or_default()));
        file.take(SIZE_MAX).read_to_end(&mut bytes)?;
        Ok(bytes)
    });
    content.map_err(|source| KeyFileError::Read {
        path: path.into(),
        source,
    })
}

/// Makes a file appear whole or not at all, and fails if there is one.
fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(format!(".{}", base64url::encode(digest::random_bytes::<6>())));
    let unfinished = PathBuf::from(unfinished);
    let outcome = write_synced(&unfinished, bytes).and_then(|()| rename_new(&unfinished, path));
    if outcome.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    outcome?;
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Not every file system can refuse to replace; there the look before it must do.
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) if !to.exists() => fs::rename(from, to),
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => Err(Errno::EXIST.into()),
        outcome => Ok(outcome?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fresh(text: &str) -> impl FnOnce() -> Zeroizing<Vec<u8>> {
        let bytes = Zeroizing::new(text.as_bytes().to_vec());
        move || bytes
    }

    #[test]
    fn a_new_file_is_for_its_owner_only() {
        let data = tempfile::tempdir().unwrap();
        let path = data.path().join("key");
        let (bytes, state) = load_or_create(&path, fresh("secret")).unwrap();
        assert_eq!((bytes.as_slice(), state), (b"secret".as_slice(), FileState::Created));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(data.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_is_there_is_kept() {
        let data = tempfile::tempdir().unwrap();
        let path = data.path().join("key");
        fs::write(&path, "first").unwrap();
        let (bytes, state) = load_or_create(&path, || unreachable!("nothing is made")).unwrap();
        assert_eq!((bytes.as_slice(), state), (b"first".as_slice(), FileState::Loaded));
    }

    #[test]
    fn whoever_comes_second_has_the_key_of_the_first() {
        let data = tempfile::tempdir().unwrap();
        let path = data.path().join("key");
        let late = || {
            fs::write(&path, "first").unwrap();
            Zeroizing::new(b"second".to_vec())
        };
        let (bytes, state) = load_or_create(&path, late).unwrap();
        assert_eq!((bytes.as_slice(), state), (b"first".as_slice(), FileState::Loaded));
        assert_eq!(
            fs::read_dir(data.path()).unwrap().count(),
            1,
            "nothing unfinished is left"
        );
    }

    #[test]
    fn a_mode_that_lets_others_in_is_warned_of() {
        for (mode, is_lax) in [
            (0o100_600, false),
            (0o400, false),
            (0o640, true),
            (0o604, true),
            (0o602, true),
        ] {
            assert_eq!(lax_mode(Path::new("key"), mode).is_some(), is_lax, "{mode:o}");
        }
        let warning = lax_mode(Path::new("d/key"), 0o100_644).unwrap();
        assert_eq!(
            warning,
            "d/key: mode 0644 lets others at this secret; chmod 600 is enough"
        );
    }

    #[test]
    fn what_cannot_be_read_or_made_is_named() {
        let data = tempfile::tempdir().unwrap();
        let directory = data.path().join("key");
        fs::create_dir(&directory).unwrap();
        let error = load_or_create(&directory, fresh("x")).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("{}: cannot be read: ", directory.display())),
            "{error}"
        );

        let nowhere = data.path().join("none/key");
        let error = load_or_create(&nowhere, fresh("x")).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("{}: cannot be made: ", nowhere.display())),
            "{error}"
        );
    }
}
