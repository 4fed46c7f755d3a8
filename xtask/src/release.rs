//! `cargo xtask build`: the release binaries.

use anyhow::Result;

use crate::{repository, shell};

/// The packages whose binaries are handed out.
const PACKAGES: [&str; 1] = ["restante-server"];

/// Builds them and says where they are.
pub(crate) fn run() -> Result<()> {
    let packages = PACKAGES.iter().flat_map(|package| ["--package", package]);
    shell::run(&mut shell::cargo(["build", "--release"].into_iter().chain(packages)))?;
    println!("binaries are in {}", repository::target()?.join("release").display());
    Ok(())
}
