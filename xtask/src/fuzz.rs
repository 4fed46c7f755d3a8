//! `cargo xtask fuzz`: the fuzz targets under libFuzzer, with a nightly compiler; nothing else needs one.
//!
//! It begins with the seeds that the fixtures make, the committed corpus and the inputs that once failed.
//! What it finds goes back into the repository: an input that fails to `tests/fuzz/regressions`, and of the others so
//! few as reach most of what the seeds do not, to `tests/fuzz/corpus`.

mod campaign;
mod report;
mod tools;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::{repository, shell};
use campaign::Campaign;

/// What to fuzz, and for how long.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// This target only
    #[arg(long)]
    target: Option<String>,
    /// Minutes for each target
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    minutes: u64,
}

/// The folder of the drivers, corpus and regressions.
const FOLDER: &str = "tests/fuzz";

/// Fuzzes one target after the other and prints a table; an input that fails is an error.
pub(crate) fn run(options: &Options) -> Result<()> {
    tools::check()?;
    let targets = chosen(options.target.as_deref(), targets()?)?;
    let work = repository::target()?.join("fuzz");
    write_seeds(&work.join("seeds"))?;
    shell::run(&mut tools::cargo_fuzz("build", &[]))?;

    let mut rows = Vec::new();
    for target in targets {
        let campaign = Campaign::prepare(&target, &work)?;
        eprintln!(
            "-- {target}: {} min, log in {}",
            options.minutes,
            campaign.log().display()
        );
        let found = campaign.fuzz(options.minutes)?;
        campaign.minimise()?;
        rows.push((target, found));
    }
    print!("{}", report::table(&rows));
    let failed: Vec<&str> = rows
        .iter()
        .filter(|(_, found)| found.failed)
        .map(|(target, _)| target.as_str())
        .collect();
    ensure!(
        failed.is_empty(),
        "inputs that fail, in {FOLDER}/regressions: {failed:?}"
    );
    Ok(())
}

/// The names of the drivers.
fn targets() -> Result<Vec<String>> {
    let folder = repository::root().join(FOLDER).join("fuzz_targets");
    let mut names = Vec::new();
    for path in files(&folder)? {
        names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
    }
    Ok(names)
}

fn chosen(wanted: Option<&str>, targets: Vec<String>) -> Result<Vec<String>> {
    let Some(wanted) = wanted else {
        return Ok(targets);
    };
    ensure!(
        targets.iter().any(|target| target == wanted),
        "no target `{wanted}`; there are {targets:?}"
    );
    Ok(vec![wanted.to_owned()])
}

/// Dialogues, messages and vectors as inputs, made anew.
fn write_seeds(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    let mut example = shell::cargo(["run", "--package", "restante-fuzz-targets", "--example", "seeds", "--"]);
    shell::run(example.arg(folder))
}

/// The files of a folder, in order; a folder that is not there has none.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        paths.push(entry?.path());
    }
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_target_or_all_are_chosen() {
        let targets = || vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(chosen(None, targets()).expect("all"), targets());
        assert_eq!(chosen(Some("b"), targets()).expect("one"), ["b"]);
        assert!(chosen(Some("c"), targets()).is_err());
    }
}
