//! Exported inboxes: the vectors of `tests/vectors/import`, which another implementation made (`cargo xtask vectors`), what
//! a client does with them, and their files.

#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as the tests do")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use restante_client::{Client, Error, ExportedInbox, IfKnown, ImportError, Timestamp};
use serde::Deserialize;
use serde_json::Value;

/// A hash of no inbox of the vectors.
const OTHER_HASH: &str = "n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg";

/// One scenario.
#[derive(Deserialize)]
struct Vector {
    #[serde(skip)]
    name: String,
    expect: String,
    says: Option<String>,
    reads: Option<Reads>,
    text: String,
}

/// What a reader finds.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reads {
    email_address: String,
    inbox_hash: String,
    encrypted: bool,
    expires_at: String,
    exported_at: String,
}

impl Reads {
    fn of(export: &ExportedInbox) -> Self {
        Self {
            email_address: export.address().to_owned(),
            inbox_hash: export.hash().to_string(),
            encrypted: export.is_encrypted(),
            expires_at: export.expires_at().unwrap_or(Timestamp::MAX).to_string(),
            exported_at: export.exported_at().to_string(),
        }
    }
}

fn vectors() -> Vec<Vector> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/import");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let vectors: Vec<_> = paths.map(|path| read(&path)).collect();
    assert!(vectors.len() > 100, "found {} vectors", vectors.len());
    vectors
}

fn read(path: &Path) -> Vector {
    let vector: Vector = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let name = path.file_stem().unwrap().to_string_lossy().into_owned();
    Vector { name, ..vector }
}

fn parse(text: &str) -> Result<ExportedInbox, ImportError> {
    ExportedInbox::parse(text.as_bytes())
}

/// The export in the vector of this name.
fn export(name: &str) -> ExportedInbox {
    let vector = vectors().into_iter().find(|vector| vector.name == name).unwrap();
    parse(&vector.text).unwrap()
}

/// A plain export of this address and hash.
fn named(address: &str, hash: &str) -> ExportedInbox {
    let mut document: Value = serde_json::from_str(&export("ok-ours-plain").to_json()).unwrap();
    document["emailAddress"] = address.into();
    document["inboxHash"] = hash.into();
    parse(&document.to_string()).unwrap()
}

/// A client of a server that does not exist: an import asks it nothing.
fn client() -> Client {
    Client::new("http://127.0.0.1:1", "no-such-key").unwrap()
}

#[test]
fn each_vector_is_read_or_breaks_its_rule() {
    for vector in vectors() {
        let name = &vector.name;
        match parse(&vector.text) {
            Ok(export) => {
                assert_eq!(vector.expect, "ok", "{name} was read");
                assert_eq!(Some(Reads::of(&export)), vector.reads, "{name}");
            }
            Err(error) => {
                assert_eq!(error.rule(), vector.expect, "{name}: {error}");
                assert_eq!(Some(error.to_string()), vector.says, "{name}");
            }
        }
    }
}

#[test]
fn each_rule_has_a_vector() {
    let broken: BTreeSet<_> = vectors().into_iter().map(|vector| vector.expect).collect();
    let rules = ImportError::RULES.iter().copied().chain(["ok"]);
    assert_eq!(broken, rules.map(str::to_owned).collect());
}

/// Of two broken rules the earlier one is named: each rule has vectors with the next rule and with the last.
#[test]
fn each_rule_has_a_vector_of_the_order() {
    let place = |rule: &str| ImportError::RULES.iter().position(|known| *known == rule).unwrap();
    let mut pairs = 0;
    for vector in vectors() {
        let Some((earlier, later)) = vector
            .name
            .strip_prefix("order-")
            .and_then(|rest| rest.split_once("-before-"))
        else {
            continue;
        };
        pairs += 1;
        assert_eq!(vector.expect, earlier);
        assert!(place(earlier) < place(later), "{}", vector.name);
    }
    assert!(pairs >= ImportError::RULES.len(), "found {pairs}");
}

#[test]
fn what_we_write_is_what_the_interface_says_byte_for_byte() {
    let ours: Vec<_> = vectors()
        .into_iter()
        .filter(|vector| vector.name.starts_with("ok-ours-"))
        .collect();
    assert_eq!(ours.len(), 2);
    for vector in ours {
        assert_eq!(*parse(&vector.text).unwrap().to_json(), vector.text, "{}", vector.name);
    }
}

#[test]
fn what_was_read_is_written_so_that_it_reads_the_same() {
    for vector in vectors().iter().filter(|vector| vector.expect == "ok") {
        let first = parse(&vector.text).unwrap();
        let second = parse(&first.to_json()).unwrap();
        assert_eq!(Reads::of(&first), Reads::of(&second), "{}", vector.name);
        assert_eq!(first.to_json(), second.to_json(), "{}", vector.name);
    }
}

