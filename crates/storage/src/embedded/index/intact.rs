//! Whether the lists in the index's files are as they were written, before the tree makes room for what they count.
//!
//! The tree reads how many entries a list has, makes room for all of them, and compares the checksum afterwards, or
//! never: one wrong bit asks for more memory than there is, and that ends the process where a panic would not.
//! All other lengths it reads are behind a checksum, or at most 4 GiB.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use xxhash_rust::xxh3::xxh3_128;

/// Names the list of files that holds, with its checksum.
const CURRENT: &str = "current";
/// Where the tree keeps its tables.
const TABLES: &str = "tables";
/// What a file ends with: mark, version, kind of checksum, checksum of the list of its parts, where that begins, and
/// its length.
const TRAILER_BYTES: usize = 4 + 1 + 1 + 16 + 8 + 8;
const TRAILER_MARK: &[u8] = b"SFA!\x01\x00";
/// A list of parts has a handful of entries; a longer one is not believed.
const MAX_PARTS_BYTES: u64 = 64 * 1024;

/// Which list is not what was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in super::super) enum Damage {
    /// The file that names the list of files.
    #[error("the file that names the index's files is damaged")]
    Current,
    /// The list of files.
    #[error("the list of the index's files, {0}, is damaged")]
    Files(String),
    /// The list of a file's parts.
    #[error("the list of parts in table {0} of the index is damaged")]
    Parts(String),
}

/// The damaged list in a directory of a tree, if one is.
///
/// # Errors
///
/// A file cannot be read.
pub(super) fn damage(dir: &Path) -> io::Result<Option<Damage>> {
    let current = match fs::read(dir.join(CURRENT)) {
        Ok(current) => current,
        // Nothing was written yet: the tree makes a new one.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let Some((version, checksum)) = named(&current) else {
        return Ok(Some(Damage::Current));
    };
    let name = format!("v{version}");
    match fs::read(dir.join(&name)) {
        Ok(list) if xxh3_128(&list) != checksum => return Ok(Some(Damage::Files(name))),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Some(Damage::Current)),
        Err(error) => return Err(error),
    }
    let tables = match fs::read_dir(dir.join(TABLES)) {
        Ok(tables) => tables,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    for table in tables {
        let table = table?;
        if !has_its_parts(&mut File::open(table.path())?)? {
            let name = table.file_name().to_string_lossy().into_owned();
            return Ok(Some(Damage::Parts(name)));
        }
    }
    Ok(None)
}

/// The version and the checksum of its list in the file [`CURRENT`]; `None` if it is something else.
fn named(current: &[u8]) -> Option<(u64, u128)> {
    let (version, rest) = current.split_first_chunk()?;
    let (checksum, kind) = rest.split_first_chunk()?;
    (kind == [0]).then(|| (u64::from_le_bytes(*version), u128::from_le_bytes(*checksum)))
}

/// Whether the list of a table's parts has its checksum.
///
/// A file without a trailer has none: a crash left it unfinished, or the tree refuses it before it reads a list.
fn has_its_parts(table: &mut File) -> io::Result<bool> {
    let size = table.metadata()?.len();
    let Some(end) = size.checked_sub(TRAILER_BYTES as u64) else {
        return Ok(true);
    };
    let mut trailer = [0; TRAILER_BYTES];
    table.seek(SeekFrom::Start(end))?;
    table.read_exact(&mut trailer)?;
    let Some(rest) = trailer.strip_prefix(TRAILER_MARK) else {
        return Ok(true);
    };
    let Some((checksum, rest)) = rest.split_first_chunk() else {
        return Ok(false);
    };
    let Some((begin, _)) = rest.split_first_chunk() else {
        return Ok(false);
    };
    let begin = u64::from_le_bytes(*begin);
    let Some(length) = end.checked_sub(begin).filter(|length| *length <= MAX_PARTS_BYTES) else {
        return Ok(false);
    };
    let mut parts = Vec::new();
    table.seek(SeekFrom::Start(begin))?;
    table.take(length).read_to_end(&mut parts)?;
    Ok(xxh3_128(&parts) == u128::from_le_bytes(*checksum))
}
