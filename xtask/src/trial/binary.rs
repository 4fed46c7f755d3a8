//! The server under trial.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::{release, repository, shell};

/// The built server.
pub(crate) struct Binary(PathBuf);

impl Binary {
    /// The one at a path, or else one that is built now.
    pub(super) fn chosen(path: Option<&Path>, is_release: bool) -> Result<Self> {
        path.map_or_else(|| Self::build(is_release), |path| Ok(Self(path.to_owned())))
    }

    fn build(is_release: bool) -> Result<Self> {
        let folder = if is_release {
            release::run()?;
            "release"
        } else {
            shell::run(&mut shell::cargo(["build", "--package", "restante-server"]))?;
            "debug"
        };
        Ok(Self(repository::target()?.join(folder).join("server")))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Lets `server store verify` read a data directory that no server uses.
    ///
    /// # Errors
    /// What it finds.
    pub(crate) fn verify(&self, home: &Path) -> Result<()> {
        let mut verify = Command::new(&self.0);
        verify.args(["store", "verify"]).env("SVC_DATA_PATH", home.join("data"));
        let output = verify.output().context("cannot start the server")?;
        let [findings, progress] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
        ensure!(
            output.status.success(),
            "store verify: {}\n{findings}{progress}",
            output.status
        );
        Ok(())
    }
}
