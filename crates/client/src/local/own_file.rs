//! Files that say where a key goes: read only if nobody else can have written them, and never without an end.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::process::geteuid;
use zeroize::Zeroizing;

/// No discovery file is larger.
const LARGEST_DISCOVERY: usize = 64 * 1024;
/// No key is longer.
const LARGEST_KEY: usize = 4096;
/// The bits of the mode that let a group or everybody write.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// The content of a regular file that belongs to this user or root, and that nobody else may write.
pub(super) fn read_trusted(path: &Path) -> io::Result<Zeroizing<Vec<u8>>> {
    let (file, about) = open(path)?;
    if let Some(reason) = distrust(about.uid(), about.mode(), geteuid().as_raw()) {
        return Err(io::Error::other(reason));
    }
    read(file, LARGEST_DISCOVERY)
}

/// The content of a regular file that is small enough for a key.
pub(super) fn read_key(path: &Path) -> io::Result<Zeroizing<Vec<u8>>> {
    read(open(path)?.0, LARGEST_KEY)
}

/// Opens a regular file, without waiting for the other end of what is a pipe.
fn open(path: &Path) -> io::Result<(File, Metadata)> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    // Of what was opened, not of what may stand at the path by now.
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    Ok((file, about))
}

/// Why a file of this owner and mode is not believed.
fn distrust(owner: u32, mode: u32, user: u32) -> Option<String> {
    if owner != user && owner != 0 {
        return Some(format!(
            "it belongs to another user (id {owner}), so nothing in it is believed"
        ));
    }
    (mode & WRITABLE_BY_OTHERS != 0).then(|| {
        format!(
            "others than its owner may write it (mode {:o}), so nothing in it is believed",
            mode & 0o7777
        )
    })
}

fn read(file: File, largest: usize) -> io::Result<Zeroizing<Vec<u8>>> {
    // Room for all from the start: a buffer that grew would leave a part of the key behind.
    let mut content = Zeroizing::new(Vec::with_capacity(largest + 64));
    let limit = u64::try_from(largest).unwrap_or(u64::MAX).saturating_add(1);
    file.take(limit).read_to_end(&mut content)?;
    if content.len() > largest {
        return Err(io::Error::other(format!("it has more than {largest} bytes")));
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_and_root_are_believed_alone() {
        for (owner, mode, user, is_believed) in [
            (1000, 0o100_600, 1000, true),
            (1000, 0o100_644, 1000, true),
            (0, 0o100_644, 1000, true),
            (0, 0o100_600, 0, true),
            (65534, 0o100_600, 1000, false),
            (1000, 0o100_600, 0, false),
            (1000, 0o100_660, 1000, false),
            (1000, 0o100_606, 1000, false),
            (0, 0o100_666, 1000, false),
        ] {
            let reason = distrust(owner, mode, user);
            assert_eq!(reason.is_none(), is_believed, "{owner} {mode:o} {user}: {reason:?}");
        }
        let of_nobody = distrust(65534, 0o100_666, 1000).unwrap();
        assert!(of_nobody.contains("another user (id 65534)"), "{of_nobody}");
    }
}
