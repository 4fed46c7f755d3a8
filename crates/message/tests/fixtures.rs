//! Every message under tests/fixtures/messages parses to the JSON beside it.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use restante_message::{parse, summary};

#[path = "shape/expected.rs"]
mod expected;

/// The messages, by name.
fn messages() -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/messages");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("the folder is part of the repository")
        .map(|entry| entry.expect("the folder is readable").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "eml"))
        .collect();
    paths.sort();
    assert!(
        paths.len() >= 60,
        "only {} messages found in {}",
        paths.len(),
        folder.display()
    );
    let read = |path: PathBuf| (path.clone(), std::fs::read(path).expect("a fixture is readable"));
    paths.into_iter().map(read).collect()
}

#[test]
fn each_message_parses_to_the_json_beside_it() {
    let mut wrong = Vec::new();
    for (path, raw) in messages() {
        let json = path.with_extension("json");
        let expected = std::fs::read_to_string(&json).unwrap_or_else(|e| panic!("{}: {e}", json.display()));
        let found = expected::json(&parse(&raw));
        if found != expected {
            println!("{}: found\n{found}", path.display());
            wrong.push(path);
        }
    }
    assert!(wrong.is_empty(), "not as expected: {wrong:?}");
}

#[test]
fn each_expectation_has_its_message() {
    for (path, _) in messages() {
        assert!(path.with_extension("json").exists(), "{}", path.display());
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/messages");
    for entry in std::fs::read_dir(folder).expect("the folder is part of the repository") {
        let path = entry.expect("the folder is readable").path();
        if path.extension().is_some_and(|extension| extension == "json") {
            assert!(path.with_extension("eml").exists(), "{}", path.display());
        }
    }
}

#[test]
fn a_summary_says_what_the_whole_says() {
    for (path, raw) in messages() {
        let (whole, part) = (parse(&raw), summary(&raw));
        assert_eq!(
            (part.from, part.subject),
            (whole.from, whole.subject),
            "{}",
            path.display()
        );
    }
}

#[test]
fn nothing_but_joined_values_has_line_ends_in_headers() {
    for (path, raw) in messages() {
        let message = parse(&raw);
        let values = message.headers.iter().map(|(_, value)| value);
        assert!(
            values.clone().all(|value| !value.contains(['\r', '\0'])),
            "{}",
            path.display()
        );
        let names = message.attachments.iter().map(|attachment| &attachment.filename);
        let single = message
            .to
            .iter()
            .chain(&message.subject)
            .chain(&message.from)
            .chain(names);
        assert!(
            single.clone().all(|value| !value.contains(['\r', '\n', '\0'])),
            "{}",
            path.display()
        );
    }
}

/// A change of a message: at a place (as a fraction of its length), some bytes go and others come.
fn mutation() -> impl Strategy<Value = (prop::sample::Index, usize, Vec<u8>)> {
    let inserted = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..8),
        prop::sample::select(vec![
            "\r\n",
            "\n\n",
            "\r\n\r\n",
            "--",
            "--b\r\n",
            "--b--",
            "=?utf-8?q?",
            "?=",
            "\"",
            "<",
            "<a href=",
            "&",
            "(",
            ";",
            ":",
            "=",
            "\\",
            "\0",
            "Content-Type: multipart/mixed; boundary=b\r\n",
            "é",
            "*0*=",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
    ];
    (any::<prop::sample::Index>(), 0_usize..40, inserted)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_never_panic(raw in prop::collection::vec(any::<u8>(), 0..2000)) {
        unguarded(&raw);
    }

    #[test]
    fn mutated_messages_never_panic(
        which in any::<prop::sample::Index>(),
        mutations in prop::collection::vec(mutation(), 1..6),
    ) {
        let messages = messages();
        let mut raw = which.get(&messages).1.clone();
        for (place, removed, inserted) in mutations {
            let start = place.index(raw.len() + 1);
            let end = (start + removed).min(raw.len());
            raw.splice(start..end, inserted);
        }
        unguarded(&raw);
    }
}

/// Parses, and fails if a panic had to be caught.
fn unguarded(raw: &[u8]) {
    let message = parse(raw);
    assert!(
        !message
            .defects
            .iter()
            .any(|defect| defect == "The message cannot be parsed.")
    );
    let part = summary(raw);
    assert_eq!((part.from, part.subject), (message.from, message.subject));
}
