//! `cargo xtask ci`: everything that must pass before a change lands, timed step by step.

use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use cargo_metadata::MetadataCommand;

use crate::shell::{self, cargo};
use crate::{crash, fixtures, history, interop, powercut, probe, repository, stopwatch, tidy, vectors};

/// One step: its name and what it does.
struct Step {
    name: &'static str,
    run: fn() -> Result<()>,
}

/// The test target that kills the server again and again, and how often it does so here: about a minute.
const KILL_TEST: &str = "kill";
const KILL_ROUNDS: &str = "20";

/// Cheap steps first, so that a slip is known in seconds; one debug profile and one target directory for all.
const STEPS: &[Step] = &[
    Step {
        name: "fmt",
        run: || shell::run(&mut cargo(["fmt", "--all", "--check"])),
    },
    Step {
        name: "tidy",
        run: tidy::run,
    },
    Step {
        name: "clippy",
        run: clippy,
    },
    Step {
        name: "build",
        run: || shell::run(&mut cargo(["build", "--workspace", "--all-targets"])),
    },
    Step {
        name: "test",
        run: test,
    },
    Step { name: "doc", run: doc },
    Step {
        name: "vectors",
        run: || vectors::run(true),
    },
    Step {
        name: "fixtures",
        run: || fixtures::run(true),
    },
    Step {
        name: "kill",
        run: kill,
    },
    Step {
        name: "crash",
        run: crash::short,
    },
    Step {
        name: "history",
        run: history::short,
    },
    Step {
        name: "powercut",
        run: powercut::short,
    },
    Step {
        name: "probe",
        run: probe::walk,
    },
    Step {
        name: "interop",
        run: interop::walk,
    },
];

/// Runs the steps until one fails, and prints how long each took.
pub(crate) fn run() -> Result<()> {
    let mut timed = Vec::new();
    for step in STEPS {
        eprintln!("\n== {}", step.name);
        let (took, outcome) = stopwatch::time(step.run);
        timed.push((step.name, took, outcome.is_ok()));
        if outcome.is_err() {
            print!("{}", table(&timed));
            return outcome.with_context(|| format!("step {}", step.name));
        }
    }
    print!("{}", table(&timed));
    Ok(())
}

fn clippy() -> Result<()> {
    shell::run(&mut cargo([
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ]))
}

/// Two threads a processor: many tests wait for what a server does after some seconds.
fn test() -> Result<()> {
    let threads = thread::available_parallelism()?.get() * 2;
    shell::run(cargo(["test", "--workspace"]).env("RUST_TEST_THREADS", threads.to_string()))
}

/// A longer run of the test that kills the server under load; `cargo test` alone runs a few rounds of it.
fn kill() -> Result<()> {
    let metadata = MetadataCommand::new()
        .current_dir(repository::root())
        .no_deps()
        .exec()?;
    let mut targets = metadata
        .workspace_packages()
        .into_iter()
        .flat_map(|package| &package.targets);
    if !targets.any(|target| target.is_test() && target.name == KILL_TEST) {
        eprintln!("note: there is no test target `{KILL_TEST}`");
        return Ok(());
    }
    // The whole workspace, so that the same features hold and nothing is built a second time.
    let test = ["test", "--workspace", "--test", KILL_TEST];
    shell::run(cargo(test).env("RESTANTE_KILL_ROUNDS", KILL_ROUNDS))
}

fn doc() -> Result<()> {
    shell::run(cargo(["doc", "--no-deps", "--workspace"]).env("RUSTDOCFLAGS", "-D warnings"))
}

fn table(timed: &[(&str, Duration, bool)]) -> String {
    let row =
        |name: &str, took: Duration, outcome: &str| format!("{name:<10} {:>7.1} s  {outcome}\n", took.as_secs_f64());
    let rows = timed
        .iter()
        .map(|(name, took, passed)| row(name, *took, if *passed { "ok" } else { "FAILED" }));
    let sum = timed.iter().map(|(_, took, _)| *took).sum();
    format!("\n{}{}", rows.collect::<String>(), row("all", sum, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_shows_each_step_and_the_sum() {
        let timed = [
            ("fmt", Duration::from_millis(1500), true),
            ("test", Duration::from_secs(2), false),
        ];
        let expected = "\nfmt            1.5 s  ok\ntest           2.0 s  FAILED\nall            3.5 s  \n";
        assert_eq!(table(&timed), expected);
    }
}
