//! What the figures were measured on.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Serialize;

use crate::{repository, shell};

/// Facts that a reader needs to judge figures.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Facts {
    date: String,
    commit: String,
    processor: String,
    cores: usize,
    memory_gib: u64,
    kernel: String,
    file_system: String,
    compiler: String,
}

/// The facts of this machine, now, with data in this folder.
pub(crate) fn facts(data: &Path) -> Result<Facts> {
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        shell::output(command.args(arguments).current_dir(repository::root()))
    };
    let processor = field("/proc/cpuinfo", "model name")?;
    let memory_kib: u64 = field("/proc/meminfo", "MemTotal")?.trim_end_matches(" kB").parse()?;
    Ok(Facts {
        date: line(Command::new("date").args(["-u", "+%Y-%m-%d"]))?,
        commit: git(&["rev-parse", "--short", "HEAD"])?.trim().to_owned(),
        processor,
        cores: std::thread::available_parallelism()?.get(),
        memory_gib: memory_kib.div_ceil(1024 * 1024),
        kernel: line(Command::new("uname").arg("-r"))?,
        file_system: line(Command::new("stat").args(["-f", "-c", "%T"]).arg(data))?,
        compiler: line(Command::new("rustc").arg("--version"))?,
    })
}

/// What figures are measured on, one line a fact.
pub(crate) fn lines() -> Result<String> {
    Ok(facts(&std::env::temp_dir())?.lines())
}

impl Facts {
    /// One line a fact, for Markdown.
    pub(crate) fn lines(&self) -> String {
        format!(
            "- {}, commit {}\n- {} cores of {}, {} GiB of memory, Linux {}, data on {}\n- {}\n",
            self.date,
            self.commit,
            self.cores,
            self.processor,
            self.memory_gib,
            self.kernel,
            self.file_system,
            self.compiler
        )
    }
}

/// Memory of a process in millions of bytes: `VmRSS` now, `VmHWM` at the most.
pub(crate) fn memory_mb(pid: u32, name: &str) -> Result<f64> {
    let kib: f64 = field(&format!("/proc/{pid}/status"), name)?
        .trim_end_matches(" kB")
        .trim()
        .parse()?;
    Ok(kib * 1024.0 / 1e6)
}

/// What a folder takes on the disk, in millions of bytes.
pub(crate) fn disk_mb(folder: &Path) -> Result<f64> {
    let text = line(Command::new("du").args(["-s", "--block-size=1000"]).arg(folder))?;
    let kilobytes = text.split_whitespace().next().unwrap_or_default();
    Ok(kilobytes.parse::<f64>()? / 1e3)
}

/// Processor time of a process so far, in all its threads.
pub(crate) fn processor_time(pid: u32) -> Result<Duration> {
    let fields = times(&format!("/proc/{pid}/stat"))?;
    ticks(fields[0] + fields[1])
}

/// Processor time of all children of this process that have ended.
pub(crate) fn children_time() -> Result<Duration> {
    let fields = times("/proc/self/stat")?;
    ticks(fields[2] + fields[3])
}

/// `utime`, `stime`, `cutime` and `cstime` of a process, in ticks (proc(5)).
fn times(path: &str) -> Result<[u64; 4]> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?;
    // The second field, a name in brackets, may hold anything; utime is the 14th, the 12th behind it.
    let behind = text.rsplit_once(')').map(|(_, behind)| behind).unwrap_or_default();
    let fields = behind.split_whitespace().skip(11).take(4).map(str::parse);
    let fields: Vec<u64> = fields.collect::<Result<_, _>>()?;
    fields.try_into().ok().with_context(|| format!("{path} has no times"))
}

fn ticks(count: u64) -> Result<Duration> {
    let per_second: u64 = line(Command::new("getconf").arg("CLK_TCK"))?.parse()?;
    Ok(Duration::from_millis(count * 1000 / per_second))
}

/// The value of a `name: value` line.
fn field(path: &str, name: &str) -> Result<String> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?;
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix(':'));
    Ok(value
        .with_context(|| format!("{path} has no {name}"))?
        .trim()
        .to_owned())
}

fn line(command: &mut Command) -> Result<String> {
    Ok(shell::output(command)?.trim().to_owned())
}
