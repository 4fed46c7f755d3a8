//! The commands of `server store`: what an operator does between two runs of the server.

mod damage;
mod places;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use restante_envelope::{DecapsulationKey, SealedPayload, VerifyingKey, WireProfile, base64url};
use serde_json::{Value, json};

use crate::daemon::{Daemon, Ended, command, run};
use crate::peer::Peer;

const PLAIN: &str = "plain@restante.test";
const SEALED: &str = "sealed@restante.test";

/// Runs `server store` with these words, which must end with this code.
fn store(home: &Path, words: &[&str], code: i32) -> Ended {
    let mut command = command(home, &[]);
    command.arg("store").args(words);
    let ended = run(command);
    assert_eq!(ended.status.code(), Some(code), "{words:?}: {ended:?}");
    ended
}

/// The one line that a command says when it cannot do its work.
fn refusal(home: &Path, words: &[&str], code: i32) -> String {
    let ended = store(home, words, code);
    assert_eq!(ended.said, "");
    assert_eq!(ended.logged.lines().count(), 1, "{}", ended.logged);
    ended.logged.trim_end().to_owned()
}

/// A stopped server with mail in a plain and an encrypted inbox, some read and some signed.
fn filled(home: &Path) -> (DecapsulationKey, Value) {
    let server = Daemon::start(home, &[]);
    let client = DecapsulationKey::generate();
    server.create(PLAIN, None);
    server.create(SEALED, Some(&base64url::encode(client.encapsulation_key().as_bytes())));
    let mut peer = Peer::greeted(server.smtp);
    for n in 0..4 {
        let message = format!("Subject: number {n}\r\n\r\n{}\r\n", "text ".repeat(n * 300));
        peer.deliver(&[PLAIN, SEALED], message.as_bytes());
    }
    for address in [PLAIN, SEALED] {
        let id = server.emails(address)[1]["id"].as_str().unwrap().to_owned();
        let path = format!("/api/inboxes/{address}/emails/{id}/read");
        let _ = server.request("PATCH", &path, None).expect_status(204);
    }
    drop(peer);
    let before = seen(&server);
    server.stop();
    (client, before)
}

/// Everything that clients can see of both inboxes; reading signs what was sealed.
fn seen(server: &Daemon) -> Value {
    let inboxes = [PLAIN, SEALED].map(|address| {
        let inbox = format!("/api/inboxes/{address}");
        let raws: Vec<_> = server
            .emails(address)
            .iter()
            .map(|email| raw(server, address, email))
            .collect();
        json!([
            server.get(&inbox),
            server.get(&format!("{inbox}/sync")),
            server.get(&format!("{inbox}/emails?includeContent=true")),
            raws,
        ])
    });
    json!(inboxes)
}

fn raw(server: &Daemon, address: &str, email: &Value) -> Value {
    let id = email["id"].as_str().unwrap();
    server.get(&format!("/api/inboxes/{address}/emails/{id}/raw"))
}

fn copy_keys(from: &Path, to: &Path) {
    fs::create_dir(to.join("data")).unwrap();
    for key in ["signing-key", "event-key", "seal-mac-key"] {
        fs::copy(from.join("data").join(key), to.join("data").join(key)).unwrap();
    }
}

