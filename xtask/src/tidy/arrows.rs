//! Dependency arrows of the workspace, compared with the table.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use cargo_metadata::{DependencyKind, Metadata, Node, NodeDep, Package, PackageId};

use super::Finding;
use super::table::{IMPURE, NEVER, OWNED, PURE, ROWS, TOPS};

/// What `cargo metadata` says, by names instead of ids.
#[derive(Debug, Default)]
pub(super) struct Graph {
    /// Folder of each package of ours, with the names of all that it depends on directly.
    pub(super) members: BTreeMap<String, Direct>,
    /// Folder of each package of ours, with its description.
    pub(super) descriptions: BTreeMap<String, String>,
    /// Every package in the lock, by name: those it is built from (normal and build dependencies).
    pub(super) built_from: BTreeMap<String, BTreeSet<String>>,
}

/// The direct dependencies of a package of ours: folders for ours, package names for others.
#[derive(Debug, Default)]
pub(super) struct Direct {
    pub(super) normal: BTreeSet<String>,
    pub(super) in_tests: BTreeSet<String>,
}

impl Graph {
    pub(super) fn read(metadata: &Metadata) -> Result<Self> {
        let folders = folders(metadata)?;
        let mut graph = Self::default();
        let resolve = metadata
            .resolve
            .as_ref()
            .context("cargo metadata gave no resolved graph")?;
        for node in &resolve.nodes {
            let package = &metadata[&node.id];
            let is_on = |dependency: &&NodeDep| is_switched_on(package, node, &metadata[&dependency.pkg].name);
            for dependency in node.deps.iter().filter(is_on) {
                let kinds: BTreeSet<_> = dependency
                    .dep_kinds
                    .iter()
                    .map(|kind| is_for_tests(kind.kind))
                    .collect();
                let name = name_of(&metadata[&dependency.pkg], &folders);
                if kinds.contains(&false) {
                    let key = name_of(package, &folders);
                    graph.built_from.entry(key).or_default().insert(name.clone());
                }
                if let Some(folder) = folders.get(&node.id) {
                    let direct = graph.members.entry(folder.clone()).or_default();
                    if kinds.contains(&false) {
                        direct.normal.insert(name.clone());
                    }
                    if kinds.contains(&true) {
                        direct.in_tests.insert(name);
                    }
                }
            }
        }
        for (id, folder) in &folders {
            graph.members.entry(folder.clone()).or_default();
            graph
                .descriptions
                .insert(folder.clone(), metadata[id].description.clone().unwrap_or_default());
        }
        Ok(graph)
    }

    /// All that a package is built from, itself left out.
    pub(super) fn closure(&self, start: &str) -> BTreeSet<&str> {
        let mut found = BTreeSet::new();
        let mut open = vec![start];
        while let Some(name) = open.pop() {
            for next in self.built_from.get(name).into_iter().flatten() {
                if found.insert(next.as_str()) {
                    open.push(next);
                }
            }
        }
        found
    }
}

/// Whether a dependency is one in fact.
///
/// The resolved graph also has optional packages that a weak feature mentions (`ring?/std`), which are never built.
fn is_switched_on(package: &Package, node: &Node, dependency: &str) -> bool {
    let mut declared = package
        .dependencies
        .iter()
        .filter(|declared| declared.name == dependency);
    let asks_for = |part: &String| {
        let part = part.strip_prefix("dep:").unwrap_or(part);
        part.split('/').next() == Some(dependency)
    };
    let is_asked_for = || {
        let features = node
            .features
            .iter()
            .filter_map(|feature| package.features.get(feature.as_str()));
        features.flatten().any(asks_for)
    };
    // A package under another name here is left as the graph has it.
    declared
        .clone()
        .any(|declared| !declared.optional || declared.rename.is_some())
        || declared.next().is_none()
        || is_asked_for()
}

fn is_for_tests(kind: DependencyKind) -> bool {
    kind == DependencyKind::Development
}

fn name_of(package: &Package, folders: &BTreeMap<PackageId, String>) -> String {
    folders
        .get(&package.id)
        .cloned()
        .unwrap_or_else(|| package.name.to_string())
}

fn folders(metadata: &Metadata) -> Result<BTreeMap<PackageId, String>> {
    let folder = |package: &&Package| {
        let folder = package.manifest_path.parent().context("a manifest is in a folder")?;
        let folder = folder
            .strip_prefix(&metadata.workspace_root)
            .context("a package outside the workspace")?;
        Ok((package.id.clone(), folder.to_string()))
    };
    metadata.workspace_packages().iter().map(folder).collect()
}

/// Every arrow must be in the table, and no forbidden one in the graph.
pub(super) fn check(graph: &Graph) -> Vec<Finding> {
    [rows(graph), never(graph), owned(graph), pure(graph), tops(graph)].concat()
}

fn rows(graph: &Graph) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (folder, direct) in &graph.members {
        let Some(row) = ROWS.iter().find(|row| row.folder == folder) else {
            findings.push(format!("{folder}: not in the table (xtask/src/tidy/table.rs)"));
            continue;
        };
        let ours = |name: &&String| graph.members.contains_key(*name);
        for used in direct
            .normal
            .iter()
            .filter(ours)
            .filter(|used| !row.may_use.contains(&used.as_str()))
        {
            findings.push(format!("{folder}: may not use {used} (xtask/src/tidy/table.rs)"));
        }
        let allowed = |used: &str| row.may_use.contains(&used) || row.in_tests.contains(&used);
        for used in direct.in_tests.iter().filter(ours).filter(|used| !allowed(used)) {
            findings.push(format!(
                "{folder}: may not use {used}, not even in tests (xtask/src/tidy/table.rs)"
            ));
        }
    }
    let gone = ROWS.iter().filter(|row| !graph.members.contains_key(row.folder));
    findings.extend(gone.map(|row| format!("{}: in the table, but there is no such package", row.folder)));
    findings
}

