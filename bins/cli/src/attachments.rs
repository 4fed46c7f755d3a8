//! Attachments become files: under names that cannot leave the folder, and never over what is there.

use std::fs::FileType;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The bytes that a name keeps at most: with the number that [`save`] may add it fits into the 255 of most file systems.
const MAX_BYTES: usize = 200;
/// The bytes of the longest ending that is kept whole when a name is cut.
const MAX_ENDING_BYTES: usize = 20;
/// How often a name that is taken gets another number before the folder is given up.
const MAX_NUMBER: u32 = 10_000;

/// A name of one file in one folder, whatever the mail says.
///
/// Folders, control characters, overrides of the writing direction, and what some system refuses in a name are gone;
/// the rest is kept, so that the file is known by its name.
pub(crate) fn safe_name(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let kept: String = last.chars().filter(|c| is_shown(*c)).map(without_special).collect();
    // Windows drops dots and spaces at the end: two names would be one file.
    let kept = kept.trim().trim_end_matches(['.', ' ']);
    if kept.is_empty() {
        return "unnamed".to_owned();
    }
    let cut = cut(kept);
    // A dot hides a file, and a dash makes an option of its name.
    if cut.starts_with(['.', '-']) || is_device(&cut) {
        return format!("_{cut}");
    }
    cut
}

/// Writes a new file into a folder, which is made if there is none; a name that is taken gets a number.
///
/// # Errors
/// What the system says; then there is no file.
pub(crate) fn save(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<PathBuf> {
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    let name = safe_name(name);
    for number in 1..=MAX_NUMBER {
        let path = folder.join(numbered(&name, number));
        match file.persist_noclobber(&path) {
            Ok(_) => return Ok(path),
            Err(refused) if refused.error.kind() == io::ErrorKind::AlreadyExists => file = refused.file,
            Err(refused) => return Err(refused.error),
        }
    }
    Err(io::Error::new(
        io::ErrorKind::AlreadyExists,
        format!("{MAX_NUMBER} files are called {name}"),
    ))
}

/// Writes a file as a whole, in place of one that is there only if that is wanted; a link gives way, its target does not.
///
/// # Errors
/// What the system says; then everything is as it was.
pub(crate) fn write(path: &Path, bytes: &[u8], replace: bool) -> io::Result<()> {
    let is_special = |kind: FileType| !(kind.is_file() || kind.is_symlink());
    if replace && path.symlink_metadata().is_ok_and(|there| is_special(there.file_type())) {
        // A device or a pipe takes the bytes and stays what it is; a folder says no.
        return std::fs::write(path, bytes);
    }
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let mut file = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
    file.write_all(bytes)?;
    let named = if replace {
        file.persist(path)
    } else {
        file.persist_noclobber(path)
    };
    named.map(drop).map_err(|refused| refused.error)
}

/// `report.pdf`, `report-2.pdf`, `report-3.pdf`, …
fn numbered(name: &str, number: u32) -> String {
    match (number, ending(name)) {
        (1, _) => name.to_owned(),
        (_, Some((stem, ending))) => format!("{stem}-{number}.{ending}"),
        (_, None) => format!("{name}-{number}"),
    }
}

/// The name without its ending, and the ending.
fn ending(name: &str) -> Option<(&str, &str)> {
    let (stem, ending) = name.rsplit_once('.')?;
    (!stem.is_empty() && !ending.is_empty() && ending.len() <= MAX_ENDING_BYTES).then_some((stem, ending))
}

fn cut(name: &str) -> String {
    if name.len() <= MAX_BYTES {
        return name.to_owned();
    }
    match ending(name) {
        Some((stem, ending)) => format!("{}.{ending}", start(stem, MAX_BYTES - 1 - ending.len())),
        None => start(name, MAX_BYTES).to_owned(),
    }
}

/// As much of a text as fits, up to the end of a character.
fn start(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len()))
        .rev()
        .find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or_default()]
}

