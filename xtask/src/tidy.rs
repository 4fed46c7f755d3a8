//! `cargo xtask tidy`: the rules that the compiler does not know.
//!
//! Each rule is a function from what was read to a list of findings, with a unit test that shows it can fail.

mod arrows;
mod bans;
mod crate_table;
mod links;
mod machine_paths;
mod mentions;
mod names;
mod proofs;
mod reasons;
mod settings;
mod size;
mod table;

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context, Result, bail};
use cargo_metadata::MetadataCommand;

use crate::repository::{self, SourceFile};
use crate::{load, probe};

/// One thing to mend: where, and what.
type Finding = String;

/// Runs every rule; any finding is an error.
pub(crate) fn run() -> Result<()> {
    let files = repository::files()?;
    let metadata = MetadataCommand::new().current_dir(repository::root()).exec()?;
    let graph = arrows::Graph::read(&metadata)?;
    let root_manifest = text_of(&files, "Cargo.toml")?;
    let architecture = text_of(&files, crate_table::DOCUMENT)?;
    let paths: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();

    let lines: Vec<String> = probe::names().into_iter().chain(load::names()).collect();

    let findings: Vec<Finding> = [
        arrows::check(&graph),
        bans::check(&graph),
        reasons::check(root_manifest),
        names::check(&paths),
        size::check(&files),
        machine_paths::check(&files),
        links::check(&files),
        mentions::check(&files),
        proofs::check(&files, &lines),
        settings::check(&files),
        crate_table::check(architecture, &graph.descriptions),
    ]
    .concat();
    for finding in &findings {
        eprintln!("{finding}");
    }
    match findings.len() {
        0 => Ok(()),
        count => bail!("tidy: {count} finding(s)"),
    }
}

/// Writes what is made from the table in code into the documents.
pub(crate) fn fix() -> Result<()> {
    let metadata = MetadataCommand::new().current_dir(repository::root()).exec()?;
    let graph = arrows::Graph::read(&metadata)?;
    let path = repository::root().join(crate_table::DOCUMENT);
    let text = fs::read_to_string(&path)?;
    fs::write(&path, crate_table::replace(&text, &graph.descriptions)?)?;
    Ok(())
}

fn text_of<'a>(files: &'a [SourceFile], path: &str) -> Result<&'a str> {
    let file = files.iter().find(|file| file.path == path);
    file.and_then(|file| file.text.as_deref())
        .with_context(|| format!("{path} is missing"))
}
