//! Every message under tests/fixtures/messages parses to the JSON beside it.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use restante_message::{ParsedMessage, parse, summary};

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
        check_single_lines(&parse(&raw), &path.display().to_string());
    }
}

/// Nothing decoded from a header field can end a line, or steer a terminal; only a repeated header's values are joined
/// with a newline.
fn check_single_lines(message: &ParsedMessage, place: &str) {
    let mailboxes = [&message.to_mailboxes, &message.cc_mailboxes]
        .into_iter()
        .flatten()
        .chain(&message.from_mailbox);
    let names = mailboxes.clone().filter_map(|mailbox| mailbox.name.as_ref());
    let addresses = mailboxes.map(|mailbox| &mailbox.address);
    let shown = message.to.iter().chain(&message.cc).chain(&message.reply_to);
    let single = [
        &message.subject,
        &message.from,
        &message.message_id,
        &message.in_reply_to,
    ];
    let single = single.into_iter().flatten().chain(&message.references);
    let ids = message
        .attachments
        .iter()
        .filter_map(|attachment| attachment.content_id.as_ref());
    let texts = shown
        .chain(single)
        .chain(ids)
        .chain(names)
        .chain(addresses)
        .chain(&message.defects);
    for text in texts {
        let is_unfit = |c: char| c.is_control() && c != '\t';
        assert!(!text.contains(is_unfit), "{place}: {text:?}");
    }
    for (name, value) in &message.headers {
        let is_unfit = |c: char| c.is_control() && c != '\t' && c != '\n';
        assert!(name.bytes().all(|b| b.is_ascii_graphic()), "{place}: {name:?}");
        assert!(!value.contains(is_unfit), "{place}: {name} {value:?}");
    }
    let files = message.attachments.iter();
    let files = files.flat_map(|attachment| [&attachment.filename, &attachment.content_type]);
    for text in files.chain(&message.links) {
        assert!(!text.contains(char::is_control), "{place}: {text:?}");
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
            "\x1b[31m",
            "=?iso-2022-jp?b?GyRC?=",
            "=?utf-8?q?=0D=0A=00=1B?=",
            "multipart/related; start=1; boundary=b\r\n",
            "charset=utf-7\r\n",
            "<div hidden>",
            "&#0;",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
    ];
    (any::<prop::sample::Index>(), 0_usize..40, inserted)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_never_panic_or_leak_controls(raw in prop::collection::vec(any::<u8>(), 0..2000)) {
        check(&raw);
    }

    #[test]
    fn mutated_messages_never_panic_or_leak_controls(
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
        check(&raw);
    }
}

/// Parses, without anything that would catch a panic.
fn check(raw: &[u8]) {
    let message = parse(raw);
    check_single_lines(&message, "a made-up message");
    let part = summary(raw);
    assert_eq!((part.from, part.subject), (message.from, message.subject));
}