fn never(graph: &Graph) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (folder, forbidden) in NEVER {
        let used = graph.members.get(*folder).map(|direct| &direct.normal);
        let wrong = forbidden
            .iter()
            .filter(|name| used.is_some_and(|used| used.contains(**name)));
        findings.extend(wrong.map(|name| format!("{folder}: must never use {name}")));
    }
    findings
}

fn owned(graph: &Graph) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (folder, direct) in &graph.members {
        let foreign = OWNED.iter().filter(|owned| direct.normal.contains(owned.package));
        for owned in foreign.filter(|owned| !owned.owners.contains(&folder.as_str())) {
            let owners = owned.owners.join(" and ");
            findings.push(format!("{folder}: only {owners} may use {}", owned.package));
        }
    }
    findings
}

fn pure(graph: &Graph) -> Vec<Finding> {
    let mut findings = Vec::new();
    for folder in PURE {
        let closure = graph.closure(folder);
        let wrong = IMPURE.iter().filter(|name| closure.contains(**name));
        findings.extend(wrong.map(|name| format!("{folder}: is pure, but is built from {name}")));
    }
    findings
}

fn tops(graph: &Graph) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (folder, direct) in &graph.members {
        let wrong = TOPS.iter().filter(|top| direct.normal.contains(**top));
        findings.extend(wrong.map(|top| format!("{folder}: nobody may depend on {top}")));
        if direct.normal.contains("crates/testkit") && folder != "xtask" {
            findings.push(format!("{folder}: crates/testkit is for tests and xtask"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The packages of the table with no arrows, and some arrows added.
    fn graph(normal: &[(&str, &str)], in_tests: &[(&str, &str)]) -> Graph {
        let mut graph = Graph::default();
        for row in ROWS {
            graph.members.insert(row.folder.to_owned(), Direct::default());
        }
        for (from, to) in normal {
            graph
                .members
                .entry((*from).to_owned())
                .or_default()
                .normal
                .insert((*to).to_owned());
            graph
                .built_from
                .entry((*from).to_owned())
                .or_default()
                .insert((*to).to_owned());
        }
        for (from, to) in in_tests {
            graph
                .members
                .entry((*from).to_owned())
                .or_default()
                .in_tests
                .insert((*to).to_owned());
        }
        graph
    }

    #[test]
    fn arrows_of_the_table_pass() {
        let normal = [
            ("crates/api", "crates/inbox"),
            ("crates/api", "axum"),
            ("xtask", "crates/testkit"),
        ];
        assert_eq!(
            check(&graph(&normal, &[("crates/inbox", "crates/testkit")])),
            Vec::<Finding>::new()
        );
    }

    #[test]
    fn an_arrow_that_is_not_in_the_table_is_found() {
        let found = rows(&graph(&[("crates/model", "crates/wire")], &[]));
        assert_eq!(
            found,
            ["crates/model: may not use crates/wire (xtask/src/tidy/table.rs)"]
        );
    }

    #[test]
    fn an_arrow_that_only_tests_may_have_is_found_outside_them() {
        let arrow = [("crates/inbox", "crates/testkit")];
        assert!(rows(&graph(&[], &arrow)).is_empty());
        assert_eq!(rows(&graph(&arrow, &[])).len(), 1);
        assert_eq!(rows(&graph(&[], &[("crates/model", "crates/api")])).len(), 1);
    }

    #[test]
    fn an_unknown_and_a_vanished_package_are_found() {
        let mut graph = graph(&[], &[]);
        graph.members.remove("crates/api");
        graph.members.insert("crates/new".to_owned(), Direct::default());
        assert_eq!(rows(&graph).len(), 2);
    }

    #[test]
    fn an_arrow_that_must_never_be_is_found() {
        let found = never(&graph(&[("crates/api", "crates/storage")], &[]));
        assert_eq!(found, ["crates/api: must never use crates/storage"]);
    }

    #[test]
    fn the_table_itself_has_no_arrow_that_must_never_be() {
        for (folder, forbidden) in NEVER {
            let row = ROWS.iter().find(|row| row.folder == *folder).expect("in the table");
            assert!(!row.may_use.iter().any(|used| forbidden.contains(used)), "{folder}");
        }
    }

    #[test]
    fn rows_of_the_table_use_only_rows_above_them() {
        for (index, row) in ROWS.iter().enumerate() {
            for used in row.may_use {
                assert!(
                    ROWS[..index].iter().any(|above| above.folder == *used),
                    "{} uses {used}",
                    row.folder
                );
            }
        }
    }

    #[test]
    fn a_package_used_by_another_than_its_owner_is_found() {
        let found = owned(&graph(&[("crates/inbox", "lsm-tree")], &[]));
        assert_eq!(found, ["crates/inbox: only crates/storage may use lsm-tree"]);
    }

    #[test]
    fn a_runtime_under_pure_code_is_found_through_others() {
        let found = pure(&graph(&[("crates/smtp", "grammar"), ("grammar", "tokio")], &[]));
        assert_eq!(found, ["crates/smtp: is pure, but is built from tokio"]);
    }

    #[test]
    fn an_arrow_to_a_binary_or_to_testkit_is_found() {
        assert_eq!(tops(&graph(&[("crates/api", "bins/server")], &[])).len(), 1);
        assert_eq!(tops(&graph(&[("crates/api", "crates/testkit")], &[])).len(), 1);
    }
}
