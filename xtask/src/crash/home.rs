//! What the data directory of a server shows, and how it looks after a boot of the machine.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

/// Whether the data directory has an index that may be believed.
pub(crate) fn has_index(home: &Path) -> bool {
    marker(home).exists()
}

/// Takes away what makes the index believed, as the next boot of the machine would.
pub(crate) fn forget_index(home: &Path) -> Result<()> {
    let marker = marker(home);
    if marker.exists() {
        fs::remove_file(&marker).with_context(|| format!("cannot remove {}", marker.display()))?;
    }
    Ok(())
}

/// Puts the data directory under another boot of the kernel: an index that was in use is from before it.
pub(crate) fn boot(home: &Path) -> Result<()> {
    let marker = marker(home);
    match fs::read_to_string(&marker) {
        // Without a marker no index is believed anyway.
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        text => fs::write(&marker, after_boot(&text?)?)?,
    }
    // The runtime directory of a machine is empty after a boot.
    let runtime = home.join("restante");
    if runtime.exists() {
        fs::remove_dir_all(runtime)?;
    }
    Ok(())
}

/// What a marker that was written under an earlier boot looks like under this one.
fn after_boot(marker: &str) -> Result<String> {
    if let Some(opened) = marker.strip_prefix("open ") {
        return Ok(format!("open 0{opened}"));
    }
    // A boot changes nothing for an index that was closed.
    ensure!(
        marker.starts_with("clean "),
        "the marker of the index is unknown: {marker:?}"
    );
    Ok(marker.to_owned())
}

/// The numbers of the segments that are there.
pub(crate) fn segment_numbers(home: &Path) -> Result<Vec<u64>> {
    let folder = home.join("data/store/segments");
    let entries = fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let number = |path: PathBuf| path.file_stem()?.to_str()?.parse().ok();
    Ok(entries.filter_map(|entry| number(entry.ok()?.path())).collect())
}

fn marker(home: &Path) -> PathBuf {
    home.join("data/store/index.marker")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_index_in_use_is_from_before_a_boot() {
        assert_eq!(
            after_boot("open 1f rows 4 1 2 index.1\n").unwrap(),
            "open 01f rows 4 1 2 index.1\n"
        );
        let closed = "clean rows 4 1 2 index.1\n";
        assert_eq!(after_boot(closed).unwrap(), closed);
        for unknown in ["", "ajar", "opened 1f"] {
            after_boot(unknown).unwrap_err();
        }
    }
}
