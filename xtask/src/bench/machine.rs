//! What the figures were measured on.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};
use serde::Serialize;

use crate::{repository, shell};

/// Facts that a reader needs to judge figures.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Facts {
    date: String,
    commit: String,
    processor: String,
    cores: usize,
    memory_gib: u64,
    kernel: String,
    file_system: String,
    compiler: String,
}

/// The facts of this machine, now.
pub(super) fn facts() -> Result<Facts> {
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
        file_system: line(Command::new("stat").args(["-f", "-c", "%T"]).arg(std::env::temp_dir()))?,
        compiler: line(Command::new("rustc").arg("--version"))?,
    })
}

impl Facts {
    /// One line a fact, for Markdown.
    pub(super) fn lines(&self) -> String {
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

/// The largest resident size that a process had (`VmHWM`).
pub(super) fn peak_memory_mib(pid: u32) -> Result<u64> {
    let kib: u64 = field(&format!("/proc/{pid}/status"), "VmHWM")?
        .trim_end_matches(" kB")
        .trim()
        .parse()?;
    Ok(kib.div_ceil(1024))
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
