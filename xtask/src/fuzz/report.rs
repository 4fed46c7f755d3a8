//! What a run of libFuzzer came to.

use std::fmt::Write as _;
use std::time::Duration;

/// The figures that libFuzzer prints at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Statistics {
    executions: u64,
    /// Inputs that reached something new.
    new_inputs: u64,
}

/// One run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    pub(super) statistics: Statistics,
    pub(super) took: Duration,
    pub(super) failed: bool,
}

impl Statistics {
    /// Reads them from what libFuzzer said.
    pub(super) fn read(said: &str) -> Option<Self> {
        let figure = |name: &str| {
            let line = said.lines().rev().find_map(|line| line.strip_prefix(name))?;
            line.trim().parse().ok()
        };
        Some(Self {
            executions: figure("stat::number_of_executed_units:")?,
            new_inputs: figure("stat::new_units_added:")?,
        })
    }
}

/// The runs as a table in Markdown.
pub(super) fn table(rows: &[(String, Found)]) -> String {
    let mut table = String::from(
        "| Target | Executions | Seconds | Executions a second | New inputs | Failing inputs |\n|---|---|---|---|---|---|\n",
    );
    for (target, found) in rows {
        let Statistics { executions, new_inputs } = found.statistics;
        let seconds = found.took.as_secs().max(1);
        let failing = u8::from(found.failed);
        writeln!(
            table,
            "| {target} | {executions} | {seconds} | {} | {new_inputs} | {failing} |",
            executions / seconds
        )
        .expect("writing to a String does not fail");
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_and_shown() {
        let said = "#9 DONE\nstat::number_of_executed_units: 1200\nstat::average_exec_per_sec:     9\nstat::new_units_added:          7\n";
        let statistics = Statistics::read(said).expect("both figures");
        assert_eq!(Statistics::read("#9 DONE\n"), None);
        let found = Found {
            statistics,
            took: Duration::from_mins(1),
            failed: true,
        };
        let table = table(&[("session".to_owned(), found)]);
        assert_eq!(table.lines().last(), Some("| session | 1200 | 60 | 20 | 7 | 1 |"));
    }
}
