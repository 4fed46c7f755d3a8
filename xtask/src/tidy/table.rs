//! The one table of crates and arrows; docs/ARCHITECTURE.md shows it, `arrows` and `bans` enforce it.

/// What one package of the workspace may depend on.
pub(super) struct Row {
    /// The folder.
    pub(super) folder: &'static str,
    /// Folders of ours that it may use.
    pub(super) may_use: &'static [&'static str],
    /// Folders of ours that only its tests may use.
    pub(super) in_tests: &'static [&'static str],
}

/// All packages, in the direction of the arrows: a row uses only rows above it (tests aside).
pub(super) const ROWS: &[Row] = &[
    Row {
        folder: "crates/envelope",
        may_use: &[],
        in_tests: &["crates/testkit"],
    },
    Row {
        folder: "crates/model",
        may_use: &["crates/envelope"],
        in_tests: &[],
    },
    Row {
        folder: "crates/smtp",
        may_use: &["crates/model"],
        in_tests: &["crates/testkit"],
    },
    Row {
        folder: "crates/message",
        may_use: &["crates/model"],
        in_tests: &["crates/testkit"],
    },
    Row {
        folder: "crates/wire",
        may_use: &["crates/envelope", "crates/model"],
        in_tests: &["crates/testkit"],
    },
    Row {
        folder: "crates/tls",
        may_use: &["crates/model"],
        in_tests: &["crates/testkit"],
    },
    Row {
        folder: "crates/auth",
        may_use: &["crates/model", "crates/message"],
        in_tests: &["crates/testkit"],
    },
    Row {
        folder: "crates/spam",
        may_use: &["crates/model"],
        in_tests: &["crates/testkit"],
    },
    Row {
        folder: "crates/monitor",
        may_use: &["crates/model"],
        in_tests: &["crates/testkit"],
    },
    Row {
        folder: "crates/storage",
        may_use: &["crates/envelope", "crates/model"],
        in_tests: &["crates/testkit"],
    },
    Row {
        folder: "crates/inbox",
        may_use: &[
            "crates/envelope",
            "crates/model",
            "crates/message",
            "crates/monitor",
            "crates/storage",
        ],
        in_tests: &["crates/testkit"],
    },
    Row {
        folder: "crates/webhook",
        may_use: &["crates/envelope", "crates/model", "crates/storage"],
        in_tests: &["crates/testkit"],
    },
    Row {
        folder: "crates/ingest",
        may_use: &[
            "crates/envelope",
            "crates/model",
            "crates/smtp",
            "crates/message",
            "crates/tls",
            "crates/auth",
            "crates/spam",
            "crates/monitor",
            "crates/inbox",
        ],
        in_tests: &["crates/testkit", "crates/storage"],
    },
    Row {
        folder: "crates/api",
        may_use: &[
            "crates/envelope",
            "crates/model",
            "crates/wire",
            "crates/tls",
            "crates/monitor",
            "crates/inbox",
            "crates/webhook",
        ],
        in_tests: &["crates/testkit", "crates/message", "crates/storage"],
    },
    Row {
        folder: "crates/client",
        may_use: &["crates/envelope", "crates/model", "crates/wire"],
        in_tests: &["crates/testkit"],
    },
    Row {
        folder: "crates/testkit",
        may_use: &["crates/model"],
        in_tests: &[],
    },
    Row {
        folder: "bins/server",
        may_use: &[
            "crates/envelope",
            "crates/model",
            "crates/smtp",
            "crates/message",
            "crates/wire",
            "crates/tls",
            "crates/auth",
            "crates/storage",
            "crates/spam",
            "crates/monitor",
            "crates/inbox",
            "crates/webhook",
            "crates/ingest",
            "crates/api",
        ],
        in_tests: &["crates/testkit"],
    },
    Row {
        folder: "bins/cli",
        may_use: &["crates/client", "crates/message"],
        in_tests: &["bins/server", "crates/model", "crates/testkit", "crates/wire"],
    },
    Row {
        folder: "xtask",
        may_use: &["crates/testkit"],
        in_tests: &[],
    },
    Row {
        folder: "tests",
        may_use: &[],
        in_tests: &[
            "crates/envelope",
            "crates/model",
            "crates/client",
            "crates/testkit",
            "bins/server",
        ],
    },
    Row {
        folder: "tests/fuzz/targets",
        may_use: &[
            "crates/envelope",
            "crates/model",
            "crates/smtp",
            "crates/message",
            "crates/webhook",
        ],
        in_tests: &["crates/testkit"],
    },
];

/// A package of others that only some folders may use outside their tests.
pub(super) struct Owned {
    /// The package.
    pub(super) package: &'static str,
    /// Who may use it.
    pub(super) owners: &'static [&'static str],
}

