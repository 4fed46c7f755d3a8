//! What the SDK's tests came to, in docs/INTEROP.md.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;

use super::distribution::{SDK, SHA256};
use super::environment;
use super::junit::{Case, Outcome};
use super::suite::SETTINGS;
use crate::{machine, measured};

const DOCUMENT: &str = "docs/INTEROP.md";
const COMMAND: &str = "cargo xtask interop --write";

/// Puts it in its place, whatever it is.
pub(super) fn write(python: &Path, outcome: &Outcome) -> Result<()> {
    let text = text(&machine::lines()?, &environment::versions(python)?, outcome);
    measured::write(DOCUMENT, COMMAND, &text)
}

fn text(machine: &str, versions: &[String], outcome: &Outcome) -> String {
    let settings = SETTINGS.map(|(name, value)| format!("`{name}={value}`"));
    let mut text = format!("\n{machine}- server, debug build: {}\n", settings.join(" "));
    let _ = writeln!(
        text,
        "- SDK: {SDK}, its source distribution with the SHA-256 `{SHA256}`"
    );
    let _ = writeln!(text, "- {}\n", versions.join(", "));
    let _ = writeln!(text, "| Tests | Passed | Failed | Skipped |\n|---:|---:|---:|---:|");
    let (failed, skipped) = (outcome.failed.len(), outcome.skipped.len());
    let _ = writeln!(
        text,
        "| {} | {} | {failed} | {skipped} |\n",
        outcome.tests(),
        outcome.passed
    );
    list(&mut text, "Failed", &outcome.failed);
    list(&mut text, "Skipped", &outcome.skipped);
    text
}

fn list(text: &mut String, what: &str, cases: &[Case]) {
    if cases.is_empty() {
        return;
    }
    let _ = writeln!(text, "{what}:\n");
    for case in cases {
        let _ = writeln!(text, "- `{}`: {}", case.name, case.reason);
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_what_ran_on_what_and_what_did_not_pass() {
        let outcome = Outcome {
            passed: 515,
            failed: vec![Case {
                name: "tests.a.one".to_owned(),
                reason: "assert False".to_owned(),
            }],
            skipped: Vec::new(),
        };
        let text = text(
            "- a machine\n",
            &["Python 3".to_owned(), "pytest 8".to_owned()],
            &outcome,
        );
        assert!(
            text.starts_with("\n- a machine\n- server, debug build: `SVC_WIRE_PROFILE=vaultsandbox` "),
            "{text}"
        );
        assert!(text.contains("\n- Python 3, pytest 8\n"), "{text}");
        assert!(
            text.contains("\n| 516 | 515 | 1 | 0 |\n\nFailed:\n\n- `tests.a.one`: assert False\n"),
            "{text}"
        );
        assert!(!text.contains("Skipped:"), "{text}");
    }
}
