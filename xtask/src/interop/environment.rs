//! The virtual environment with the SDK.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::{repository, shell};

/// The SDK, the library that it names without an upper bound but needs below 1, and a receiver of Standard Webhooks.
const PACKAGES: [&str; 3] = ["vaultsandbox==0.9.3", "pqcrypto<1", "standardwebhooks==1.1.0"];

/// Makes the environment under the target directory, unless it stands, and gives back its interpreter.
pub(super) fn prepare() -> Result<PathBuf> {
    let folder = repository::target()?.join("interop-venv");
    let python = folder.join("bin/python");
    let installed = folder.join("installed");
    let wanted = PACKAGES.join("\n");
    // The stamp is written last: an environment that was left half made is made again.
    if fs::read_to_string(&installed).is_ok_and(|found| found == wanted) {
        return Ok(python);
    }
    shell::run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
    let mut install = Command::new(&python);
    install
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
        .args(PACKAGES);
    shell::run(&mut install)?;
    fs::write(&installed, wanted)?;
    Ok(python)
}
