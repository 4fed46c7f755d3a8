//! The table of crates in the documents, made from the one in code.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context, Result};

use super::Finding;
use super::table::{OWNED, ROWS};

/// The document with the table.
pub(super) const DOCUMENT: &str = "docs/ARCHITECTURE.md";

const BEGIN: &str = "<!-- crates: made by `cargo xtask tidy --fix` -->\n";
const END: &str = "<!-- end of crates -->\n";

/// The table in the document must be the one in code.
pub(super) fn check(document: &str, descriptions: &BTreeMap<String, String>) -> Vec<Finding> {
    match replace(document, descriptions) {
        Ok(expected) if expected == document => Vec::new(),
        Ok(_) => vec![format!(
            "{DOCUMENT}: the table of crates is not the one in code: run `cargo xtask tidy --fix`"
        )],
        Err(error) => vec![format!("{DOCUMENT}: {error}")],
    }
}

/// The document with the table of the code between its markers.
pub(super) fn replace(document: &str, descriptions: &BTreeMap<String, String>) -> Result<String> {
    let (before, rest) = document
        .split_once(BEGIN)
        .with_context(|| format!("no line `{}`", BEGIN.trim()))?;
    let (_, after) = rest
        .split_once(END)
        .with_context(|| format!("no line `{}`", END.trim()))?;
    Ok(format!("{before}{BEGIN}{}{END}{after}", render(descriptions)))
}

fn render(descriptions: &BTreeMap<String, String>) -> String {
    let mut table = String::from(
        "| Folder | One line | May use (ours) | Its tests also | Alone may use (others') |\n|---|---|---|---|---|\n",
    );
    for row in ROWS {
        let line = descriptions.get(row.folder).map_or("", String::as_str);
        let owned = OWNED.iter().filter(|owned| owned.owners.contains(&row.folder));
        let owned: Vec<&str> = owned.map(|owned| owned.package).collect();
        let (uses, tests) = (names(row.may_use), names(row.in_tests));
        writeln!(
            table,
            "| {} | {line} | {uses} | {tests} | {} |",
            row.folder,
            owned.join(", ")
        )
        .expect("writing to a String does not fail");
    }
    table
}

fn names(folders: &[&str]) -> String {
    let name = |folder: &&str| folder.rsplit('/').next().map(str::to_owned);
    folders.iter().filter_map(name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_table_is_found_and_mended() {
        let descriptions = BTreeMap::from([("crates/model".to_owned(), "nouns".to_owned())]);
        let old = format!("# A\n{BEGIN}| old |\n{END}rest\n");
        assert_eq!(check(&old, &descriptions).len(), 1);
        let new = replace(&old, &descriptions).expect("the markers are there");
        assert!(new.contains("| crates/model | nouns | envelope |"), "{new}");
        assert!(new.ends_with("rest\n"));
        assert_eq!(check(&new, &descriptions), Vec::<Finding>::new());
    }

    #[test]
    fn a_document_without_the_markers_is_found() {
        assert_eq!(check("# A\n", &BTreeMap::new()).len(), 1);
    }
}
