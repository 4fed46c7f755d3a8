//! File names say which noun or operation they own.

use std::collections::BTreeSet;

use super::Finding;

/// Names that say nothing.
const EMPTY_NAMES: [&str; 10] = [
    "utils", "util", "helpers", "common", "misc", "types", "manager", "service", "handlers", "core",
];

/// No Rust or Python file or folder has an empty name, and no module is a `mod.rs`.
pub(super) fn check(paths: &BTreeSet<&str>) -> Vec<Finding> {
    let sources = paths.iter().filter_map(|path| path.rsplit_once('.'));
    let sources = sources.filter(|(_, extension)| matches!(*extension, "rs" | "py"));
    let faults = sources.filter_map(|(stem, extension)| Some(format!("{stem}.{extension}: {}", fault(stem)?)));
    faults.collect()
}

fn fault(stem: &str) -> Option<String> {
    let mut parts = stem.split('/');
    if parts.clone().next_back() == Some("mod") {
        return Some("write `name.rs` beside `name/`".to_owned());
    }
    let empty = parts.find(|part| EMPTY_NAMES.contains(part))?;
    Some(format!("`{empty}` does not say what is in it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_names_and_mod_rs_are_found() {
        let paths = BTreeSet::from([
            "a/src/utils.rs",
            "a/src/core/x.rs",
            "a/src/x/mod.rs",
            "a/src/utility_bill.rs",
        ]);
        let found = check(&paths);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(!found.iter().any(|finding| finding.contains("utility_bill")));
    }
}
