//! The figures as a table for people and as JSON for programs.

use std::fmt::Write as _;
use std::fs;

use anyhow::Result;
use serde::Serialize;

use super::machine::Facts;
use super::{MAIL_BYTES, SESSIONS};
use crate::repository;

const MARKDOWN: &str = "docs/BENCHMARKS.md";
const JSON: &str = "docs/benchmarks.json";
/// The measured part of the document stands between these lines.
const BEGIN: &str = "<!-- measured: cargo xtask bench --write -->";
const END: &str = "<!-- end of measured -->";

/// All figures of one run.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    pub(super) machine: Facts,
    pub(super) mails: u32,
    pub(super) rounds: usize,
    /// Median of one append and sync.
    pub(super) sync_us: f64,
    pub(super) rows: Vec<Row>,
    /// The largest resident size of the server over all rounds.
    pub(super) peak_memory_mib: u64,
    pub(super) crashes: Vec<Crash>,
}

/// One case, round by round.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) rounds: Vec<Measured>,
    /// Mails sent to the case's inbox and not listed.
    pub(super) lost: u64,
}

/// Mails a second in one round.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Measured {
    pub(super) ours: f64,
    pub(super) reference: f64,
}

/// What a kill in the middle of the load left.
#[derive(Debug, Serialize)]
pub(super) struct Crash {
    pub(super) name: &'static str,
    pub(super) acknowledged: usize,
    /// In the list after the restart; more than acknowledged where a 250 was still on its way.
    pub(super) listed: usize,
    pub(super) lost: usize,
}

impl Row {
    pub(super) fn new(name: &'static str) -> Self {
        Self {
            name,
            rounds: Vec::new(),
            lost: 0,
        }
    }

    fn of(&self, figure: impl Fn(&Measured) -> f64) -> (f64, f64, f64) {
        let mut figures: Vec<f64> = self.rounds.iter().map(figure).collect();
        let middle = median(&mut figures);
        (middle, figures[0], figures[figures.len() - 1])
    }
}

/// The middle of the figures, which are sorted by this.
pub(super) fn median(figures: &mut [f64]) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

impl Report {
    /// The table in Markdown.
    pub(super) fn table(&self) -> String {
        let mut text = self.machine.lines();
        let _ = writeln!(
            text,
            "- {} rounds of {} mails of {MAIL_BYTES} bytes over {SESSIONS} sessions; one append of that size with its \
             own fdatasync: {:.0} µs at the median\n",
            self.rounds, self.mails, self.sync_us
        );
        text.push_str("| Case | restante, mails/s | smtp-sink, mails/s | Ratio (min to max) | Lost |\n");
        text.push_str("|---|---:|---:|---:|---:|\n");
        for row in &self.rows {
            let (ours, ..) = row.of(|round| round.ours);
            let (reference, ..) = row.of(|round| round.reference);
            let (ratio, least, most) = row.of(|round| round.ours / round.reference);
            let _ = writeln!(
                text,
                "| {} | {ours:.0} | {reference:.0} | {ratio:.2} ({least:.2} to {most:.2}) | {} |",
                row.name, row.lost
            );
        }
        let _ = writeln!(
            text,
            "\nPeak memory of the server over all rounds: {} MiB.\n",
            self.peak_memory_mib
        );
        text.push_str("| `kill -9` in the middle of the load | Acknowledged | Listed after the restart | Lost |\n");
        text.push_str("|---|---:|---:|---:|\n");
        for crash in &self.crashes {
            let _ = writeln!(
                text,
                "| {} inbox | {} | {} | {} |",
                crash.name, crash.acknowledged, crash.listed, crash.lost
            );
        }
        text
    }

    /// Puts the table into the document, and all figures beside it.
    pub(super) fn write(&self) -> Result<()> {
        let markdown = repository::root().join(MARKDOWN);
        let document = fs::read_to_string(&markdown)?;
        let measured = format!("{BEGIN}\n\n{}\n{END}", self.table());
        let written = match (document.split_once(BEGIN), document.split_once(END)) {
            (Some((before, _)), Some((_, after))) => format!("{before}{measured}{after}"),
            _ => anyhow::bail!("{MARKDOWN} lacks the lines `{BEGIN}` and `{END}`"),
        };
        fs::write(markdown, written)?;
        fs::write(
            repository::root().join(JSON),
            serde_json::to_string_pretty(self)? + "\n",
        )?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_takes_the_median_of_the_ratios() {
        let rounds = [(1.0, 4.0), (3.0, 4.0), (1.0, 2.0)];
        let rounds = rounds.map(|(ours, reference)| Measured { ours, reference }).to_vec();
        let row = Row {
            rounds,
            ..Row::new("x")
        };
        assert_eq!(row.of(|round| round.ours / round.reference), (0.5, 0.25, 0.75));
    }
}
