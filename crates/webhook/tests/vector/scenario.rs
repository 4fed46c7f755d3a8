//! Scenarios in files, one JSON each.

use std::path::PathBuf;

use serde_json::Value;

use crate::event::{folder, read};

/// The scenarios of a folder, by path; there are at least so many.
pub(crate) fn scenarios(name: &str, at_least: usize) -> Vec<(PathBuf, Value)> {
    let folder = folder().join(name);
    let mut paths: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("the folder is part of the repository")
        .map(|entry| entry.expect("the folder is readable").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    paths.sort();
    assert!(
        paths.len() >= at_least,
        "only {} scenarios found in {}",
        paths.len(),
        folder.display()
    );
    paths.into_iter().map(|path| (path.clone(), read(&path))).collect()
}
