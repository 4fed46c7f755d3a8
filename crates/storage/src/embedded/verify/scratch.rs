//! A directory for what a verification makes, removed with it.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use restante_envelope::{base64url, digest::random_bytes};

use super::super::marker::DIR_MODE;

pub(super) struct Scratch(PathBuf);

impl Scratch {
    /// A new directory in another one.
    pub(super) fn new(parent: &Path) -> io::Result<Self> {
        let name = format!("restante-verify-{}", base64url::encode(random_bytes::<9>()));
        let path = parent.join(name);
        make(&path)?;
        Ok(Self(path))
    }

    /// A new directory in it.
    pub(super) fn dir(&self, name: &str) -> io::Result<PathBuf> {
        let path = self.0.join(name);
        make(&path)?;
        Ok(path)
    }

    /// A copy of a directory, in it.
    pub(super) fn copy_of(&self, dir: &Path) -> io::Result<PathBuf> {
        let copy = self.dir("copy")?;
        copy_into(dir, &copy)?;
        Ok(copy)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Left behind, it harms nobody: the system clears where it is.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn make(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(DIR_MODE).create(path)
}

fn copy_into(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            make(&target)?;
            copy_into(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
