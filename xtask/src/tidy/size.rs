//! Files that grew past one noun.

use super::Finding;
use crate::repository::SourceFile;

/// Beyond it a file is refused.
const MAX_LINES: usize = 600;
/// Beyond it the second noun is worth looking for.
const MANY_LINES: usize = 500;

/// No Rust file is longer than [`MAX_LINES`]; long ones are named without failing.
pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.has_extension("rs")) {
        let lines = file.lines().count();
        if lines > MAX_LINES {
            findings.push(format!(
                "{}: {lines} lines, at most {MAX_LINES}: what is its second noun?",
                file.path
            ));
        } else if lines > MANY_LINES {
            eprintln!("note: {}: {lines} lines: what is its second noun?", file.path);
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_601_lines_is_found() {
        let file = |path: &str, lines: usize| SourceFile::of(path, &"x\n".repeat(lines));
        assert!(check(&[file("a.rs", 600), file("a.json", 601)]).is_empty());
        assert_eq!(
            check(&[file("a.rs", 601)]),
            ["a.rs: 601 lines, at most 600: what is its second noun?"]
        );
    }
}
