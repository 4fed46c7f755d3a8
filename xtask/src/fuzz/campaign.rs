//! One target: its folders, its run, and what is kept of it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::report::{Found, Statistics};
use super::{FOLDER, files, tools};
use crate::{repository, stopwatch};

/// Bytes of an input, at most.
const INPUT_MAX: usize = 8_192;
/// Inputs of the committed corpus, at most.
const CORPUS_MAX: usize = 60;
/// Seconds that one input may take before it counts as failing.
const INPUT_SECONDS: u64 = 20;

/// The fuzzing of one target.
pub(super) struct Campaign {
    target: String,
    /// Where libFuzzer keeps what it finds while it runs.
    findings: PathBuf,
    seeds: PathBuf,
    corpus: PathBuf,
    regressions: PathBuf,
    log: PathBuf,
}

impl Campaign {
    /// Makes the folders that are missing; `work` is the one for what is not committed.
    pub(super) fn prepare(target: &str, work: &Path) -> Result<Self> {
        let committed = |kind: &str| repository::root().join(FOLDER).join(kind).join(target);
        let campaign = Self {
            target: target.to_owned(),
            findings: work.join("findings").join(target),
            seeds: work.join("seeds").join(target),
            corpus: committed("corpus"),
            regressions: committed("regressions"),
            log: work.join(format!("{target}.log")),
        };
        for folder in [
            &campaign.findings,
            &campaign.seeds,
            &campaign.corpus,
            &campaign.regressions,
        ] {
            fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        }
        Ok(campaign)
    }

    /// What libFuzzer says while it runs.
    pub(super) fn log(&self) -> &Path {
        &self.log
    }

    /// Fuzzes for so long, or until an input fails: that one is made small and is a regression from then on.
    pub(super) fn fuzz(&self, minutes: u64) -> Result<Found> {
        let before = files(&self.regressions)?;
        let folders = [&self.findings, &self.corpus, &self.seeds, &self.regressions];
        let mut command = tools::cargo_fuzz("run", &[&self.target]);
        command.args(folders).arg("--").args([
            format!("-max_total_time={}", minutes * 60),
            format!("-max_len={INPUT_MAX}"),
            format!("-timeout={INPUT_SECONDS}"),
            format!("-dict={FOLDER}/dictionaries/{}.dict", self.target),
            format!("-artifact_prefix={}/", self.regressions.display()),
            "-print_final_stats=1".into(),
        ]);
        let log = File::create(&self.log).with_context(|| format!("cannot write {}", self.log.display()))?;
        command.stdout(log.try_clone()?).stderr(log);
        let (took, status) = stopwatch::time(|| command.status());
        let failed = !status.context("cannot start cargo")?.success();
        let said = String::from_utf8_lossy(&fs::read(&self.log)?).into_owned();
        let new = files(&self.regressions)?
            .into_iter()
            .filter(|path| !before.contains(path));
        let new: Vec<PathBuf> = new.collect();
        ensure!(
            !failed || !new.is_empty(),
            "libFuzzer failed; see {}",
            self.log.display()
        );
        for input in &new {
            self.shrink(input)?;
        }
        let statistics = Statistics::read(&said).with_context(|| format!("no figures in {}", self.log.display()))?;
        Ok(Found {
            statistics,
            took,
            failed,
        })
    }

    /// Replaces an input that fails by a smaller one that fails.
    fn shrink(&self, input: &Path) -> Result<()> {
        let input = input.to_str().context("a path that is no UTF-8")?;
        let mut command = tools::cargo_fuzz("tmin", &["--runs", "20000", &self.target, input]);
        let smaller = PathBuf::from(format!("{input}.small"));
        command
            .arg("--")
            .arg(format!("-exact_artifact_path={}", smaller.display()));
        let log = File::create(self.log.with_extension("tmin.log"))?;
        // libFuzzer may find nothing smaller, and then fails.
        let _ = command.stdout(log.try_clone()?).stderr(log).status()?;
        if smaller.exists() {
            fs::rename(&smaller, input).with_context(|| format!("cannot replace {input}"))?;
        }
        Ok(())
    }

    /// Keeps of corpus and findings what reaches most of the code that the seeds do not.
    pub(super) fn minimise(&self) -> Result<()> {
        let merged = self.findings.with_extension("merged");
        if merged.exists() {
            fs::remove_dir_all(&merged)?;
        }
        fs::create_dir_all(&merged)?;
        for seed in files(&self.seeds)? {
            fs::copy(&seed, merged.join(seed.file_name().unwrap_or_default()))?;
        }
        let seeds = files(&merged)?;
        let mut command = tools::cargo_fuzz("run", &[&self.target]);
        command.args([&merged, &self.corpus, &self.findings]).arg("--");
        // Edges alone: how often one is passed would keep thousands of inputs that show nothing more.
        command
            .args(["-set_cover_merge=1", "-use_counters=0"])
            .arg(format!("-max_len={INPUT_MAX}"));
        let path = self.log.with_extension("merge.log");
        let log = File::create(&path)?;
        let status = command.stdout(log.try_clone()?).stderr(log).status()?;
        ensure!(status.success(), "libFuzzer cannot merge; see {}", path.display());
        let added = files(&merged)?.into_iter().filter(|path| !seeds.contains(path));
        self.replace_corpus(richest(added.collect())?)
    }

    fn replace_corpus(&self, inputs: impl Iterator<Item = PathBuf>) -> Result<()> {
        for former in files(&self.corpus)? {
            fs::remove_file(&former).with_context(|| format!("cannot remove {}", former.display()))?;
        }
        for input in inputs {
            let name = input.file_name().unwrap_or_default();
            fs::copy(&input, self.corpus.join(name)).with_context(|| format!("cannot copy {}", input.display()))?;
        }
        Ok(())
    }
}

/// The inputs that a merge wrote first: it takes the one that adds most again and again.
fn richest(inputs: Vec<PathBuf>) -> Result<impl Iterator<Item = PathBuf>> {
    let mut dated = Vec::new();
    for input in inputs {
        dated.push((fs::metadata(&input)?.modified()?, input));
    }
    dated.sort();
    Ok(dated.into_iter().map(|(_, input)| input).take(CORPUS_MAX))
}