/// Whether a character is seen where it stands: none that controls a terminal, hides, or turns the direction.
fn is_shown(c: char) -> bool {
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let hides = matches!(
        c,
        '\u{200b}'..='\u{200d}' | '\u{2028}' | '\u{2029}' | '\u{2060}' | '\u{feff}'
    );
    !c.is_control() && !turns && !hides
}

/// Windows refuses these, and a colon there names a second stream of the file.
fn without_special(c: char) -> char {
    match c {
        '<' | '>' | ':' | '"' | '|' | '?' | '*' => '_',
        c => c,
    }
}

/// Whether Windows means a device by a name, whatever its ending.
fn is_device(name: &str) -> bool {
    let stem = name
        .split('.')
        .next()
        .unwrap_or_default()
        .trim_end()
        .to_ascii_uppercase();
    let numbered = stem.strip_prefix("COM").or_else(|| stem.strip_prefix("LPT"));
    matches!(stem.as_str(), "CON" | "PRN" | "AUX" | "NUL")
        || numbered.is_some_and(|number| matches!(number.as_bytes(), [b'0'..=b'9']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_file_in_the_folder() {
        for (name, safe) in [
            ("report.pdf", "report.pdf"),
            ("Grüße 1.txt", "Grüße 1.txt"),
            ("../../etc/passwd", "passwd"),
            ("..\\..\\boot.ini", "boot.ini"),
            ("/etc/shadow", "shadow"),
            ("C:\\temp\\x.exe", "x.exe"),
            ("..", "unnamed"),
            (".", "unnamed"),
            ("", "unnamed"),
            ("a/", "unnamed"),
            (" . ", "unnamed"),
            (".bashrc", "_.bashrc"),
            ("-rf", "_-rf"),
            ("a\0b\r\n\u{1b}[31mc\u{9b}.txt", "ab[31mc.txt"),
            ("invoice\u{202e}fdp.exe", "invoicefdp.exe"),
            ("a\u{200b}b", "ab"),
            ("a:b*c?.txt", "a_b_c_.txt"),
            ("con.txt", "_con.txt"),
            ("COM1", "_COM1"),
            ("comic.txt", "comic.txt"),
            ("name. . ", "name"),
        ] {
            assert_eq!(safe_name(name), safe, "{name:?}");
        }
    }

    #[test]
    fn a_long_name_is_cut_between_characters_and_keeps_its_ending() {
        let long = safe_name(&format!("{}.tar.gz", "ü".repeat(300)));
        assert!(
            long.rsplit('.').next() == Some("gz") && long.len() <= MAX_BYTES,
            "{long}"
        );
        assert_eq!(safe_name(&"x".repeat(999)).len(), MAX_BYTES);
        let no_ending = format!("a.{}", "x".repeat(999));
        assert!(safe_name(&no_ending).len() <= MAX_BYTES);
    }

    #[test]
    fn what_is_there_stays() {
        let folder = tempfile::tempdir().unwrap();
        let saved = |name: &str, bytes: &[u8]| save(&folder.path().join("new"), name, bytes).unwrap();
        let first = saved("a.txt", b"1");
        let second = saved("../a.txt", b"2");
        let third = saved("a.txt", b"3");
        assert_eq!(std::fs::read(&first).unwrap(), b"1");
        assert_eq!(std::fs::read(&second).unwrap(), b"2");
        assert_eq!(std::fs::read(&third).unwrap(), b"3");
        let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
        assert_eq!(
            [name(&first), name(&second), name(&third)],
            ["a.txt", "a-2.txt", "a-3.txt"]
        );
        assert_eq!(std::fs::read_dir(folder.path().join("new")).unwrap().count(), 3);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_at_the_name_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        std::os::unix::fs::symlink(&target, folder.path().join("a.txt")).unwrap();
        let saved = save(folder.path(), "a.txt", b"x").unwrap();
        assert_eq!(saved, folder.path().join("a-2.txt"));
        assert!(!target.exists());
    }
}
