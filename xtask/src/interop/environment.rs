//! The virtual environment with the SDK, and with what its tests need.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use super::distribution::SDK;
use crate::{repository, shell};

/// The library that the SDK names without an upper bound but needs below 1, a receiver of Standard Webhooks, and the
/// runner of the SDK's tests with its plugins, within the versions that the tests were written for.
const PACKAGES: [&str; 6] = [
    "pqcrypto<1",
    "standardwebhooks==1.1.0",
    "pytest>=8,<9",
    "pytest-asyncio>=1,<2",
    "pytest-timeout>=2.3,<3",
    "python-dotenv>=1,<2",
];

/// Makes the environment under the target directory, unless it stands, and gives back its interpreter.
pub(super) fn prepare() -> Result<PathBuf> {
    let folder = repository::target()?.join("interop-venv");
    let python = folder.join("bin/python");
    let installed = folder.join("installed");
    let wanted = [[SDK].as_slice(), &PACKAGES].concat();
    let stamp = wanted.join("\n");
    // The stamp is written last: an environment that was left half made is made again.
    if fs::read_to_string(&installed).is_ok_and(|found| found == stamp) {
        return Ok(python);
    }
    shell::run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
    shell::run(pip(&python, "install").args(wanted))?;
    fs::write(&installed, stamp)?;
    Ok(python)
}

/// `pip` of the environment with one of its commands.
pub(super) fn pip(python: &Path, command: &str) -> Command {
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", command, "--quiet", "--disable-pip-version-check"]);
    pip
}

/// The interpreter, then each package of the environment, with their versions.
pub(super) fn versions(python: &Path) -> Result<Vec<String>> {
    let interpreter = shell::output(Command::new(python).arg("--version"))?;
    let interpreter = interpreter.trim().strip_prefix("Python ").context("no version")?;
    let packages = shell::output(&mut pip(python, "freeze"))?;
    let packages = packages.lines().map(|line| line.replace("==", " "));
    Ok([format!("Python {interpreter}")].into_iter().chain(packages).collect())
}
