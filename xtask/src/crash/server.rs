//! The server under trial: its binary, its settings, and what its data directory shows.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use crate::{release, repository, shell};

/// Emails of one inbox, at most; only the flooded one is sent more.
pub(crate) const INBOX_MAX: usize = 200;
pub(crate) const INBOX_MAX_SETTING: &str = "SVC_INBOX_MAX_EMAILS";
const INBOX_MAX_TEXT: &str = "200";

/// The built server.
pub(crate) struct Binary(PathBuf);

impl Binary {
    /// The one at a path, or else one that is built now.
    pub(crate) fn chosen(path: Option<&Path>, is_release: bool) -> Result<Self> {
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

    /// The settings of a trial: with a limit of emails, if this server knows one.
    pub(crate) fn settings(&self) -> Result<Vec<(&'static str, &'static str)>> {
        let mut check = Command::new(&self.0);
        check.arg("--check-config").env(INBOX_MAX_SETTING, INBOX_MAX_TEXT);
        let status = check.stdout(Stdio::null()).stderr(Stdio::null()).status();
        let knows = status.context("cannot start the server")?.success();
        if !knows {
            eprintln!("note: this server does not limit the emails of an inbox; no inbox is flooded");
        }
        Ok(knows
            .then_some((INBOX_MAX_SETTING, INBOX_MAX_TEXT))
            .into_iter()
            .collect())
    }
}

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
    let text = fs::read_to_string(&marker).unwrap_or_default();
    if let Some(opened) = text.strip_prefix("open ") {
        fs::write(&marker, format!("open 0{opened}"))?;
    }
    // The runtime directory of a machine is empty after a boot.
    let runtime = home.join("restante");
    if runtime.exists() {
        fs::remove_dir_all(runtime)?;
    }
    Ok(())
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
