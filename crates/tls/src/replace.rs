//! Files that appear whole or not at all.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

/// For the owner only.
pub(crate) const SECRET: u32 = 0o600;
/// For everybody to read.
pub(crate) const PUBLIC: u32 = 0o644;

/// Writes a file with this mode, whole or not at all, in the place of one that may be there.
///
/// Only one process may do so at a time: the data directory has one owner.
pub(crate) fn replace(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let directory = path.parent().expect("the files of the authority are in its directory");
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(".unfinished");
    let unfinished = Path::new(&unfinished);
    // One that a crash has left may have another mode.
    match fs::remove_file(unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(unfinished)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(unfinished, path)?;
    File::open(directory)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_file_has_its_mode_and_nothing_unfinished_stays() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("tls/key.pem");
        for (content, mode) in [("one", SECRET), ("two", PUBLIC), ("three", SECRET)] {
            replace(&path, content.as_bytes(), mode).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode);
        }
        assert_eq!(fs::read_dir(root.path().join("tls")).unwrap().count(), 1);
    }

    #[test]
    fn what_a_crash_left_is_in_nobodys_way() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("key.pem");
        let left = root.path().join("key.pem.unfinished");
        fs::write(&left, "half").unwrap();
        replace(&path, b"whole", SECRET).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, SECRET);
        assert!(!left.exists());
    }
}