#[test]
fn an_export_moves_all_mail_to_another_directory() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (client, before) = filled(from.path());
    let file = from.path().join("export");
    let name = file.to_str().unwrap();
    let told = store(from.path(), &["export", name], 0);
    assert!(told.logged.contains("exported 2 inboxes and 8 emails, "), "{told:?}");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let piped = store(from.path(), &["export", "-"], 0);
    assert!(piped.said.starts_with("rstEXPRT"));

    copy_keys(from.path(), to.path());
    // No command needs an API key, and none makes one.
    let mut strict = command(to.path(), &[("LOCAL_API_KEY_STRICT", "true")]);
    strict.args(["store", "import", name]);
    let told = run(strict);
    assert_eq!(told.status.code(), Some(0), "{told:?}");
    assert!(!to.path().join("data/.api-key").exists());
    assert!(told.said.starts_with("imported 2 inboxes and 8 emails, "), "{told:?}");
    assert!(
        store(to.path(), &["verify"], 0)
            .said
            .starts_with("nothing is wrong: 2 inboxes, 8 emails, ")
    );
    let refused = refusal(to.path(), &["import", name], 4);
    assert!(
        refused.starts_with("nothing was imported: the store in ./data/store is not empty"),
        "{refused}"
    );

    let server = Daemon::start(to.path(), &[]);
    assert_eq!(seen(&server), before);
    let info = server.get("/api/server-info");
    let pinned = VerifyingKey::from_base64url(info["serverSigPk"].as_str().unwrap()).unwrap();
    for email in server.emails(SEALED) {
        let payload = raw(&server, SEALED, &email)["encryptedRaw"].to_string();
        let payload = SealedPayload::from_json(payload.as_bytes()).unwrap();
        assert!(
            payload
                .verify(&pinned, WireProfile::Service)
                .unwrap()
                .open(&client)
                .is_ok()
        );
    }
    assert_eq!(Peer::greeted(server.smtp).deliver(&[PLAIN], b"after\r\n").len(), 1);
    assert_eq!(server.emails(PLAIN).len(), 5);
}

#[test]
fn an_import_that_cannot_be_says_what_to_do_and_changes_nothing() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    filled(from.path());
    let file = from.path().join("export");
    let name = file.to_str().unwrap();
    store(from.path(), &["export", name], 0);

    let line = refusal(to.path(), &["import", name], 4);
    assert!(
        line.contains("./data/signing-key are missing; copy signing-key, event-key and seal-mac-key"),
        "{line}"
    );
    assert!(!to.path().join("data").exists(), "no directory is made");
    Daemon::start(to.path(), &[]).stop();
    let line = refusal(to.path(), &["import", name], 4);
    assert!(
        line.starts_with("nothing was imported: the export depends on signing key "),
        "{line}"
    );

    let other = tempfile::tempdir().unwrap();
    copy_keys(from.path(), other.path());
    let line = refusal(other.path(), &["--wire-profile", "vaultsandbox", "import", name], 4);
    assert!(line.contains("set SVC_WIRE_PROFILE=service first"), "{line}");
    let whole = fs::read(&file).unwrap();
    let cut = from.path().join("cut");
    fs::write(&cut, &whole[..whole.len() - 1]).unwrap();
    let line = store(other.path(), &["import", cut.to_str().unwrap()], 4).logged;
    assert!(
        line.contains("nothing was imported: the export is cut short at byte "),
        "{line}"
    );
    let names = fs::read_dir(other.path().join("data")).unwrap();
    assert!(
        names
            .map(|name| name.unwrap().file_name())
            .all(|name| name != "store" && name != "store.import")
    );
}

#[test]
fn verify_names_what_is_damaged_and_rebuild_makes_the_index_anew() {
    let home = tempfile::tempdir().unwrap();
    let (_, before) = filled(home.path());
    let whole = store(home.path(), &["verify"], 0);
    assert!(
        whole.said.starts_with("nothing is wrong: 2 inboxes, 8 emails, "),
        "{whole:?}"
    );
    assert_eq!(whole.said.lines().count(), 1);
    let told = store(home.path(), &["rebuild"], 0);
    assert!(
        told.said.starts_with("made the index anew: 2 inboxes, 8 emails, "),
        "{told:?}"
    );
    let server = Daemon::start(home.path(), &[]);
    assert_eq!(seen(&server), before);
    let id = server.emails(PLAIN)[0]["id"].as_str().unwrap().to_owned();
    server.stop();

    let log = home.path().join("data/store/segments/00000001.log");
    let mut bytes = fs::read(&log).unwrap();
    // The first one with this subject is in the raw message of the plain inbox: its metadata is base64.
    let at = bytes
        .windows(17)
        .position(|window| window == b"Subject: number 3")
        .unwrap();
    bytes[at] ^= 1;
    fs::write(&log, &bytes).unwrap();
    let told = store(home.path(), &["verify"], 1);
    let line = told.said.lines().next().unwrap();
    assert!(line.starts_with("segment 1 offset "), "{line}");
    let end = format!("inbox {PLAIN} email {id} the raw message does not match its checksum");
    assert!(line.ends_with(&end), "{line}");
    assert!(told.said.lines().nth(1).unwrap().starts_with("1 finding: "), "{told:?}");
    assert_eq!(fs::read(&log).unwrap(), bytes, "verify repairs nothing");

    let refused = store(home.path(), &["export", "export"], 4).logged;
    assert!(
        refused.contains(&format!("the email {id} of {PLAIN} is damaged")),
        "{refused}"
    );
    assert!(!home.path().join("export").exists() && !home.path().join("export.part").exists());
    let told = store(home.path(), &["export", "--skip-damaged", "export"], 0);
    assert!(told.logged.contains("exported 2 inboxes and 7 emails"), "{told:?}");
    assert!(told.logged.contains("left out 1 damaged email;"), "{told:?}");

    let server = Daemon::start(home.path(), &[]);
    let path = format!("/api/inboxes/{PLAIN}/emails/{id}/raw");
    let answer = server.request("GET", &path, None).expect_status(500).json();
    assert!(!answer.to_string().contains("checksum"), "{answer}");
    server.wait_for_log(&id);
    for email in &server.emails(PLAIN)[1..] {
        raw(&server, PLAIN, email);
    }
}

