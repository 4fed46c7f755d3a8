//! The figures as tables for people and as JSON for programs.

use std::fmt::Write as _;
use std::fs;

use anyhow::{Result, bail};
use serde::Serialize;

use super::case::Case;
use super::figures::{Figure, Row};
use super::kill::Kill;
use super::profile::Profile;
use crate::machine::Facts;
use crate::{measured, repository};

const MARKDOWN: &str = "docs/BENCHMARKS.md";
const JSON: &str = "docs/benchmarks.json";

/// All figures of one run.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    machine: Facts,
    rounds: usize,
    pub(super) rows: Vec<Row>,
    pub(super) kills: Vec<Kill>,
    pub(super) profile: Option<Profile>,
    notes: Vec<String>,
    failures: Vec<Failure>,
}

/// Cases that came to no figures.
#[derive(Debug, Serialize)]
struct Failure {
    cases: Vec<Case>,
    error: String,
}

impl Report {
    /// Without figures yet.
    pub(super) fn new(machine: Facts, rounds: usize) -> Self {
        Self {
            machine,
            rounds,
            rows: Vec::new(),
            kills: Vec::new(),
            profile: None,
            notes: Vec::new(),
            failures: Vec::new(),
        }
    }

    /// A sentence that stands below the table.
    pub(super) fn note(&mut self, sentence: String) {
        self.notes.push(sentence);
    }

    /// Cases that could not be measured.
    pub(super) fn fail(&mut self, cases: &[Case], error: &anyhow::Error) {
        eprintln!("FAILED: {cases:?}: {error:#}");
        self.failures.push(Failure {
            cases: cases.to_vec(),
            error: format!("{error:#}"),
        });
    }

    /// Lost mail and cases without figures are errors; a goal that is missed is not, since machines differ.
    pub(super) fn check(&self) -> Result<()> {
        let lost: u64 = self.rows.iter().filter_map(|row| row.lost).sum();
        let lost_by_kill: usize = self.kills.iter().map(|kill| kill.lost).sum();
        if lost > 0 || lost_by_kill > 0 {
            bail!("acknowledged mail is lost");
        }
        match self.failures.len() {
            0 => Ok(()),
            count => bail!("{count} group(s) of cases could not be measured"),
        }
    }

    /// All tables in Markdown.
    pub(super) fn tables(&self) -> String {
        let mut text = self.machine.lines();
        let _ = writeln!(text, "- {} interleaved rounds\n", self.rounds);
        self.goals(&mut text);
        for note in &self.notes {
            let _ = writeln!(text, "\n{note}");
        }
        for failure in &self.failures {
            let _ = writeln!(text, "\n**Not measured**: {:?}: {}", failure.cases, failure.error);
        }
        self.kills(&mut text);
        if let Some(profile) = &self.profile {
            let _ = write!(text, "\n{}", profile.table());
        }
        text
    }

    fn goals(&self, text: &mut String) {
        if self.rows.is_empty() {
            return;
        }
        text.push_str("| | Measured | Goal | Median | Min to max | Behind it (medians) | Lost | Met |\n");
        text.push_str("|---|---|---:|---:|---:|---|---:|---|\n");
        let mut rows: Vec<&Row> = self.rows.iter().collect();
        rows.sort_by_key(|row| row.case);
        for row in rows {
            text.push_str(&line(row));
        }
    }

    fn kills(&self, text: &mut String) {
        if self.kills.is_empty() {
            return;
        }
        text.push_str("\n| `kill -9` in the middle of the load | Acknowledged | Listed after the restart | Lost |\n");
        text.push_str("|---|---:|---:|---:|\n");
        for kill in &self.kills {
            let _ = writeln!(
                text,
                "| {} inbox | {} | {} | {} |",
                format!("{:?}", kill.inbox).to_lowercase(),
                kill.acknowledged,
                kill.listed,
                kill.lost
            );
        }
    }

    /// Puts the tables into the document, and all figures beside it; those of some cases only into a part of their own.
    pub(super) fn write(&self, only: &[Case]) -> Result<()> {
        let text = format!("\n{}\n", self.tables());
        if !only.is_empty() {
            let cases: Vec<String> = only.iter().map(|case| format!("{case:?}")).collect();
            let command = format!("cargo xtask bench --only {} --write", cases.join(","));
            return measured::write(MARKDOWN, &command, &text);
        }
        measured::write(MARKDOWN, "cargo xtask bench --write", &text)?;
        fs::write(
            repository::root().join(JSON),
            serde_json::to_string_pretty(self)? + "\n",
        )?;
        Ok(())
    }
}

/// The line of a row in the table.
fn line(row: &Row) -> String {
    let unit = row.judged.unit;
    let (median, least, most) = row.judged.spread();
    let behind: Vec<String> = row.behind.iter().map(shown).collect();
    format!(
        "| {:?} | {} | {} | {} | {} to {} | {} | {} | {} |\n",
        row.case,
        row.judged.name,
        row.goal.show(unit),
        unit.show(median),
        unit.show(least),
        unit.show(most),
        behind.join(", "),
        row.lost.map_or(String::new(), |lost| lost.to_string()),
        if row.is_met() { "yes" } else { "**no**" }
    )
}

fn shown(figure: &Figure) -> String {
    format!("{} {}", figure.name, figure.unit.show(figure.spread().0))
}

#[cfg(test)]
mod tests {
    use super::super::figures::{Goal, Unit};
    use super::*;

    #[test]
    fn a_line_says_what_was_wanted_and_what_was_seen() {
        let rounds = vec![0.75, 0.25, 0.5];
        let row = Row {
            behind: vec![Figure::new("restante", Unit::PerSecond, vec![10.0, 30.0, 20.0])],
            lost: Some(0),
            ..Row::new(Case::P1, Goal::AtLeast(0.5), Figure::new("a", Unit::Ratio, rounds))
        };
        assert_eq!(
            line(&row),
            "| P1 | a | at least 0.50 | 0.50 | 0.25 to 0.75 | restante 20/s | 0 | yes |\n"
        );
        let lossy = Row { lost: Some(2), ..row };
        assert!(line(&lossy).ends_with("| 2 | **no** |\n"));
    }
}
