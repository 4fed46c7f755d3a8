//! The guide for those who move here names every setting, and none that is not there.

use std::collections::BTreeSet;

use super::Finding;
use crate::repository::SourceFile;

/// The settings, made from the table in code.
const SETTINGS: &str = "docs/settings.md";
/// The guide.
const GUIDE: &str = "docs/guides/moving-from-vaultsandbox.md";
const PREFIX: &str = "SVC_";

/// Each setting has a row in the guide, and what the guide calls a setting is one.
pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let file = |path: &str| files.iter().find(|file| file.path == path);
    let (Some(settings), Some(guide)) = (file(SETTINGS), file(GUIDE)) else {
        return vec![format!("{SETTINGS} or {GUIDE} is missing")];
    };
    let known: BTreeSet<&str> = settings.lines().flat_map(|(_, line)| names(line)).collect();
    let placed: BTreeSet<&str> = guide.lines().filter_map(|(_, line)| placed(line)).collect();
    let missing = known_rows(settings).filter(|name| !placed.contains(name));
    let mut findings: Vec<Finding> = missing.map(|name| format!("{GUIDE}: {name} has no row")).collect();
    for (number, line) in guide.lines() {
        let unknown = names(line).filter(|name| !known.contains(name));
        findings.extend(unknown.map(|name| format!("{GUIDE}:{number}: there is no setting `{name}`")));
    }
    findings
}

/// The first name of each row of the settings; a second one is another spelling.
fn known_rows(settings: &SourceFile) -> impl Iterator<Item = &str> {
    let rows = settings.lines().filter(|(_, line)| line.starts_with('|'));
    rows.filter_map(|(_, line)| names(line.split('|').nth(1)?).next())
}

/// The setting that a row of the guide is about, in its second column.
fn placed(line: &str) -> Option<&str> {
    names(line.strip_prefix('|')?.split('|').nth(1)?).next()
}

/// All words of a line that are names of settings.
fn names(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.filter(|word| word.len() > PREFIX.len() && word.starts_with(PREFIX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &str =
        "| Setting | Default |\n|---|---|\n| `SVC_ONE` | 1 |\n| `SVC_TWO` (also `SVC_ZWEI`) | as `SVC_ONE` |\n";

    fn found(guide: &str) -> Vec<Finding> {
        check(&[SourceFile::of(SETTINGS, KNOWN), SourceFile::of(GUIDE, guide)])
    }

    #[test]
    fn a_guide_with_every_setting_passes() {
        let guide = "SVC_ZWEI=1 is `SVC_TWO`, not VSVC_X.\n| `VSB_ONE` | `SVC_ONE` | |\n| – | `SVC_TWO` | new |\n";
        assert_eq!(found(guide), Vec::<Finding>::new());
    }

    #[test]
    fn a_setting_without_a_row_is_found() {
        let guide = "Only words about `SVC_TWO`.\n| `VSB_ONE` | `SVC_ONE` | see `SVC_TWO` |\n";
        assert_eq!(found(guide), [format!("{GUIDE}: SVC_TWO has no row")]);
    }

    #[test]
    fn a_setting_that_is_not_there_is_found() {
        let guide = "| | `SVC_ONE` | |\n| | `SVC_TWO` | |\nSVC_THREE=3\n";
        assert_eq!(found(guide), [format!("{GUIDE}:3: there is no setting `SVC_THREE`")]);
        assert_eq!(check(&[]).len(), 1);
    }
}
