//! Exports in files: whole or not there, and for their owner alone.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, PersistError};
use zeroize::Zeroizing;

use crate::{Error, ExportedInbox};

/// No export is larger: one has less than 8 KiB, another client may add fields.
const LARGEST_BYTES: usize = 64 * 1024;
/// Bytes of an address in the name of a file, which has room for 255.
const LONGEST_STEM: usize = 200;
const SUFFIX: &str = ".json";

/// What happens to a file that is there.
#[derive(Clone, Copy)]
enum IfThere {
    Refuse,
    Replace,
}

impl ExportedInbox {
    /// The name of its file: the address with `@` as `_at_`, and `.json`.
    ///
    /// An import may have any address; a character that a file name should not have becomes `_`, and then the beginning
    /// of the inbox's hash tells the name from others.
    pub fn file_name(&self) -> String {
        let plain = self.address().replace('@', "_at_");
        let mut stem: String = plain.chars().map(|c| if is_safe(c) { c } else { '_' }).collect();
        if stem.starts_with(['.', '-']) {
            stem.replace_range(..1, "_");
        }
        while stem.len() > LONGEST_STEM {
            stem.pop();
        }
        if stem == plain {
            return stem + SUFFIX;
        }
        let hash = self.hash().to_string();
        format!("{stem}-{}{SUFFIX}", &hash[..8])
    }

    /// Writes it into a folder that exists, under [`file_name`](Self::file_name) and readable by its owner alone; the
    /// path of the file.
    ///
    /// # Errors
    /// [`Error::File`]: there is no such folder, it cannot be written to, or the file is there already.
    pub fn write_into(&self, folder: impl AsRef<Path>) -> Result<PathBuf, Error> {
        let path = folder.as_ref().join(self.file_name());
        self.write_file(&path).map(|()| path)
    }

    /// As [`write_into`](Self::write_into), in place of a file of that name.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn replace_in(&self, folder: impl AsRef<Path>) -> Result<PathBuf, Error> {
        let path = folder.as_ref().join(self.file_name());
        self.replace_file(&path).map(|()| path)
    }

    /// Writes it to a file that does not exist yet, readable by its owner alone.
    ///
    /// # Errors
    /// As [`write_into`](Self::write_into).
    pub fn write_file(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        self.write(path.as_ref(), IfThere::Refuse)
    }

    /// Writes it to a file, in place of one that exists.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn replace_file(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        self.write(path.as_ref(), IfThere::Replace)
    }

    /// Reads a file, as [`read`](Self::read).
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be read or is too large for an export, [`Error::InvalidImportData`] as
    /// [`parse`](Self::parse).
    pub fn read_file(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let file = File::open(path).map_err(|error| fault(path, error.to_string()))?;
        Self::read(file).map_err(|error| match error {
            Error::File { reason, .. } => fault(path, reason),
            error => error,
        })
    }

    /// Reads from any source, to its end and at most 64 KiB, so that none that never ends fills the memory.
    ///
    /// # Errors
    /// [`Error::File`] with the path `the export` if it cannot be read or is too large for an export,
    /// [`Error::InvalidImportData`] as [`parse`](Self::parse).
    pub fn read(source: impl io::Read) -> Result<Self, Error> {
        let fault = |reason| fault(Path::new("the export"), reason);
        // One buffer of a size that never changes, and that is wiped: there may be a key in it.
        let mut buffer = Zeroizing::new(vec![0; LARGEST_BYTES + 1]);
        let length = fill(source, &mut buffer).map_err(|error| fault(error.to_string()))?;
        if length > LARGEST_BYTES {
            return Err(fault(format!(
                "it has more than {LARGEST_BYTES} bytes, which no export has"
            )));
        }
        Ok(Self::parse(&buffer[..length])?)
    }

    /// The file is whole, or it is not there: it appears under its name once it is on the disk.
    fn write(&self, path: &Path, if_there: IfThere) -> Result<(), Error> {
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        if !folder.is_dir() {
            return Err(fault(folder, "there is no such folder".to_owned()));
        }
        let written = write_beside(folder, self.to_json().as_bytes());
        let file = written.map_err(|error| fault(path, error.to_string()))?;
        let named = match if_there {
            IfThere::Refuse => file.persist_noclobber(path),
            IfThere::Replace => file.persist(path),
        };
        named.map(drop).map_err(|error| naming_fault(path, &error))
    }
}

/// Letters, digits and what is harmless in the name of a file on every system.
fn is_safe(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '+')
}

/// A file without a lasting name, readable by its owner alone from its first byte on.
fn write_beside(folder: &Path, content: &[u8]) -> io::Result<NamedTempFile> {
    let mut file = tempfile::Builder::new().prefix(".restante-").tempfile_in(folder)?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// Reads until the end or until the buffer is full; how much there is.
fn fill(mut source: impl io::Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match source.read(&mut buffer[length..]) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

fn naming_fault(path: &Path, error: &PersistError) -> Error {
    match error.error.kind() {
        io::ErrorKind::AlreadyExists => fault(path, "the file is there already; it was left as it is".to_owned()),
        _ => fault(path, error.error.to_string()),
    }
}

fn fault(path: &Path, reason: String) -> Error {
    Error::File {
        path: path.display().to_string(),
        reason,
    }
}
