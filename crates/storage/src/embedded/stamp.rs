//! The stamp of a store: what its content depends on, in a small text file.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::frame::FORMAT;
use super::log::{FILE_MODE, sync_dir};

const FILE: &str = "stamp";
const FIRST_LINE: &str = "restante-store";

/// What stored mail depends on: a store that is not empty opens only under the stamp that it was filled under.
///
/// The values are short texts without line breaks; the store only compares them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    /// The name of the wire profile.
    pub profile: String,
    /// The fingerprint of the key that signs sealed mail.
    pub signing_key: String,
    /// The fingerprint of the key that seals queued events.
    pub event_key: String,
    /// The fingerprint of the key that authenticates sealed parts until they are signed.
    pub seal_mac_key: String,
}

impl Stamp {
    /// The first value that differs: its name, the other's, and ours.
    pub fn difference(&self, stored: &Self) -> Option<(&'static str, String, String)> {
        [
            ("wire profile", &stored.profile, &self.profile),
            ("signing key", &stored.signing_key, &self.signing_key),
            ("event key", &stored.event_key, &self.event_key),
            ("seal MAC key", &stored.seal_mac_key, &self.seal_mac_key),
        ]
        .into_iter()
        .find(|(_, stored, ours)| stored != ours)
        .map(|(what, stored, ours)| (what, stored.clone(), ours.clone()))
    }
}

/// What the stamp file of a directory says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stamped {
    /// There is no stamp: the directory is new.
    Nothing,
    /// A store of our format.
    Ours(Stamp),
    /// A store of this format, or of one that cannot be told.
    OtherFormat(String),
}

/// Reads the stamp of a directory.
pub(super) fn read(dir: &Path) -> io::Result<Stamped> {
    match fs::read_to_string(dir.join(FILE)) {
        Ok(text) => Ok(parse(&text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Stamped::Nothing),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(Stamped::OtherFormat("unknown".to_owned())),
        Err(error) => Err(error),
    }
}

fn parse(text: &str) -> Stamped {
    let mut lines = text.lines();
    let value = |line: Option<&str>, name: &str| Some(line?.strip_prefix(name)?.strip_prefix(' ')?.to_owned());
    let format = match lines.next() {
        Some(FIRST_LINE) => value(lines.next(), "format"),
        _ => None,
    };
    match format {
        Some(format) if format == FORMAT.to_string() => {}
        other => return Stamped::OtherFormat(other.unwrap_or_else(|| "unknown".to_owned())),
    }
    let stamp = (|| {
        Some(Stamp {
            profile: value(lines.next(), "profile")?,
            signing_key: value(lines.next(), "signing-key")?,
            event_key: value(lines.next(), "event-key")?,
            seal_mac_key: value(lines.next(), "seal-mac-key")?,
        })
    })();
    stamp.map_or_else(|| Stamped::OtherFormat("unknown".to_owned()), Stamped::Ours)
}

/// Writes the stamp of a directory, durably.
pub(super) fn write(dir: &Path, stamp: &Stamp) -> io::Result<()> {
    let Stamp {
        profile,
        signing_key,
        event_key,
        seal_mac_key,
    } = stamp;
    let text = format!(
        "{FIRST_LINE}\nformat {FORMAT}\nprofile {profile}\nsigning-key {signing_key}\n\
         event-key {event_key}\nseal-mac-key {seal_mac_key}\n"
    );
    replace(dir, FILE, text.as_bytes())
}

/// Replaces a small file, durably and in one step.
pub(super) fn replace(dir: &Path, name: &str, content: &[u8]) -> io::Result<()> {
    let temporary = dir.join(format!("{name}.new"));
    let mut file = OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .mode(FILE_MODE)
        .open(&temporary)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&temporary, dir.join(name))?;
    sync_dir(dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp() -> Stamp {
        Stamp {
            profile: "service".to_owned(),
            signing_key: "ab cd".to_owned(),
            event_key: String::new(),
            seal_mac_key: "gh".to_owned(),
        }
    }

    #[test]
    fn a_stamp_reads_back() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(read(dir.path()).unwrap(), Stamped::Nothing);
        write(dir.path(), &stamp()).unwrap();
        assert_eq!(read(dir.path()).unwrap(), Stamped::Ours(stamp()));
    }

    #[test]
    fn other_formats_are_named() {
        let cases = [
            ("restante-store\nformat 1\n", "1"),
            ("restante-store\nformat 5\nprofile service\n", "unknown"),
            (
                "restante-store\nformat 5\nprofile service\nsigning-key a\nevent-key b\n",
                "unknown",
            ),
            ("something else\nformat 5\n", "unknown"),
            ("", "unknown"),
        ];
        for (text, format) in cases {
            assert_eq!(parse(text), Stamped::OtherFormat(format.to_owned()), "{text:?}");
        }
    }

    #[test]
    fn the_first_difference_is_named() {
        let other = Stamp {
            signing_key: "ef".to_owned(),
            seal_mac_key: "ij".to_owned(),
            ..stamp()
        };
        assert_eq!(stamp().difference(&stamp()), None);
        let difference = stamp().difference(&other);
        assert_eq!(difference, Some(("signing key", "ef".to_owned(), "ab cd".to_owned())));
        let other_mac = Stamp {
            signing_key: stamp().signing_key,
            ..other
        };
        let difference = stamp().difference(&other_mac);
        assert_eq!(difference, Some(("seal MAC key", "ij".to_owned(), "gh".to_owned())));
    }
}
