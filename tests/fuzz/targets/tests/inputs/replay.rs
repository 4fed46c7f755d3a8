//! Every input that is known: seeds, corpus, regressions.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use restante_fuzz_targets::{TARGETS, Target};

use crate::seeds::{Inputs, read, seeds, tests};

/// The files of a folder of inputs; a folder that is not there has none.
fn files(folder: &Path) -> Inputs {
    let files = fs::read_dir(folder).into_iter().flatten();
    let paths = files.map(|file| file.expect("a file of the folder").path());
    paths.map(|path| (path.display().to_string(), read(&path))).collect()
}

/// Runs all; names those that fail.
fn replay(target: &Target, inputs: &Inputs) {
    let fails = |input: &Vec<u8>| std::panic::catch_unwind(|| (target.run)(input)).is_err();
    let failing: Vec<&String> = inputs
        .iter()
        .filter(|(_, input)| fails(input))
        .map(|(name, _)| name)
        .collect();
    assert!(failing.is_empty(), "{}: {failing:?}", target.name);
}

#[test]
fn seeds_keep_the_promises() {
    for target in &TARGETS {
        let seeds = seeds(target);
        assert!(seeds.len() >= 60, "{}: only {} seeds", target.name, seeds.len());
        replay(target, &seeds);
    }
}

#[test]
fn the_corpus_keeps_the_promises() {
    for target in &TARGETS {
        let corpus = files(&tests().join("fuzz/corpus").join(target.name));
        assert!(!corpus.is_empty(), "{}: no corpus", target.name);
        replay(target, &corpus);
    }
}

#[test]
fn what_once_failed_does_not_fail() {
    for target in &TARGETS {
        replay(target, &files(&tests().join("fuzz/regressions").join(target.name)));
    }
}

/// Names of the entries of a folder, without their extensions; a folder that is not there has none.
fn names(folder: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(tests().join("fuzz").join(folder)).into_iter().flatten();
    let stem = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    entries
        .map(|entry| stem(&entry.expect("an entry of the folder").path()))
        .collect()
}

#[test]
fn each_target_has_its_driver_dictionary_and_corpus() {
    let targets: BTreeSet<String> = TARGETS.iter().map(|target| target.name.to_owned()).collect();
    for folder in ["fuzz_targets", "dictionaries", "corpus"] {
        assert_eq!(names(folder), targets, "{folder}");
    }
    assert!(names("regressions").is_subset(&targets));
    for target in targets {
        let driver = tests().join(format!("fuzz/fuzz_targets/{target}.rs"));
        let line = format!("restante_fuzz_targets::{target}::run(data)");
        assert!(
            String::from_utf8_lossy(&read(&driver)).contains(&line),
            "{}",
            driver.display()
        );
    }
}
