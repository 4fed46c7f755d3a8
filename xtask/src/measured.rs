//! Measured parts of documents: between two lines that say which command writes them.

use std::fs;

use anyhow::{Context as _, Result};

use crate::repository;

const END: &str = "<!-- end of measured -->";

/// Puts the text between the lines of a command, such as `cargo xtask load --write`.
pub(crate) fn write(document: &str, command: &str, measured: &str) -> Result<()> {
    let path = repository::root().join(document);
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {document}"))?;
    let replaced = replaced(&text, command, measured);
    let replaced = replaced.with_context(|| format!("{document} has no place for {command}"))?;
    Ok(fs::write(&path, replaced)?)
}

fn replaced(document: &str, command: &str, measured: &str) -> Option<String> {
    let begin = format!("<!-- measured: {command} -->");
    let (before, rest) = document.split_once(&begin)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{begin}\n{measured}{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_part_of_the_command_is_replaced() {
        let document =
            |two: &str| format!("a\n<!-- measured: one -->\n1\n{END}\nb\n<!-- measured: two -->\n{two}\n{END}\nc\n");
        assert_eq!(replaced(&document("old"), "two", "new\n"), Some(document("new")));
        assert_eq!(replaced("no place", "two", "new\n"), None);
    }
}
