//! Which index directory may be believed.
//!
//! What it hands to the kernel survives the end of the process; what a power cut leaves of it is not believed.
//! A marker beside the index says under which boot of the kernel it was opened, or that it was closed and synced;
//! an index that neither holds for is deleted and made anew from the log.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::log::sync_dir;
use super::rows::ROWS_VERSION;
use super::stamp::replace;
#[cfg(test)]
use super::tests::faults::{self, Fault};

const FILE: &str = "index.marker";
const PREFIX: &str = "index.";
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// Directories hold mail: they belong to the server alone.
pub(super) const DIR_MODE: u32 = 0o700;

/// The index directory that may be believed, if there is one.
pub(super) fn trusted(dir: &Path) -> io::Result<Option<PathBuf>> {
    let marker = match fs::read_to_string(dir.join(FILE)) {
        Ok(marker) => marker,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidData) => return Ok(None),
        Err(error) => return Err(error),
    };
    let Some((_, name)) = marker.trim_end().rsplit_once(' ') else {
        return Ok(None);
    };
    let index = dir.join(name);
    if !name.starts_with(PREFIX) || !index.is_dir() {
        return Ok(None);
    }
    let is_ours = marker == clean_text(&index)? || open_text(&index)?.is_some_and(|text| marker == text);
    Ok(is_ours.then_some(index))
}

/// The highest number that an index directory has; 0 if there is none.
pub(super) fn last_number(dir: &Path) -> io::Result<u64> {
    Ok(index_dirs(dir)?.iter().map(|index| number_of(index)).max().unwrap_or(0))
}

/// Makes a new directory for an index, with the next number, which it adds to `last`.
///
/// No number is used twice by a process: an earlier index may still hold, and write to, a directory that is deleted.
pub(super) fn create(dir: &Path, last: &mut u64) -> io::Result<PathBuf> {
    *last = last_number(dir)?.max(*last) + 1;
    let index = dir.join(format!("{PREFIX}{last}"));
    DirBuilder::new().mode(DIR_MODE).create(&index)?;
    Ok(index)
}

/// The number of an index directory.
pub(super) fn number_of(index: &Path) -> u64 {
    let number = index.extension().and_then(|number| number.to_str());
    number.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

/// Deletes every index directory but one.
pub(super) fn delete_others(dir: &Path, keep: Option<&Path>) -> io::Result<()> {
    for index in index_dirs(dir)? {
        if keep != Some(index.as_path()) {
            fs::remove_dir_all(index)?;
        }
    }
    Ok(())
}

/// Says that the index is being written under this boot. Must stand before the first write to it.
pub(super) fn opened(dir: &Path, index: &Path) -> io::Result<()> {
    match open_text(index)? {
        Some(text) => replace(dir, FILE, text.as_bytes())?,
        // Where the kernel does not tell its boot, only a clean close is believed.
        None => replace(dir, FILE, b"open\n")?,
    }
    #[cfg(test)]
    faults::inject(dir, Fault::Marker)?;
    Ok(())
}

/// Makes the files of a closed index durable and says so.
pub(super) fn closed(dir: &Path, index: &Path) -> io::Result<()> {
    sync_tree(index)?;
    replace(dir, FILE, clean_text(index)?.as_bytes())
}

fn sync_tree(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            sync_tree(&path)?;
        } else {
            File::open(path)?.sync_all()?;
        }
    }
    sync_dir(dir)
}

fn index_dirs(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut dirs = Vec::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let is_index = path
            .file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| name.starts_with(PREFIX));
        if is_index && path.is_dir() {
            dirs.push(path);
        }
    }
    Ok(dirs)
}

/// Device and inode tell a copied directory from the one that was written, and the version says how to read it.
/// The name comes last.
fn identity(index: &Path) -> io::Result<String> {
    let metadata = fs::metadata(index)?;
    let name = index.file_name().unwrap_or_default().to_string_lossy();
    Ok(format!(
        "rows {ROWS_VERSION} {} {} {name}\n",
        metadata.dev(),
        metadata.ino()
    ))
}

fn clean_text(index: &Path) -> io::Result<String> {
    Ok(format!("clean {}", identity(index)?))
}

fn open_text(index: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(BOOT_ID) {
        Ok(boot) => Ok(Some(format!("open {} {}", boot.trim(), identity(index)?))),
        Err(_) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_index_is_believed_under_the_same_boot_only() {
        let dir = tempfile::tempdir().unwrap();
        let index = create(dir.path(), &mut 0).unwrap();
        assert_eq!(trusted(dir.path()).unwrap(), None);
        opened(dir.path(), &index).unwrap();
        assert_eq!(trusted(dir.path()).unwrap(), Some(index.clone()));
        let marker = fs::read_to_string(dir.path().join(FILE)).unwrap();
        let other_boot = marker.replacen("open ", "open 0", 1);
        fs::write(dir.path().join(FILE), other_boot).unwrap();
        assert_eq!(trusted(dir.path()).unwrap(), None);
    }

    #[test]
    fn a_closed_index_is_believed_where_it_was_closed() {
        let dir = tempfile::tempdir().unwrap();
        let index = create(dir.path(), &mut 0).unwrap();
        closed(dir.path(), &index).unwrap();
        assert_eq!(trusted(dir.path()).unwrap(), Some(index.clone()));
        let moved = dir.path().join("elsewhere");
        fs::rename(&index, &moved).unwrap();
        fs::create_dir(&index).unwrap();
        assert_eq!(trusted(dir.path()).unwrap(), None);
    }

    #[test]
    fn an_index_with_other_rows_is_not_believed() {
        let dir = tempfile::tempdir().unwrap();
        let index = create(dir.path(), &mut 0).unwrap();
        closed(dir.path(), &index).unwrap();
        let marker = fs::read_to_string(dir.path().join(FILE)).unwrap();
        let other_rows = marker.replacen(&format!("rows {ROWS_VERSION} "), "rows 999 ", 1);
        assert_ne!(marker, other_rows);
        fs::write(dir.path().join(FILE), other_rows).unwrap();
        assert_eq!(trusted(dir.path()).unwrap(), None);
    }

    #[test]
    fn a_new_index_gets_a_new_name() {
        let dir = tempfile::tempdir().unwrap();
        let mut last = 0;
        let first = create(dir.path(), &mut last).unwrap();
        let second = create(dir.path(), &mut last).unwrap();
        assert_ne!(first, second);
        delete_others(dir.path(), Some(&first)).unwrap();
        assert!(first.exists() && !second.exists());
        // Not that of the deleted one either: some thread may still write there.
        assert_eq!(create(dir.path(), &mut last).unwrap(), dir.path().join("index.3"));
        // A new process finds out where to go on.
        assert_eq!(create(dir.path(), &mut 0).unwrap(), dir.path().join("index.4"));
    }
}
