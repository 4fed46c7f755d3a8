//! Packages that must not be in what we hand out.

use super::Finding;
use super::arrows::Graph;

/// A banned package, and why.
struct Ban {
    package: &'static str,
    reason: &'static str,
}

const BANS: &[Ban] = &[
    Ban {
        package: "openssl",
        reason: "one crypto provider: aws-lc-rs",
    },
    Ban {
        package: "openssl-sys",
        reason: "one crypto provider: aws-lc-rs",
    },
    Ban {
        package: "native-tls",
        reason: "one crypto provider: aws-lc-rs",
    },
    Ban {
        package: "ring",
        reason: "one crypto provider: aws-lc-rs",
    },
    Ban {
        package: "async-std",
        reason: "discontinued",
    },
    Ban {
        package: "samotop",
        reason: "runs the rest of a body as commands (ADR 0001)",
    },
    Ban {
        package: "bincode",
        reason: "unmaintained: use postcard",
    },
    Ban {
        package: "serde_yaml",
        reason: "unmaintained",
    },
    Ban {
        package: "dotenv",
        reason: "unmaintained",
    },
    Ban {
        package: "rustls-pemfile",
        reason: "unmaintained: rustls-pki-types reads PEM",
    },
    Ban {
        package: "paste",
        reason: "unmaintained",
    },
    Ban {
        package: "pqcrypto-mlkem",
        reason: "archived; tests only (ADR 0002)",
    },
    Ban {
        package: "pqcrypto-mldsa",
        reason: "archived; tests only (ADR 0002)",
    },
    Ban {
        package: "fxhash",
        reason: "unmaintained",
    },
    Ban {
        package: "instant",
        reason: "unmaintained",
    },
];

/// What we hand out.
const SHIPPED: &[&str] = &["bins/server"];

/// No binary that we hand out may be built from a banned package, on any platform.
pub(super) fn check(graph: &Graph) -> Vec<Finding> {
    let mut findings = Vec::new();
    for shipped in SHIPPED {
        let mut closure = graph.closure(shipped);
        closure.insert(shipped);
        for (parent, package) in closure.iter().flat_map(|parent| edges(graph, parent)) {
            if let Some(ban) = BANS.iter().find(|ban| ban.package == package) {
                findings.push(format!(
                    "{shipped}: is built from {package} through {parent}: {}",
                    ban.reason
                ));
            }
        }
    }
    findings
}

fn edges<'a>(graph: &'a Graph, parent: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let children = graph.built_from.get(parent).into_iter().flatten();
    children.map(move |child| (parent, child.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(&str, &str)]) -> Graph {
        let mut graph = Graph::default();
        for (from, to) in edges {
            graph
                .built_from
                .entry((*from).to_owned())
                .or_default()
                .insert((*to).to_owned());
        }
        graph
    }

    #[test]
    fn a_banned_package_is_found_however_deep() {
        let found = check(&graph(&[("bins/server", "web"), ("web", "tls"), ("tls", "ring")]));
        assert_eq!(
            found,
            ["bins/server: is built from ring through tls: one crypto provider: aws-lc-rs"]
        );
    }

    #[test]
    fn a_banned_package_under_tests_alone_passes() {
        assert!(check(&graph(&[("tests", "ring"), ("bins/server", "tokio")])).is_empty());
    }
}
