//! `cargo xtask vectors`: the test vectors of the envelope, of webhook signatures, and of exported inboxes, made
//! by the independent builders in testkit.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use restante_testkit::{exported_inbox, payload, webhook_signature};

use crate::repository;

/// Writes the folders below `tests/vectors` that have a builder; with `check` compares them, byte by byte, and writes nothing.
pub(crate) fn run(check: bool) -> Result<()> {
    let root = repository::root().join("tests/vectors");
    for (folder, made) in made()? {
        let folder = root.join(folder);
        if check {
            compare(&folder, &made)?;
        } else {
            write(&folder, &made)?;
        }
    }
    Ok(())
}

/// Folders with the names and contents of their files.
fn made() -> Result<[(&'static str, BTreeMap<String, String>); 3]> {
    let envelope = payload::vectors()
        .into_iter()
        .map(|vector| (vector.name().to_owned(), vector.to_json()));
    let signature = webhook_signature::vectors()
        .into_iter()
        .map(|vector| (vector.name().to_owned(), vector.to_json()));
    let import = exported_inbox::vectors()
        .into_iter()
        .map(|vector| (vector.name().to_owned(), vector.to_json()));
    Ok([
        ("envelope", files(envelope)?),
        ("import", files(import)?),
        ("webhook-signature", files(signature)?),
    ])
}

/// File names and contents.
fn files(vectors: impl Iterator<Item = (String, String)>) -> Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    for (name, json) in vectors {
        let name = format!("{name}.json");
        ensure!(
            files.insert(name.clone(), json).is_none(),
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
    println!("wrote {} vectors to {}", made.len(), folder.display());
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
    println!(
        "{} vectors of {} are as the builder makes them",
        made.len(),
        folder.display()
    );
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

    fn named(files: &[(&str, &str)]) -> BTreeMap<String, String> {
        files
            .iter()
            .map(|&(name, text)| (name.to_owned(), text.to_owned()))
            .collect()
    }

    #[test]
    fn what_was_written_compares_equal_and_stale_files_are_gone() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &named(&[("a.json", "1"), ("b.json", "2")])).unwrap();
        let made = named(&[("b.json", "2"), ("c.json", "3")]);
        write(folder.path(), &made).unwrap();
        compare(folder.path(), &made).unwrap();
        assert_eq!(present(folder.path()).unwrap(), made);
    }

    #[test]
    fn a_changed_a_missing_and_a_surplus_file_are_named() {
        let folder = tempfile::tempdir().unwrap();
        write(
            folder.path(),
            &named(&[("changed.json", "1"), ("same.json", "2"), ("surplus.json", "3")]),
        )
        .unwrap();
        let made = named(&[("changed.json", "x"), ("missing.json", "4"), ("same.json", "2")]);
        let error = compare(folder.path(), &made).unwrap_err().to_string();
        assert!(
            error.ends_with(r#"["changed.json", "missing.json", "surplus.json"]"#),
            "{error}"
        );
    }
}