/// No text of an error and no `Debug` has as much as 23 characters of a key.
#[test]
fn no_key_is_shown() {
    for vector in vectors() {
        let shown = match parse(&vector.text) {
            Ok(export) => format!("{export:?}"),
            Err(error) => format!("{error:?} {error}"),
        };
        let document: Value = serde_json::from_str(&vector.text).unwrap_or_default();
        let secret = document["secretKey"].as_str().unwrap_or_default().as_bytes();
        let parts = secret.chunks_exact(12).map(|part| std::str::from_utf8(part).unwrap());
        for part in parts {
            assert!(!shown.contains(part), "{}: {shown}", vector.name);
        }
    }
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    let cases: [(&[u8], &str); 3] = [
        (
            b"{\"version\": 1, \"x\": \"\xff\"}",
            "the export is not a JSON object: byte 22 is not UTF-8",
        ),
        (
            b"\xff\xfe{\0}\0",
            "the export is not a JSON object: it begins with a byte order mark; save it as UTF-8 without one",
        ),
        (
            b"{\0}",
            "the export is not a JSON object: key must be a string at line 1 column 2",
        ),
    ];
    for (bytes, says) in cases {
        let error = ExportedInbox::parse(bytes).unwrap_err();
        assert_eq!(error.to_string(), says);
        assert_eq!(error.rule(), "json");
    }
}

#[test]
fn a_document_that_is_cut_off_is_never_read() {
    let text = export("ok-ours-plain").to_json();
    let whole = text.trim_end().len();
    for length in 0..whole {
        assert_eq!(parse(&text[..length]).unwrap_err().rule(), "json", "{length}");
    }
    parse(&text[..whole]).unwrap();
}

/// A value that nests far deeper than any stack could follow is skipped, or named by its kind.
#[test]
fn deep_nesting_is_no_danger() {
    let deep = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
    let plain = export("ok-ours-plain").to_json();
    let ignored = plain.replace("\"version\"", &format!("\"color\": {deep}, \"version\""));
    parse(&ignored).unwrap();
    let named = plain.replace("\"alice@restante.test\"", &deep);
    assert_eq!(
        parse(&named).unwrap_err().to_string(),
        "emailAddress: expected a text with exactly one @, got an array"
    );
    assert_eq!(
        parse(&deep).unwrap_err().to_string(),
        "the export is not a JSON object: it is an array"
    );
}

#[test]
fn an_import_is_known_and_exports_itself() {
    for name in ["ok-ours-plain", "ok-ours-encrypted"] {
        let export = export(name);
        let client = client();
        let inbox = client.import_inbox(export.clone(), IfKnown::Refuse).unwrap();
        assert_eq!(inbox.address(), export.address());
        assert_eq!(inbox.hash(), export.hash());
        assert_eq!(inbox.expires_at(), export.expires_at());
        assert_eq!(inbox.is_encrypted(), export.is_encrypted());
        assert_eq!(inbox.email_auth(), None);
        assert_eq!(client.known_inboxes().len(), 1);

        let again = inbox.export();
        assert!(again.exported_at() > export.exported_at(), "it is exported now");
        let but_time = |export: &ExportedInbox| {
            let mut document: Value = serde_json::from_str(&export.to_json()).unwrap();
            document["exportedAt"].take();
            document
        };
        assert_eq!(but_time(&again), but_time(&export));
    }
}

#[test]
fn an_inbox_that_is_known_by_address_or_hash_is_refused_or_replaced() {
    let first = export("ok-ours-plain");
    let same_address = named("alice@restante.test", OTHER_HASH);
    let same_in_capitals = named("ALICE@Restante.TEST", OTHER_HASH);
    let same_hash = named("bob@restante.test", &first.hash().to_string());
    for next in [first.clone(), same_address, same_in_capitals, same_hash] {
        let client = client();
        client.import_inbox(first.clone(), IfKnown::Refuse).unwrap();
        let refused = client.import_inbox(next.clone(), IfKnown::Refuse);
        assert!(
            matches!(&refused, Err(Error::InboxAlreadyExists { address }) if address == "alice@restante.test"),
            "{refused:?}"
        );
        assert_eq!(client.known_inboxes()[0].hash(), first.hash());

        client.import_inbox(next.clone(), IfKnown::Replace).unwrap();
        let known = client.known_inboxes();
        assert_eq!(known.len(), 1);
        assert_eq!((known[0].address(), known[0].hash()), (next.address(), next.hash()));
    }
}

#[test]
fn inboxes_of_other_names_are_known_side_by_side() {
    let client = client();
    client.import_inbox(export("ok-ours-plain"), IfKnown::Refuse).unwrap();
    client
        .import_inbox(named("bob@restante.test", OTHER_HASH), IfKnown::Refuse)
        .unwrap();
    assert_eq!(client.known_inboxes().len(), 2);
}

#[test]
fn a_closed_client_imports_nothing() {
    let client = client();
    client.close();
    let refused = client.import_inbox(export("ok-ours-plain"), IfKnown::Refuse);
    assert!(matches!(refused, Err(Error::Closed)), "{refused:?}");
}

