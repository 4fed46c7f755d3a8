//! Nothing that is committed knows on which machine it was written.

use super::Finding;
use crate::repository::SourceFile;

/// Starts of paths that exist on somebody's machine only (spelt in parts, so that this file passes).
///
/// Homes of users are not among them: tests make some up.
const MACHINE_PATHS: [&str; 3] = [concat!("/ro", "ot/"), concat!("/wo", "rk/"), concat!("../sh", "ared")];

/// No text file mentions such a path.
pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files {
        for (number, line) in file.lines() {
            if let Some(path) = MACHINE_PATHS.iter().find(|path| mentions(line, path)) {
                findings.push(format!("{}:{number}: `{path}` is a path of one machine", file.path));
            }
        }
    }
    findings
}

/// Whether the line has the path at the start of a word: `https://host/` and `frame` + `work/` are none.
fn mentions(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|before| !before.is_alphanumeric() && !"._-/}".contains(before))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_a_machine_is_found() {
        let text = format!("see {0}me/notes\nhttps://example.org{0}x\n", MACHINE_PATHS[0]);
        let found = check(&[SourceFile::of("a.md", &text)]);
        assert_eq!(
            found,
            [format!("a.md:1: `{}` is a path of one machine", MACHINE_PATHS[0])]
        );
    }
}