/// Who alone may use which packages of others.
pub(super) const OWNED: &[Owned] = &[
    Owned {
        package: "anstream",
        owners: &["bins/cli"],
    },
    Owned {
        package: "anyhow",
        owners: &["xtask"],
    },
    Owned {
        package: "aws-lc-rs",
        owners: &["crates/envelope", "crates/testkit"],
    },
    Owned {
        package: "axum",
        owners: &["crates/api"],
    },
    Owned {
        package: "cargo_metadata",
        owners: &["xtask"],
    },
    Owned {
        package: "clap",
        owners: &["bins/server", "bins/cli", "xtask"],
    },
    Owned {
        package: "clap_complete",
        owners: &["bins/cli"],
    },
    Owned {
        package: "comfy-table",
        owners: &["bins/cli"],
    },
    Owned {
        package: "crc32fast",
        owners: &["crates/storage"],
    },
    Owned {
        package: "etcetera",
        owners: &["bins/cli"],
    },
    Owned {
        package: "fips203",
        owners: &["crates/testkit"],
    },
    Owned {
        package: "fips204",
        owners: &["crates/testkit"],
    },
    Owned {
        package: "hickory-proto",
        owners: &["crates/testkit"],
    },
    Owned {
        package: "hickory-resolver",
        owners: &["crates/webhook"],
    },
    Owned {
        package: "http-body-util",
        owners: &["crates/api"],
    },
    Owned {
        package: "hyper",
        // crates/webhook, crates/client: what kind of error the client below reqwest met.
        owners: &["crates/api", "crates/webhook", "crates/client"],
    },
    Owned {
        package: "hyper-util",
        owners: &["crates/api"],
    },
    Owned {
        package: "indicatif",
        owners: &["bins/cli"],
    },
    Owned {
        package: "lettre",
        owners: &["bins/cli"],
    },
    Owned {
        package: "lsm-tree",
        owners: &["crates/storage"],
    },
    Owned {
        package: "mail-auth",
        owners: &["crates/auth"],
    },
    Owned {
        package: "mail-parser",
        owners: &["crates/message"],
    },
    Owned {
        package: "postcard",
        owners: &["crates/storage"],
    },
    Owned {
        package: "rcgen",
        owners: &["crates/tls", "crates/testkit"],
    },
    Owned {
        package: "regex",
        owners: &["crates/webhook"],
    },
    Owned {
        package: "reqwest",
        owners: &["crates/webhook", "crates/client", "crates/spam"],
    },
    Owned {
        package: "roxmltree",
        owners: &["xtask"],
    },
    Owned {
        package: "rustix",
        // crates/client: whether the process of a discovery file runs; bins/cli: the width of the terminal.
        owners: &["crates/storage", "crates/client", "bins/server", "bins/cli"],
    },
    Owned {
        package: "rustls",
        // crates/auth, crates/webhook: a TLS configuration that trusts nobody, for a resolver that uses none (record 0013).
        // crates/webhook: the authorities that a sender trusts (record 0018); crates/client: those of the SDK.
        // crates/spam: those that rspamd's certificate is checked with.
        owners: &[
            "crates/tls",
            "crates/auth",
            "crates/webhook",
            "crates/client",
            "crates/spam",
            "crates/testkit",
        ],
    },
    Owned {
        package: "rustls-native-certs",
        owners: &["crates/webhook", "crates/client", "crates/spam"],
    },
    // Only tests compare with it (ADR 0001).
    Owned {
        package: "smtp-proto",
        owners: &[],
    },
    Owned {
        package: "tikv-jemallocator",
        owners: &["bins/server"],
    },
    Owned {
        package: "tokio-rustls",
        owners: &["crates/tls"],
    },
    Owned {
        package: "toml",
        owners: &["bins/cli"],
    },
    Owned {
        package: "tower",
        owners: &["crates/api"],
    },
    Owned {
        package: "tracing-subscriber",
        owners: &["bins/server"],
    },
    Owned {
        package: "ureq",
        owners: &["xtask"],
    },
];

/// Arrows that no change of [`ROWS`] may bring, because an idea of the design rests on each.
pub(super) const NEVER: &[(&str, &[&str])] = &[
    // The use cases own the store: a handler that reads it directly would skip the exact expiry check.
    ("crates/api", &["crates/storage", "crates/ingest"]),
    ("crates/ingest", &["crates/storage", "crates/api"]),
    // Storage keeps opaque bytes and calls nobody.
    (
        "crates/storage",
        &[
            "crates/wire",
            "crates/inbox",
            "crates/message",
            "crates/smtp",
            "crates/webhook",
        ],
    ),
    // A client knows the interface, not how the server keeps it.
    (
        "crates/client",
        &[
            "crates/storage",
            "crates/inbox",
            "crates/webhook",
            "crates/ingest",
            "crates/api",
        ],
    ),
    // Vectors must not come from the code that they test.
    ("crates/testkit", &["crates/envelope"]),
];

/// Folders whose code is pure: no runtime, database, HTTP stack or sockets anywhere in what it is built from.
pub(super) const PURE: &[&str] = &[
    "crates/envelope",
    "crates/model",
    "crates/smtp",
    "crates/message",
    "crates/wire",
];

/// What pure code is not built from.
pub(super) const IMPURE: &[&str] = &["tokio", "mio", "lsm-tree", "axum", "hyper", "reqwest", "ureq"];

/// Folders that nobody depends on, tests of `tests` aside.
pub(super) const TOPS: &[&str] = &["bins/server", "bins/cli", "xtask", "tests", "tests/fuzz/targets"];
