//! `cargo xtask vectors`: the test vectors of the envelope, made by the independent builder in testkit.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use restante_testkit::payload;

use crate::repository;

/// Writes `tests/vectors/envelope/*.json`; with `check` compares them, byte by byte, and writes nothing.
pub(crate) fn run(check: bool) -> Result<()> {
    let folder = repository::root().join("tests/vectors/envelope");
    let made = made()?;
    if check {
        compare(&folder, &made)
    } else {
        write(&folder, &made)
    }
}

/// File names and contents.
fn made() -> Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    for vector in payload::vectors() {
        let name = format!("{}.json", vector.name());
        ensure!(
            files.insert(name.clone(), vector.to_json()).is_none(),
            "two vectors are named {name}"
        );
    }
    Ok(files)
}

fn write(folder: &Path, made: &BTreeMap<String, String>) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    for name in present(folder)?.keys().filter(|name| !made.contains_key(*name)) {
        fs::remove_file(folder.join(name)).with_context(|| format!("cannot remove {name}"))?;
    }
    for (name, text) in made {
        fs::write(folder.join(name), text).with_context(|| format!("cannot write {name}"))?;
    }
    println!("wrote {} vectors", made.len());
    Ok(())
}

fn compare(folder: &Path, made: &BTreeMap<String, String>) -> Result<()> {
    let present = present(folder)?;
    let names = made.keys().chain(present.keys());
    let mut stale: Vec<_> = names.filter(|name| made.get(*name) != present.get(*name)).collect();
    stale.sort();
    stale.dedup();
    ensure!(
        stale.is_empty(),
        "run `cargo xtask vectors` and look at the difference: {stale:?}"
    );
    println!("{} vectors are as the builder makes them", made.len());
    Ok(())
}

/// The files that are there now.
fn present(folder: &Path) -> Result<BTreeMap<String, String>> {
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok((
            path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            text,
        ))
    };
    fs::read_dir(folder)
        .with_context(|| format!("cannot list {}", folder.display()))?
        .map(|entry| read(entry?.path()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(files: &[(&str, &str)]) -> BTreeMap<String, String> {
        files
            .iter()
            .map(|&(name, text)| (name.to_owned(), text.to_owned()))
            .collect()
    }

    #[test]
    fn what_was_written_compares_equal_and_stale_files_are_gone() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &files(&[("a.json", "1"), ("b.json", "2")])).unwrap();
        let made = files(&[("b.json", "2"), ("c.json", "3")]);
        write(folder.path(), &made).unwrap();
        compare(folder.path(), &made).unwrap();
        assert_eq!(present(folder.path()).unwrap(), made);
    }

    #[test]
    fn a_changed_a_missing_and_a_surplus_file_are_named() {
        let folder = tempfile::tempdir().unwrap();
        write(
            folder.path(),
            &files(&[("changed.json", "1"), ("same.json", "2"), ("surplus.json", "3")]),
        )
        .unwrap();
        let made = files(&[("changed.json", "x"), ("missing.json", "4"), ("same.json", "2")]);
        let error = compare(folder.path(), &made).unwrap_err().to_string();
        assert!(
            error.ends_with(r#"["changed.json", "missing.json", "surplus.json"]"#),
            "{error}"
        );
    }
}
