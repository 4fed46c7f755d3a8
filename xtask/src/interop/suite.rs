//! The SDK's own tests, as they were published, against a server that is all that they expect.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use tempfile::TempDir;

use super::distribution;
use super::junit::{Case, Outcome};
use crate::repository;
use crate::server::Server;

/// How many tests the distribution has: fewer would be found by nobody, were they only to pass.
const TESTS: usize = 517;
/// A test that takes longer hangs: the longest of them sleeps for some seconds.
const TIMEOUT_S: &str = "--timeout=60";

/// As the tests expect the peer: its constants, test emails and faults, webhooks in clear; no throttle, no certificate.
pub(super) const SETTINGS: [(&str, &str); 4] = [
    ("SVC_WIRE_PROFILE", "vaultsandbox"),
    ("SVC_SDK_DEVELOPMENT", "true"),
    ("SVC_CHAOS_ENABLED", "true"),
    ("SVC_WEBHOOK_ALLOW_HTTP", "true"),
];

/// Variables that lead elsewhere: options of the runner, and proxies between the tests and this machine.
const FOREIGN: [&str; 10] = [
    "PYTEST_ADDOPTS",
    "PYTEST_PLUGINS",
    "HTTP_PROXY",
    "http_proxy",
    "HTTPS_PROXY",
    "https_proxy",
    "ALL_PROXY",
    "all_proxy",
    "NO_PROXY",
    "no_proxy",
];

/// Starts the server that was built, runs every test against it, and stops it whatever happens.
pub(super) fn run(python: &Path) -> Result<Outcome> {
    let source = distribution::prepare(python)?;
    let folder = TempDir::new()?;
    let binary = repository::target()?.join("debug/server");
    let server = Server::start(&binary, folder.path(), &SETTINGS)?;
    let outcome = run_tests(python, &source, &server, &folder.path().join("report.xml"));
    let outcome = stopped(server, outcome)?;
    println!("{outcome}");
    Ok(outcome)
}

/// Stops the server after a success, and shows the end of its log after a failure.
pub(super) fn stopped<T>(server: Server, outcome: Result<T>) -> Result<T> {
    match &outcome {
        Ok(_) => server.stop()?,
        Err(_) => eprintln!("-- last lines of the server's log\n{}", server.log_tail()),
    }
    outcome
}

fn run_tests(python: &Path, source: &Path, server: &Server, report: &Path) -> Result<Outcome> {
    let (host, port) = server.discovery().smtp.rsplit_once(':').context("no SMTP port")?;
    let mut command = Command::new(python);
    // -I: nothing of this user's Python; -B: no byte code beside the sources.
    command.args([
        "-I",
        "-B",
        "-m",
        "pytest",
        "--quiet",
        "-p",
        "no:cacheprovider",
        TIMEOUT_S,
    ]);
    command.arg("--junit-xml").arg(report).arg("tests");
    for name in FOREIGN {
        command.env_remove(name);
    }
    command
        .env("VAULTSANDBOX_URL", &server.discovery().url)
        .env("VAULTSANDBOX_API_KEY", server.api_key()?)
        .env("SMTP_HOST", host)
        .env("SMTP_PORT", port);
    eprintln!("$ pytest {}/tests", source.display());
    let status = command.current_dir(source).status().context("cannot start pytest")?;
    // 1 says that tests failed, which the report says too; anything else is no run.
    match status.code() {
        Some(0 | 1) => Outcome::read(&fs::read_to_string(report).context("no report")?),
        _ => bail!("pytest ended with {status}"),
    }
}

impl Outcome {
    /// All tests ran and passed.
    pub(super) fn check(&self) -> Result<()> {
        ensure!(
            self.passed == TESTS && self.tests() == TESTS,
            "the SDK's tests: {} of {TESTS} passed",
            self.passed
        );
        Ok(())
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let lines = |f: &mut std::fmt::Formatter<'_>, what: &str, cases: &[Case]| {
            cases
                .iter()
                .try_for_each(|case| writeln!(f, "{what}  {}: {}", case.name, case.reason))
        };
        lines(f, "FAILED ", &self.failed)?;
        lines(f, "skipped", &self.skipped)?;
        let (failed, skipped) = (self.failed.len(), self.skipped.len());
        write!(f, "{} passed, {failed} failed, {skipped} skipped", self.passed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(passed: usize, failed: usize, skipped: usize) -> Outcome {
        let cases = |count: usize, reason: &str| {
            let case = |number| Case {
                name: format!("t{number}"),
                reason: reason.to_owned(),
            };
            (0..count).map(case).collect()
        };
        Outcome {
            passed,
            failed: cases(failed, "why"),
            skipped: cases(skipped, "unset"),
        }
    }

    #[test]
    fn every_test_must_have_run_and_passed() {
        assert!(outcome(TESTS, 0, 0).check().is_ok());
        for wrong in [
            outcome(TESTS - 1, 0, 0),
            outcome(TESTS + 1, 0, 0),
            outcome(TESTS - 1, 1, 0),
            outcome(TESTS - 1, 0, 1),
            outcome(TESTS, 1, 0),
        ] {
            assert!(wrong.check().is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_did_not_pass_is_named_with_its_reason() {
        let shown = outcome(2, 1, 1).to_string();
        assert_eq!(
            shown,
            "FAILED   t0: why\nskipped  t0: unset\n2 passed, 1 failed, 1 skipped"
        );
    }
}