#[test]
fn a_reset_keeps_the_keys_and_asks_before() {
    let home = tempfile::tempdir().unwrap();
    filled(home.path());
    let refused = refusal(home.path(), &["reset"], 4);
    assert_eq!(
        refused,
        "nothing was removed: say --yes where there is no terminal to ask on"
    );
    let key = fs::read(home.path().join("data/.api-key")).unwrap();
    let told = store(home.path(), &["reset", "--yes"], 0);
    let expected = "removed all inboxes and mail of ./data/store\n\
                    kept in ./data: .api-key, signing-key, event-key, seal-mac-key\n";
    assert_eq!(told.said, expected);
    assert_eq!(fs::read(home.path().join("data/.api-key")).unwrap(), key);
    let server = Daemon::start(home.path(), &[]);
    let gone = server.request("GET", &format!("/api/inboxes/{PLAIN}"), None);
    let _ = gone.expect_status(404);
}

#[test]
fn a_result_that_cannot_be_written_is_a_failure() {
    let home = tempfile::tempdir().unwrap();
    Daemon::start(home.path(), &[]).stop();
    let mut stats = command(home.path(), &[]);
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    stats.args(["store", "stats"]).stdout(full);
    let ended = stats.output().unwrap();
    assert_eq!(ended.status.code(), Some(4));
    let line = String::from_utf8(ended.stderr).unwrap();
    assert!(line.starts_with("the result cannot be written: "), "{line}");
}

