//! Files and functions that the documents name are there.

use std::collections::BTreeMap;

use super::Finding;
use super::links::prose;
use crate::repository::SourceFile;

/// The documents that describe what stands; records of decisions may name what is gone.
const DOCUMENTS: [&str; 2] = ["README.md", "docs/ARCHITECTURE.md"];

/// Endings by which a word in backticks is taken for a file.
const ENDINGS: [&str; 6] = [".rs", ".md", ".toml", ".py", ".json", ".sh"];

/// Every file in backticks exists, and in a table row with files every function in backticks occurs in one of them.
///
/// `ingest/accept.rs` is short for `crates/ingest/src/accept.rs`.
pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let by_path: BTreeMap<&str, &SourceFile> = files.iter().map(|file| (file.path.as_str(), file)).collect();
    let mut findings = Vec::new();
    for document in DOCUMENTS.iter().filter_map(|path| by_path.get(path)) {
        for (number, line) in prose(document) {
            let faults = faults(line, &by_path);
            findings.extend(
                faults
                    .into_iter()
                    .map(|fault| format!("{}:{number}: {fault}", document.path)),
            );
        }
    }
    findings
}

fn faults(line: &str, files: &BTreeMap<&str, &SourceFile>) -> Vec<Finding> {
    let mut faults = Vec::new();
    let mut named = Vec::new();
    let mut functions = Vec::new();
    for word in line.split('`').skip(1).step_by(2) {
        if !word.contains('/') || !ENDINGS.iter().any(|ending| word.ends_with(ending)) {
            functions.extend(function(word));
        } else if let Some(file) = find(word, files) {
            named.push(file);
        } else {
            faults.push(format!("`{word}`: no such file"));
        }
    }
    if line.starts_with('|') && !named.is_empty() && faults.is_empty() {
        let missing = functions
            .into_iter()
            .filter(|name| !named.iter().any(|file| has_word(file, name)));
        faults.extend(missing.map(|name| format!("`{name}` is not in the file beside it")));
    }
    faults
}

fn find<'a>(word: &str, files: &BTreeMap<&str, &'a SourceFile>) -> Option<&'a SourceFile> {
    let in_crate = word
        .split_once('/')
        .map(|(name, rest)| format!("crates/{name}/src/{rest}"));
    files.get(word).or_else(|| files.get(in_crate?.as_str())).copied()
}

/// The last name of `Path::to::name` or of `name(arguments)`; nothing for other words.
fn function(word: &str) -> Option<&str> {
    let path = word.split(['(', '<', ' ']).next()?;
    let name = path.rsplit("::").next()?.rsplit('.').next()?;
    let is_name = name
        .chars()
        .all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    let is_call = word.contains("::") || word.contains('(');
    (is_name && is_call && !name.is_empty()).then_some(name)
}

fn has_word(file: &SourceFile, name: &str) -> bool {
    let boundary = |letter: char| !letter.is_alphanumeric() && letter != '_';
    file.lines()
        .any(|(_, line)| line.split(boundary).any(|word| word == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<Finding> {
        check(&[
            SourceFile::of("docs/ARCHITECTURE.md", text),
            SourceFile::of("crates/ingest/src/accept.rs", "pub async fn accept() {}"),
        ])
    }

    #[test]
    fn what_is_there_passes() {
        assert_eq!(
            found("| 1 | `ingest::accept(..)` | `ingest/accept.rs` |"),
            Vec::<Finding>::new()
        );
        assert_eq!(
            found("`crates/ingest/src/accept.rs` and `application/json`"),
            Vec::<Finding>::new()
        );
    }

    #[test]
    fn a_missing_file_is_found() {
        assert_eq!(
            found("`ingest/refuse.rs`"),
            ["docs/ARCHITECTURE.md:1: `ingest/refuse.rs`: no such file"]
        );
    }

    #[test]
    fn a_missing_function_is_found() {
        let found = found("| 1 | `Thing::refuse` | `ingest/accept.rs` |");
        assert_eq!(found, ["docs/ARCHITECTURE.md:1: `refuse` is not in the file beside it"]);
    }
}
