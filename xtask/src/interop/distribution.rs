//! The SDK's source distribution, which brings its tests.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use restante_testkit::digest::sha256;

use super::environment::pip;
use crate::{repository, shell};

/// The SDK, as it is installed and as it is tested.
pub(super) const SDK: &str = "vaultsandbox==0.9.3";
/// Its package, which is to come as source.
const PACKAGE: &str = "vaultsandbox";
/// The archive, and the folder in it.
const ARCHIVE: &str = "vaultsandbox-0.9.3.tar.gz";
const FOLDER: &str = "vaultsandbox-0.9.3";
/// What the archive was when its tests were counted: another one is another set of tests.
pub(super) const SHA256: &str = "3b1339f0d8b8b972bc3e9022966430bddafab7df189a3b1ec2996f4d893e1b16";

/// Has the archive as it was published, unpacks it, and gives back the folder with its tests.
pub(super) fn prepare(python: &Path) -> Result<PathBuf> {
    let place = repository::target()?.join("interop-sdk");
    let archive = place.join(ARCHIVE);
    if !is_published(&archive) {
        download(python, &place)?;
        ensure!(
            is_published(&archive),
            "{ARCHIVE} is not the one whose SHA-256 is {SHA256}"
        );
    }
    unpack(&archive, &place.join("unpacked"))
}

fn is_published(archive: &Path) -> bool {
    fs::read(archive).is_ok_and(|bytes| hex(&sha256(&bytes)) == SHA256)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Asks for this very archive: pip compares before it runs anything of it, to read its metadata.
fn download(python: &Path, place: &Path) -> Result<()> {
    fs::create_dir_all(place)?;
    let requirements = place.join("requirements.txt");
    fs::write(&requirements, format!("{SDK} --hash=sha256:{SHA256}\n"))?;
    let mut download = pip(python, "download");
    download.args(["--no-deps", "--no-binary", PACKAGE, "--require-hashes", "--requirement"]);
    shell::run(download.arg(&requirements).arg("--dest").arg(place))
}

/// Unpacks it into an empty folder, so that what runs is what was published.
fn unpack(archive: &Path, folder: &Path) -> Result<PathBuf> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    fs::create_dir_all(folder)?;
    // The tests look for a file of variables in the folders above them, up to the root: they find this empty one.
    fs::write(folder.join(".env"), "")?;
    shell::run(Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(folder))?;
    Ok(folder.join(FOLDER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_is_known_by_its_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let archive = folder.path().join(ARCHIVE);
        assert!(!is_published(&archive), "there is none");
        fs::write(&archive, "something else").unwrap();
        assert!(!is_published(&archive), "it is another one");
        assert_eq!(hex(&[0, 0x0a, 0xff]), "000aff");
        assert_eq!(hex(&sha256(b"")).len(), SHA256.len());
    }
}
