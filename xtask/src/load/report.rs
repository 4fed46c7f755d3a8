//! The table of the load, for people.

use std::fs;

use anyhow::{Context, Result};

use crate::{bench, repository};

const DOCUMENT: &str = "docs/TESTING.md";
/// The measured part of the document stands between these lines.
const BEGIN: &str = "<!-- measured: cargo xtask load --write -->";
const END: &str = "<!-- end of measured -->";

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
    let path = repository::root().join(DOCUMENT);
    let document = fs::read_to_string(&path).with_context(|| format!("cannot read {DOCUMENT}"))?;
    let measured = format!("{}\n{table}", bench::machine_facts()?);
    fs::write(&path, replaced(&document, &measured)?)?;
    Ok(())
}

fn replaced(document: &str, measured: &str) -> Result<String> {
    let parts = document
        .split_once(BEGIN)
        .and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let (before, after) = parts.with_context(|| format!("{DOCUMENT} has no {BEGIN}"))?;
    Ok(format!("{before}{BEGIN}\n{measured}{END}{after}"))
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

    #[test]
    fn only_the_measured_part_is_replaced() {
        let document = format!("before\n{BEGIN}\nold\n{END}\nafter\n");
        let expected = format!("before\n{BEGIN}\nnew\n{END}\nafter\n");
        assert_eq!(replaced(&document, "new\n").unwrap(), expected);
        assert!(replaced("no place", "new\n").is_err());
    }
}
