//! The data directory: there, and writable.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use rustix::fs::{Access, access};

use crate::StartError;

/// Makes the directory, durably and for its owner only, if it is not there, and checks that it can be written.
///
/// # Errors
/// [`StartError::DataPath`].
pub fn prepare(path: &Path) -> Result<(), StartError> {
    let made = make(path);
    let writable = |()| access(path, Access::WRITE_OK | Access::EXEC_OK).map_err(io::Error::from);
    made.and_then(writable).map_err(|source| StartError::DataPath {
        path: path.into(),
        source,
    })
}

fn make(path: &Path) -> io::Result<()> {
    let missing = path.ancestors().take_while(|path| !path.exists());
    // A relative path ends with an empty one, which stands for where the process runs.
    let parents: Vec<_> = missing
        .filter_map(|path| path.parent())
        .map(|parent| {
            if parent.as_os_str().is_empty() {
                Path::new(".")
            } else {
                parent
            }
        })
        .collect();
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    // What holds the directory may be lost with it after a power cut: it, too, is synced.
    parents.iter().try_for_each(|parent| File::open(parent)?.sync_all())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn it_is_made_for_its_owner_only_and_may_be_there() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a/b");
        prepare(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        prepare(&path).unwrap();
    }

    #[test]
    fn a_file_in_its_place_is_named() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("file");
        fs::write(&path, "").unwrap();
        let error = prepare(&path).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("data directory {}: ", path.display())),
            "{error}"
        );
        assert!(error.ends_with("; SVC_DATA_PATH names another"), "{error}");
    }
}
