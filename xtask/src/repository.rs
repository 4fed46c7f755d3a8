//! Where the repository is and which files belong to it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::shell;

/// The root of the repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask is a folder of the repository")
}

/// The target directory of the workspace.
pub(crate) fn target() -> Result<PathBuf> {
    let metadata = cargo_metadata::MetadataCommand::new()
        .current_dir(root())
        .no_deps()
        .exec();
    Ok(metadata.context("cargo metadata failed")?.target_directory.into())
}

/// A file of the repository: committed, or about to be (not ignored).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SourceFile {
    /// Path from the root, with `/`.
    pub(crate) path: String,
    /// The content; `None` when it is not UTF-8.
    pub(crate) text: Option<String>,
}

impl SourceFile {
    /// A file for the tests of a rule.
    #[cfg(test)]
    pub(crate) fn of(path: &str, text: &str) -> Self {
        Self {
            path: path.to_owned(),
            text: Some(text.to_owned()),
        }
    }

    /// The lines with their numbers, from 1.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text
            .iter()
            .flat_map(|text| text.lines().enumerate().map(|(index, line)| (index + 1, line)))
    }

    /// Whether the name ends in `.extension`.
    pub(crate) fn has_extension(&self, extension: &str) -> bool {
        Path::new(&self.path)
            .extension()
            .is_some_and(|found| found == extension)
    }
}

/// All files of the repository, read.
pub(crate) fn files() -> Result<Vec<SourceFile>> {
    let mut git = Command::new("git");
    // A checkout that belongs to another user, as in some CI containers, is read all the same.
    git.args(["-c", "safe.directory=*"]);
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root());
    let listing = shell::output(&mut git)?;
    let paths = listing.split('\0').filter(|path| !path.is_empty());
    // A file that is tracked but deleted in the working tree is on its way out.
    let present = paths.filter(|path| root().join(path).is_file());
    present.map(read).collect()
}

fn read(path: &str) -> Result<SourceFile> {
    let bytes = fs::read(root().join(path)).with_context(|| format!("cannot read {path}"))?;
    Ok(SourceFile {
        path: path.to_owned(),
        text: String::from_utf8(bytes).ok(),
    })
}
