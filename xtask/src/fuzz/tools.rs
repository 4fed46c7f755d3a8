//! The nightly compiler and cargo-fuzz: whether they are there, and how they are called.

use std::process::{Command, Stdio};

use anyhow::{Result, ensure};

use super::FOLDER;
use crate::{repository, shell};

/// A program that must answer, and what brings it.
struct Tool {
    arguments: &'static [&'static str],
    install: &'static str,
}

const TOOLS: [Tool; 2] = [
    Tool {
        arguments: &["+nightly", "--version"],
        install: "rustup toolchain install nightly",
    },
    Tool {
        arguments: &["fuzz", "--version"],
        install: "cargo install cargo-fuzz",
    },
];

/// Fails with the commands that install what is missing.
pub(super) fn check() -> Result<()> {
    let missing: Vec<&str> = TOOLS
        .iter()
        .filter(|tool| !answers(tool))
        .map(|tool| tool.install)
        .collect();
    ensure!(
        missing.is_empty(),
        "fuzzing needs more than the rest: run `{}` first",
        missing.join("` and `")
    );
    Ok(())
}

fn answers(tool: &Tool) -> bool {
    let mut command = shell::cargo(tool.arguments.iter().copied());
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// `cargo +nightly fuzz <verb>` with arguments, in the root of the repository.
pub(super) fn cargo_fuzz(verb: &str, arguments: &[&str]) -> Command {
    let mut command = shell::cargo(["+nightly", "fuzz", verb, "--fuzz-dir", FOLDER]);
    command.args(arguments);
    // A target directory of the caller's would mix two compilers.
    command.env("CARGO_TARGET_DIR", repository::root().join(FOLDER).join("target"));
    command
}
