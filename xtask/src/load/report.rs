//! The table of the load, for people.

use anyhow::Result;

use crate::{machine, measured};

const DOCUMENT: &str = "docs/TESTING.md";

/// How a row ended.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) limit: &'static str,
    pub(super) seen: Result<String>,
}

/// All rows in Markdown.
pub(super) fn table(rows: &[Row]) -> String {
    let mut table = "| Load | Must hold | Seen | |\n|---|---|---|---|\n".to_owned();
    for Row { name, limit, seen } in rows {
        let (text, verdict) = match seen {
            Ok(text) => (text.clone(), "ok"),
            Err(error) => (format!("{error:#}"), "**failed**"),
        };
        table.extend(["| ", name, " | ", limit, " | ", &text, " | ", verdict, " |\n"]);
    }
    table
}

/// Puts the table, with the facts of the machine, into the document.
pub(super) fn write(table: &str) -> Result<()> {
    let text = format!("{}\n{table}", machine::lines()?);
    measured::write(DOCUMENT, "cargo xtask load --write", &text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_what_was_seen_and_whether_that_is_enough() {
        let row = |seen| Row {
            name: "a",
            limit: "b",
            seen,
        };
        let rows = [row(Ok("c".to_owned())), row(Err(anyhow::anyhow!("d")))];
        assert!(table(&rows).ends_with("| a | b | c | ok |\n| a | b | d | **failed** |\n"));
    }
}