#[test]
fn stats_are_for_people_and_machines() {
    let home = tempfile::tempdir().unwrap();
    filled(home.path());
    let text = store(home.path(), &["stats"], 0).said;
    for part in ["inboxes       2\n", "emails        8\n", "wire profile  service\n"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let json: Value = serde_json::from_str(&store(home.path(), &["stats", "--json"], 0).said).unwrap();
    assert_eq!(
        (&json["inboxes"], &json["emails"], &json["segments"]),
        (&2.into(), &8.into(), &1.into())
    );
    assert!(json["oldestEmail"].as_str().unwrap() <= json["newestEmail"].as_str().unwrap());
    assert!(json["logBytes"].as_u64() >= json["liveBytes"].as_u64());
}

#[test]
fn a_store_in_use_is_left_alone() {
    let home = tempfile::tempdir().unwrap();
    let server = Daemon::start(home.path(), &[]);
    server.create(PLAIN, None);
    let commands: [&[&str]; 5] = [
        &["verify"],
        &["rebuild"],
        &["reset", "--yes"],
        &["stats"],
        &["export", "export"],
    ];
    for words in commands {
        let line = refusal(home.path(), words, 3);
        assert!(line.ends_with("store is in use by another instance"), "{line}");
    }
    assert_eq!(server.emails(PLAIN).len(), 0);
    server.stop();
}

#[test]
fn what_is_no_whole_store_is_refused_in_one_line() {
    let home = tempfile::tempdir().unwrap();
    let store_dir = home.path().join("data/store");
    let verify = || refusal(home.path(), &["verify"], 4);
    assert_eq!(verify(), "there is no store in ./data/store");
    assert!(!home.path().join("data").exists(), "a command makes no directory");

    fs::create_dir(home.path().join("data")).unwrap();
    fs::write(&store_dir, "a file").unwrap();
    assert_eq!(verify(), "./data/store is not a directory");
    fs::remove_file(&store_dir).unwrap();

    filled(home.path());
    let stamp = store_dir.join("stamp");
    let text = fs::read_to_string(&stamp).unwrap();
    let (first, rest) = text.split_once("\nformat ").unwrap();
    let (_, rest) = rest.split_once('\n').unwrap();
    fs::write(&stamp, format!("{first}\nformat 999\n{rest}")).unwrap();
    assert!(verify().starts_with("the store in ./data/store has format 999, and this version reads format "));
    fs::remove_file(&stamp).unwrap();
    assert_eq!(
        verify(),
        "the store in ./data/store is incomplete: it has no stamp; was it copied to its end?"
    );
    fs::write(&stamp, text).unwrap();
    fs::rename(store_dir.join("segments"), home.path().join("kept")).unwrap();
    let incomplete = "the store in ./data/store is incomplete: it has no segments; was it copied to its end?";
    assert_eq!(verify(), incomplete);
    let start = run(command(home.path(), &[("LOG_LEVEL", "error")]));
    assert_eq!((start.status.code(), start.logged.trim_end()), (Some(1), incomplete));
    fs::rename(home.path().join("kept"), store_dir.join("segments")).unwrap();
    store(home.path(), &["verify"], 0);

    let log = store_dir.join("segments/00000001.log");
    fs::rename(&log, home.path().join("kept")).unwrap();
    let told = store(home.path(), &["verify"], 1);
    assert!(
        told.said
            .contains("segment 1 ./data/store/segments/00000001.log is missing\n"),
        "{told:?}"
    );
    assert!(told.said.contains(&format!("inbox {PLAIN} email msg_")), "{told:?}");
    let start = run(command(home.path(), &[("LOG_LEVEL", "error")]));
    assert_eq!(start.status.code(), Some(1), "{start:?}");
    assert_eq!(start.logged.lines().count(), 1, "{start:?}");
}

/// Another user than the one who owns the store; only the superuser can become one.
#[test]
fn a_store_of_another_user_is_refused_in_one_line() {
    use std::os::unix::process::CommandExt as _;
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    Daemon::start(home.path(), &[]).stop();
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let data = home.path().join("data");
    fs::set_permissions(&data, fs::Permissions::from_mode(0o755)).unwrap();
    // The program as that user can run it, wherever this one was built.
    let program = home.path().join("server");
    fs::copy(env!("CARGO_BIN_EXE_server"), &program).unwrap();
    let mut other = Command::new(program);
    other.env_clear().current_dir(home.path()).stdin(Stdio::null());
    other
        .args(["store", "verify", "--data-path"])
        .arg(&data)
        .uid(65_534)
        .gid(65_534);
    let ended = run(other);
    assert_eq!(ended.status.code(), Some(4), "{ended:?}");
    let expected = format!(
        "the data directory {} belongs to user id 0, and this process runs as user id 65534: run it as the owner",
        data.join("store").display()
    );
    assert_eq!(ended.logged.trim_end(), expected);
}

#[test]
fn the_help_shows_the_commands() {
    let home = tempfile::tempdir().unwrap();
    let mut help = command(home.path(), &[]);
    help.arg("--help");
    assert!(
        run(help)
            .said
            .contains("store  Look after the store of a server that is not running")
    );
    let said = store(home.path(), &["--help"], 0).said;
    for name in ["verify", "rebuild", "reset", "stats", "export", "import", "--data-path"] {
        assert!(said.contains(name), "{name} in {said}");
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let home = tempfile::tempdir().unwrap();
    filled(home.path());
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut stats = command(home.path(), &[]);
    stats.args(["store", "stats"]).stdout(writer);
    let ended = stats.output().unwrap();
    assert_eq!((ended.status.code(), ended.stderr.as_slice()), (Some(0), &b""[..]));
}
