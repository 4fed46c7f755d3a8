//! Links in Markdown lead somewhere.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use crate::repository::SourceFile;

/// Every relative link names a file or folder of the repository, and every anchor a heading.
pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let known = Known::of(files);
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.has_extension("md")) {
        for (number, line) in prose(file) {
            for target in targets(line) {
                if let Some(fault) = known.fault(&file.path, target) {
                    findings.push(format!("{}:{number}: `{target}`: {fault}", file.path));
                }
            }
        }
    }
    findings
}

/// What a link may lead to.
struct Known<'a> {
    paths: BTreeSet<&'a str>,
    anchors: BTreeMap<&'a str, BTreeSet<String>>,
}

impl<'a> Known<'a> {
    fn of(files: &'a [SourceFile]) -> Self {
        let mut paths = BTreeSet::new();
        for file in files {
            let folders = file.path.match_indices('/').map(|(end, _)| &file.path[..end]);
            paths.extend(folders.chain([file.path.as_str()]));
        }
        let documents = files.iter().filter(|file| file.has_extension("md"));
        Self {
            paths,
            anchors: documents.map(|file| (file.path.as_str(), anchors(file))).collect(),
        }
    }

    fn fault(&self, from: &str, target: &str) -> Option<&'static str> {
        if target.contains("://") || target.starts_with("mailto:") {
            return None;
        }
        let (path, anchor) = target
            .split_once('#')
            .map_or((target, None), |(path, anchor)| (path, Some(anchor)));
        let path = if path.is_empty() {
            from.to_owned()
        } else {
            resolve(from, path)
        };
        if !self.paths.contains(path.as_str()) {
            return Some("no such file");
        }
        let known = self.anchors.get(path.as_str());
        anchor
            .filter(|anchor| known.is_none_or(|known| !known.contains(*anchor)))
            .map(|_| "no such heading")
    }
}

/// The lines outside fenced code.
pub(super) fn prose(file: &SourceFile) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    file.lines().filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

/// The targets of `[text](target)` in a line.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')').map(|(target, _)| target))
}

/// The path that a relative link in `from` means.
fn resolve(from: &str, path: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in path.trim_end_matches('/').split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." => {}
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// The anchors that forges make from headings: lower case, words joined by hyphens, punctuation dropped.
fn anchors(file: &SourceFile) -> BTreeSet<String> {
    let headings = prose(file).filter_map(|(_, line)| {
        line.trim_start_matches('#')
            .strip_prefix(' ')
            .filter(|_| line.starts_with('#'))
    });
    headings.map(slug).collect()
}

fn slug(heading: &str) -> String {
    let kept = heading
        .trim()
        .chars()
        .filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
    kept.flat_map(char::to_lowercase)
        .map(|letter| if letter == ' ' { '-' } else { letter })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<Finding> {
        check(&[
            SourceFile::of("docs/a.md", text),
            SourceFile::of("README.md", "# One two, `three`\n"),
        ])
    }

    #[test]
    fn links_that_lead_somewhere_pass() {
        let text = "# Here\n[a](../README.md) [b](../README.md#one-two-three) [c](#here) [d](https://e.org/#x) [e](../docs/)\n";
        assert_eq!(found(text), Vec::<Finding>::new());
    }

    #[test]
    fn a_missing_file_is_found() {
        assert_eq!(found("[a](b.md)"), ["docs/a.md:1: `b.md`: no such file"]);
    }

    #[test]
    fn a_missing_heading_is_found() {
        assert_eq!(
            found("\n[a](../README.md#four)"),
            ["docs/a.md:2: `../README.md#four`: no such heading"]
        );
        assert_eq!(found("[a](#nowhere)").len(), 1);
    }

    #[test]
    fn a_heading_in_a_code_block_is_no_anchor() {
        assert_eq!(found("```\n# Here\n```\n[a](#here)").len(), 1);
    }
}
