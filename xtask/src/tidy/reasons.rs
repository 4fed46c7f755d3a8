//! Every dependency of the workspace has its reason.

use super::Finding;

/// Each dependency on others in the root manifest must carry a comment on its line.
pub(super) fn check(root_manifest: &str) -> Vec<Finding> {
    let lines = root_manifest
        .lines()
        .skip_while(|line| *line != "[workspace.dependencies]")
        .skip(1);
    let section = lines.take_while(|line| !line.starts_with('['));
    let dependencies = section.filter(|line| line.contains(" = ") && !line.starts_with('#'));
    let theirs = dependencies.filter(|line| !line.contains("path = \""));
    let silent = theirs.filter(|line| {
        line.split_once(" # ")
            .is_none_or(|(_, reason)| reason.trim().is_empty())
    });
    silent
        .map(|line| format!("Cargo.toml: no reason behind `{line}`"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dependency_without_a_reason_is_found() {
        let manifest =
            "[workspace.dependencies]\n# theirs\na = \"1\" # because\nb = \"2\"\nours = { path = \"c\" }\n[x]\nd = 1";
        assert_eq!(check(manifest), ["Cargo.toml: no reason behind `b = \"2\"`"]);
    }
}
