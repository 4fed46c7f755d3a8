//! The inboxes that this user knows, with their keys: one file, which two processes never spoil for each other.
//!
//! A reader needs no lock, because the file is replaced as a whole. A writer holds the lock from its reading to its
//! replacing, so that no entry of another process is lost.

mod document;
mod lock;
#[cfg(test)]
mod tests;

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

pub(crate) use self::document::{Document, Entry, ServerInboxes};
use self::lock::Lock;

/// The only version of the file's format.
const VERSION: u64 = 1;

/// The file of inboxes and keys. Its content is read anew for every operation.
#[derive(Debug)]
pub(crate) struct Keystore {
    folder: PathBuf,
    warn: fn(&str),
}

/// Why the keystore cannot be used. No text shows anything of its content.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KeystoreError {
    /// The system says no.
    #[error("{}: {source}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The content is not that of a keystore.
    #[error("{} is damaged ({reason}), and holds keys that exist nowhere else: repair it, or move it away", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        reason: String,
    },
    /// A later version wrote it.
    #[error("{} has version {found}, and this restante knows version {VERSION}: use a newer restante", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u64,
    },
    /// Another process holds the lock, and does not let go.
    #[error("another restante has held {} for {} s: end it", path.display(), lock::PATIENCE.as_secs())]
    Locked {
        /// The lock's file.
        path: PathBuf,
    },
}

impl Keystore {
    /// The keystore in a folder, which need not exist; `warn` is told of permissions that had to be repaired.
    pub(crate) fn new(folder: PathBuf, warn: fn(&str)) -> Self {
        Self { folder, warn }
    }

    /// The file.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.join("keystore.json")
    }

    /// What it holds; nothing if it is not there yet.
    ///
    /// # Errors
    /// It cannot be read, or is no keystore of this version.
    pub(crate) fn read(&self) -> Result<Document, KeystoreError> {
        let path = self.path();
        let content = match fs::read(&path) {
            Ok(content) => Zeroizing::new(content),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Document::default()),
            Err(source) => return Err(KeystoreError::File { path, source }),
        };
        self.repair_permissions(&path)?;
        parse(path, &content)
    }

    /// Changes it, unless `change` fails: what other processes change at the same time is kept.
    ///
    /// # Errors
    /// That of `change`; it cannot be read or written, or is no keystore of this version. It is then as it was.
    pub(crate) fn update<T, E: From<KeystoreError>>(
        &self,
        change: impl FnOnce(&mut Document) -> Result<T, E>,
    ) -> Result<T, E> {
        self.create_folder()?;
        let _lock = Lock::take(&self.folder.join("keystore.lock"))?;
        let mut document = self.read()?;
        let result = change(&mut document)?;
        self.replace(&document)?;
        Ok(result)
    }

    fn create_folder(&self) -> Result<(), KeystoreError> {
        let created = DirBuilder::new().recursive(true).mode(0o700).create(&self.folder);
        created.map_err(|source| file_error(&self.folder, source))
    }

    /// Keys that others could read are at least not left so.
    fn repair_permissions(&self, path: &Path) -> Result<(), KeystoreError> {
        let metadata = fs::metadata(path).map_err(|source| file_error(path, source))?;
        let shared = metadata.permissions().mode() & 0o077 != 0;
        if !shared {
            return Ok(());
        }
        fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(|source| file_error(path, source))?;
        (self.warn)(&format!(
            "warning: others could read {}, which holds keys; now they cannot",
            path.display()
        ));
        Ok(())
    }

    /// The new content is on the disk before it takes the place of the old one.
    fn replace(&self, document: &Document) -> Result<(), KeystoreError> {
        let write = || {
            let path = target(self.path())?;
            let folder = path.parent().unwrap_or(&self.folder);
            // tempfile creates it with 0600.
            let mut file = tempfile::Builder::new().prefix(".keystore.").tempfile_in(folder)?;
            file.write_all(&document.to_json())?;
            file.as_file().sync_all()?;
            file.persist(&path).map_err(|error| error.error)?;
            File::open(folder)?.sync_all()
        };
        write().map_err(|source| file_error(&self.path(), source))
    }
}

/// Where the file is: who keeps it elsewhere and links to it gets the new keys there.
fn target(path: PathBuf) -> io::Result<PathBuf> {
    if !path.is_symlink() {
        return Ok(path);
    }
    match fs::canonicalize(&path) {
        // A link to a file that is still to come.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let link = fs::read_link(&path)?;
            Ok(path.parent().map_or(link.clone(), |folder| folder.join(&link)))
        }
        found => found,
    }
}

fn file_error(path: &Path, source: io::Error) -> KeystoreError {
    KeystoreError::File {
        path: path.to_owned(),
        source,
    }
}

fn parse(path: PathBuf, content: &[u8]) -> Result<Document, KeystoreError> {
    match document::version(content) {
        Ok(VERSION) => {}
        Ok(found) => return Err(KeystoreError::Version { path, found }),
        Err(error) => return Err(damaged(path, &error)),
    }
    serde_json::from_slice(content).map_err(|error| damaged(path, &error))
}

/// Says where it is damaged: the parser's own text may show a part of it.
fn damaged(path: PathBuf, error: &serde_json::Error) -> KeystoreError {
    let what = if error.is_data() {
        "unexpected fields"
    } else {
        "no JSON"
    };
    KeystoreError::Damaged {
        path,
        reason: format!("{what} at line {}", error.line()),
    }
}