#[test]
fn a_file_is_named_after_the_address_and_reads_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let export = export("ok-ours-encrypted");
    let path = export.write_into(folder.path()).unwrap();
    assert_eq!(path, folder.path().join("alice_at_restante.test.json"));
    assert_eq!(fs::read_to_string(&path).unwrap(), *export.to_json());
    assert_eq!(ExportedInbox::read_file(&path).unwrap().to_json(), export.to_json());
    assert_eq!(names_in(folder.path()), ["alice_at_restante.test.json"]);
}

#[cfg(unix)]
#[test]
fn a_file_is_for_its_owner_alone_even_in_place_of_one_for_all() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("inbox.json");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    export("ok-ours-encrypted").replace_file(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_file_that_is_there_is_kept_unless_it_shall_be_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let export = export("ok-ours-encrypted");
    let path = folder.path().join(export.file_name());
    fs::write(&path, "old").unwrap();
    let error = export.write_into(folder.path()).unwrap_err();
    let says = format!("{}: the file is there already; it was left as it is", path.display());
    assert_eq!(error.to_string(), says);
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");

    assert_eq!(export.replace_in(folder.path()).unwrap(), path);
    assert_eq!(fs::read_to_string(&path).unwrap(), *export.to_json());
    assert_eq!(names_in(folder.path()), ["alice_at_restante.test.json"]);
}

#[test]
fn a_folder_that_is_missing_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    let error = export("ok-ours-plain").write_into(&missing).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("{}: there is no such folder", missing.display())
    );
    assert_eq!(names_in(folder.path()), [""; 0]);
}

#[test]
fn a_file_that_cannot_be_an_export_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.json");
    let error = ExportedInbox::read_file(&missing).unwrap_err().to_string();
    assert!(error.starts_with(&format!("{}: ", missing.display())), "{error}");

    let large = folder.path().join("large.json");
    fs::write(&large, " ".repeat(64 * 1024 + 1)).unwrap();
    let error = ExportedInbox::read_file(&large).unwrap_err().to_string();
    assert_eq!(
        error,
        format!("{}: it has more than 65536 bytes, which no export has", large.display())
    );

    let short = folder.path().join("short.json");
    let text = export("ok-ours-plain").to_json();
    fs::write(&short, text.replace("1,", "2,")).unwrap();
    let error = ExportedInbox::read_file(&short).unwrap_err();
    assert!(
        matches!(error, Error::InvalidImportData(ImportError::Version { .. })),
        "{error}"
    );
}

/// Whatever an export is read from, no more than its limit is read, and a part of it is never taken for the whole.
#[test]
fn any_source_is_read_to_its_end_or_the_limit() {
    let text = export("ok-ours-encrypted").to_json();
    let padded = |length: usize| text.to_string() + &" ".repeat(length - text.len());
    let read = ExportedInbox::read(padded(64 * 1024).as_bytes()).unwrap();
    assert_eq!(read.to_json(), text);

    let too_large = "the export: it has more than 65536 bytes, which no export has";
    let error = ExportedInbox::read(padded(64 * 1024 + 1).as_bytes()).unwrap_err();
    assert_eq!(error.to_string(), too_large);
    let error = ExportedInbox::read(std::io::repeat(b' ')).unwrap_err();
    assert_eq!(error.to_string(), too_large);

    let error = ExportedInbox::read(Broken).unwrap_err();
    assert_eq!(error.to_string(), "the export: the cable is cut");
}

/// A source that cannot be read.
struct Broken;

impl std::io::Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        Err(std::io::Error::other("the cable is cut"))
    }
}

/// Whatever the address is, the name is one of a file in the folder, and another inbox has another name.
#[test]
fn the_name_of_a_file_is_safe() {
    let cases = [
        ("alice@restante.test", "alice_at_restante.test.json"),
        ("alice+tag@restante.test", "alice+tag_at_restante.test.json"),
        ("jürgen@müller.test", "jürgen_at_müller.test.json"),
        ("../../etc/passwd@x", "_._.._etc_passwd_at_x-HASH.json"),
        (".hidden@x", "_hidden_at_x-HASH.json"),
        ("-rf@x", "_rf_at_x-HASH.json"),
        ("a/b\\c:d*[2J\u{202e}@x", "a_b_c_d__2J__at_x-HASH.json"),
        ("a b\u{2028}@x", "a_b__at_x-HASH.json"),
        ("@", "_at_.json"),
    ];
    for (address, expected) in cases {
        let name = named(address, OTHER_HASH).file_name();
        assert_eq!(name, expected.replace("HASH", &OTHER_HASH[..8]), "{address:?}");
    }
    let long = named(&format!("{}@x", "ü".repeat(500)), OTHER_HASH);
    assert!(long.file_name().len() <= 255, "{}", long.file_name());
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(long.write_into(folder.path()).unwrap().parent(), Some(folder.path()));
}

fn names_in(folder: &Path) -> Vec<String> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let name = |path: PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    paths.map(name).collect()
}
