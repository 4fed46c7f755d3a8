//! docs/TESTING.md names tests and lines of the probe that are there.

use std::collections::BTreeSet;

use super::Finding;
use super::links::prose;
use crate::repository::SourceFile;

const DOCUMENT: &str = "docs/TESTING.md";

/// The rules that the document must map to what shows them.
const RULES: [&str; 20] = [
    "S1", "S2", "S3", "S4", "S5", "S6", "S7", "S8", "S9", "R1", "R2", "R3", "R4", "R5", "W1", "W2", "W3", "W4", "W5",
    "W6",
];

/// What a row is called that shows a promise without a rule.
const NO_RULE: &str = "–";

/// Each rule has a row, each row names something, and what it names exists.
///
/// In the table a test is `` `path/to/file.rs::name` ``, a file of tests its path, and anything else in backticks is a line
/// of the probe or of the load, or the group before its colon; rows without a rule may name other things too.
pub(super) fn check(files: &[SourceFile], lines: &[String]) -> Vec<Finding> {
    let Some(document) = files.iter().find(|file| file.path == DOCUMENT) else {
        return vec![format!("{DOCUMENT} is missing")];
    };
    let known = Known::of(files, lines);
    let mut findings = Vec::new();
    let mut shown = BTreeSet::new();
    for (number, line) in prose(document) {
        let mut cells = line.trim_matches('|').split('|').map(str::trim);
        let rule = cells.next().filter(|_| line.starts_with('|')).unwrap_or_default();
        let mut names: Vec<&str> = quoted(line).collect();
        if rule == NO_RULE {
            names.retain(|name| name.contains(".rs"));
        } else if !RULES.contains(&rule) {
            continue;
        } else if !names.is_empty() {
            shown.insert(rule);
        }
        let unknown = names.into_iter().filter(|name| !known.has(name));
        findings.extend(unknown.map(|name| format!("{DOCUMENT}:{number}: {rule}: there is no `{name}`")));
    }
    let missing = RULES.iter().filter(|rule| !shown.contains(*rule));
    findings.extend(missing.map(|rule| format!("{DOCUMENT}: {rule} is shown by nothing")));
    findings
}

/// What a row may name.
struct Known<'a> {
    files: &'a [SourceFile],
    lines: BTreeSet<&'a str>,
}

impl<'a> Known<'a> {
    fn of(files: &'a [SourceFile], lines: &'a [String]) -> Self {
        let groups = lines
            .iter()
            .filter_map(|line| line.split_once(": ").map(|(group, _)| group));
        Self {
            files,
            lines: groups.chain(lines.iter().map(String::as_str)).collect(),
        }
    }

    fn has(&self, name: &str) -> bool {
        let file = |path: &str| self.files.iter().find(|file| file.path == path);
        let Some((path, test)) = name.split_once("::") else {
            return self.lines.contains(name) || file(name).is_some();
        };
        let file = file(path);
        let source = file.and_then(|file| file.text.as_deref()).unwrap_or_default();
        source.contains(&format!("fn {test}("))
    }
}

/// What stands in backticks.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(row: &str) -> Vec<Finding> {
        let rows: Vec<String> = RULES.iter().map(|rule| format!("| {rule} | `S7 x` |\n")).collect();
        let document = format!("{}{row}\n", rows.concat());
        let files = [
            SourceFile::of(DOCUMENT, &document),
            SourceFile::of("tests/a.rs", "#[test]\nfn it_holds() {}\n"),
        ];
        check(&files, &["S7 x".to_owned(), "S1 smuggling: LF.LF".to_owned()])
    }

    #[test]
    fn what_is_there_passes() {
        let row = "| S1 | `tests/a.rs::it_holds`, `S1 smuggling`, `S1 smuggling: LF.LF` |";
        assert_eq!(found(row), Vec::<Finding>::new());
    }

    #[test]
    fn what_is_not_there_is_found() {
        let names = ["tests/a.rs::it_hold", "tests/b.rs::it_holds", "S1 smugglin"];
        let row = format!("| S1 | {} |", names.map(|name| format!("`{name}`")).join(" "));
        let number = RULES.len() + 1;
        let expected = names.map(|name| format!("docs/TESTING.md:{number}: S1: there is no `{name}`"));
        assert_eq!(found(&row), expected);
    }

    #[test]
    fn rows_without_a_rule_name_tests_that_are_there_and_anything_else() {
        let row = "| – | `tests/a.rs`, `tests/a.rs::it_holds`, `SVC_ANYTHING`; `tests/b.rs`, `tests/a.rs::it_hold` |";
        let number = RULES.len() + 1;
        let expected = ["tests/b.rs", "tests/a.rs::it_hold"];
        let expected = expected.map(|name| format!("docs/TESTING.md:{number}: –: there is no `{name}`"));
        assert_eq!(found(row), expected);
    }

    #[test]
    fn a_rule_without_a_row_is_found() {
        let files = [SourceFile::of(DOCUMENT, "| S1 | words only |\n")];
        assert_eq!(check(&files, &[]).len(), RULES.len());
        assert_eq!(check(&[], &[]), ["docs/TESTING.md is missing"]);
    }
}
