//! Starts that cannot work: one clear line each, and an exit code.

use std::fs;
use std::path::Path;

use crate::daemon::{Daemon, Ended, command, run};
use crate::tls::Pair;

/// A start that must fail, with nothing in the log but errors.
fn refused(home: &Path, variables: &[(&str, &str)]) -> Ended {
    let ended = run(command(home, &[&[("LOG_LEVEL", "error")], variables].concat()));
    assert!(!ended.status.success(), "{ended:?}");
    assert_eq!(ended.said, "");
    ended
}

/// The one line that the start says, with exit code 1.
fn line(home: &Path, variables: &[(&str, &str)]) -> String {
    let ended = refused(home, variables);
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    assert_eq!(ended.logged.lines().count(), 1, "{}", ended.logged);
    ended.logged.trim_end().to_owned()
}

#[test]
fn a_port_that_is_taken_is_named_with_its_setting() {
    let (home, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let first = Daemon::start(home.path(), &[]);
    for (service, variable, address) in [("SMTP", "SMTP_PORT", first.smtp), ("HTTP", "SERVER_PORT", first.http)] {
        let line = line(other.path(), &[(variable, &address.port().to_string())]);
        let start = format!("cannot listen for {service} on {address}: Address already in use");
        assert!(line.starts_with(&start), "{line}");
        assert!(
            line.ends_with(&format!("; SVC_{variable} names another port")),
            "{line}"
        );
    }
}

#[test]
fn a_data_directory_in_use_is_named() {
    let home = tempfile::tempdir().unwrap();
    let first = Daemon::start(home.path(), &[]);
    let line = line(home.path(), &[]);
    assert!(
        line.contains("data") && line.ends_with("is in use by another instance"),
        "{line}"
    );
    assert_eq!(first.get("/api/check-key")["ok"], true, "the first is not disturbed");
    first.stop();
    Daemon::start(home.path(), &[]).stop();
}

#[test]
fn a_data_directory_that_cannot_be_is_named_with_its_setting() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("file");
    fs::write(&file, "").unwrap();
    for path in [file.clone(), file.join("data")] {
        let line = line(home.path(), &[("DATA_PATH", path.to_str().unwrap())]);
        assert!(
            line.starts_with(&format!("data directory {}: ", path.display())),
            "{line}"
        );
        assert!(line.ends_with("; SVC_DATA_PATH names another"), "{line}");
    }
}

#[test]
fn a_store_of_another_version_is_left_alone() {
    let home = tempfile::tempdir().unwrap();
    Daemon::start(home.path(), &[]).stop();
    let stamp = home.path().join("data/store/stamp");
    let text = fs::read_to_string(&stamp).unwrap();
    let ours = text.lines().find_map(|line| line.strip_prefix("format "));
    let ours = ours.expect("the stamp names its format");
    let newer = text.replace(&format!("format {ours}\n"), "format 999\n");
    fs::write(&stamp, &newer).unwrap();
    let line = line(home.path(), &[]);
    assert!(
        line.contains(&format!("has format 999, and this version reads format {ours}")),
        "{line}"
    );
    assert_eq!(fs::read_to_string(&stamp).unwrap(), newer);
}

#[test]
fn mail_of_one_wire_profile_is_not_opened_under_another() {
    let home = tempfile::tempdir().unwrap();
    Daemon::start(home.path(), &[]).stop();
    let other = [("WIRE_PROFILE", "vaultsandbox")];
    let server = Daemon::start(home.path(), &other);
    server.create("bob@restante.test", None);
    server.stop();

    let line = line(home.path(), &[]);
    for part in ["wire profile vaultsandbox", "service", "another data directory"] {
        assert!(line.contains(part), "{part} in {line}");
    }
    let server = Daemon::start(home.path(), &other);
    assert_eq!(server.emails("bob@restante.test").len(), 0);
}

#[test]
fn a_changed_signing_key_does_not_open_mail_of_the_old_one() {
    let home = tempfile::tempdir().unwrap();
    let server = Daemon::start(home.path(), &[]);
    server.create("bob@restante.test", None);
    server.stop();
    let key = home.path().join("data/signing-key");
    fs::rename(&key, home.path().join("kept")).unwrap();
    let line = line(home.path(), &[]);
    assert!(line.contains("was filled with signing key "), "{line}");
    fs::rename(home.path().join("kept"), &key).unwrap();
    Daemon::start(home.path(), &[]).stop();
}

#[test]
fn all_wrong_settings_are_named_at_once() {
    let home = tempfile::tempdir().unwrap();
    let variables = [
        ("SMTP_PROT", "25"),
        ("SMTP_PORT", "no port"),
        ("SMTP_MAX_RECIPIENTS", "0"),
        ("ENCRYPTION_ENABLED", "maybe"),
        ("LOCAL_API_KEY", "too-short-and-secret"),
    ];
    let ended = refused(home.path(), &variables);
    assert_eq!(ended.status.code(), Some(2), "{ended:?}");
    let lines: Vec<_> = ended.logged.lines().collect();
    assert_eq!(lines.len(), variables.len(), "{}", ended.logged);
    for (name, _) in variables {
        assert!(
            lines.iter().any(|line| line.starts_with(&format!("SVC_{name}: "))),
            "{name} in {lines:?}"
        );
    }
    assert!(
        ended
            .logged
            .contains("SVC_SMTP_PROT: no such setting; the nearest is SVC_SMTP_PORT"),
        "{lines:?}"
    );
    assert!(!ended.logged.contains("too-short-and-secret"), "{lines:?}");
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0, "nothing was made");
}

#[test]
fn a_wrong_command_line_is_a_mistake_of_the_same_kind() {
    let home = tempfile::tempdir().unwrap();
    let mut command = command(home.path(), &[]);
    command.arg("--smtp-prot=25");
    let ended = run(command);
    assert_eq!(ended.status.code(), Some(2), "{ended:?}");
    assert!(ended.logged.contains("--smtp-prot"), "{ended:?}");
}

#[test]
fn production_must_be_told_its_domains_and_strict_mode_its_key() {
    let home = tempfile::tempdir().unwrap();
    let variables = [("PROFILE", "production"), ("LOCAL_API_KEY_STRICT", "true")];
    let ended = refused(home.path(), &variables);
    assert_eq!(ended.status.code(), Some(2), "{ended:?}");
    for start in [
        "SVC_SMTP_ALLOWED_RECIPIENT_DOMAINS: required",
        "SVC_LOCAL_API_KEY: required",
    ] {
        assert!(
            ended.logged.lines().any(|line| line.starts_with(start)),
            "{start} in\n{}",
            ended.logged
        );
    }
    assert_eq!(ended.logged.lines().count(), 2, "{}", ended.logged);
}

#[test]
fn a_certificate_that_cannot_be_used_is_named_with_the_reason() {
    let home = tempfile::tempdir().unwrap();
    let (pair, other) = (Pair::new(&["localhost"]), Pair::new(&["localhost"]));
    let encrypted = pair.key.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
    let [chain, key] = ["chain.pem", "key.pem"].map(|name| home.path().join(name));
    for (chain_text, key_text, expected) in [
        ("", pair.key.as_str(), "{chain}: no certificate in PEM form is in it"),
        (
            &pair.chain[..100],
            &pair.key,
            "{chain}: broken PEM: a section has no END line",
        ),
        (&pair.chain, "", "{key}: no private key in PEM form is in it"),
        (
            &pair.chain,
            &encrypted,
            "{key}: the private key is encrypted; a server needs it without a passphrase",
        ),
        (
            &pair.chain,
            &other.key,
            "{key}: is not the key of the first certificate in {chain}",
        ),
    ] {
        fs::write(&chain, chain_text).unwrap();
        fs::write(&key, key_text).unwrap();
        let expected = expected.replace("{chain}", chain.to_str().unwrap());
        let expected = expected.replace("{key}", key.to_str().unwrap());
        let said = line(home.path(), &files(&chain, &key));
        assert_eq!(
            said,
            format!("{expected}; SVC_TLS_CERT_PATH and SVC_TLS_KEY_PATH name the files")
        );
    }
    let missing = home.path().join("missing.pem");
    for (chain, key) in [(&missing, &key), (&chain, &missing)] {
        let said = line(home.path(), &files(chain, key));
        let start = format!("{}: cannot be read: No such file or directory", missing.display());
        assert!(said.starts_with(&start), "{said}");
    }
}

fn files<'a>(chain: &'a Path, key: &'a Path) -> [(&'static str, &'a str); 2] {
    [
        ("TLS_CERT_PATH", chain.to_str().unwrap()),
        ("TLS_KEY_PATH", key.to_str().unwrap()),
    ]
}

#[test]
fn a_local_authority_that_was_damaged_is_named_and_left_alone() {
    let home = tempfile::tempdir().unwrap();
    let own = [("TLS_SELF_SIGNED", "true")];
    Daemon::start(home.path(), &own).stop();
    let key = home.path().join("data/tls/authority-key.pem");
    fs::write(&key, "damaged").unwrap();
    let said = line(home.path(), &own);
    let start = "local certificate authority: ./data/tls/authority-key.pem: no private key in PEM form is in it";
    assert!(said.starts_with(start), "{said}");
    assert_eq!(fs::read(&key).unwrap(), b"damaged");
}

#[test]
fn tls_without_a_certificate_names_the_two_ways_to_one() {
    let home = tempfile::tempdir().unwrap();
    let variables = [("SMTP_TLS_PORT", "0"), ("SERVER_HTTPS_ENABLED", "true")];
    let ended = refused(home.path(), &variables);
    assert_eq!(ended.status.code(), Some(2), "{ended:?}");
    let lines: Vec<_> = ended.logged.lines().collect();
    for (line, (name, _)) in lines.iter().zip(variables) {
        assert!(
            line.starts_with(&format!("SVC_{name}: needs a certificate: ")),
            "{line}"
        );
        for way in ["SVC_TLS_CERT_PATH", "SVC_TLS_KEY_PATH", "SVC_TLS_SELF_SIGNED=true"] {
            assert!(line.contains(way), "{line}");
        }
    }
    assert_eq!(lines.len(), variables.len(), "{lines:?}");
}

#[test]
fn a_key_file_that_was_cut_is_named() {
    let home = tempfile::tempdir().unwrap();
    Daemon::start(home.path(), &[]).stop();
    for (name, said) in [
        (".api-key", "the API key is"),
        ("signing-key", "signing-key"),
        ("event-key", "32 bytes"),
    ] {
        let path = home.path().join("data").join(name);
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..7]).unwrap();
        let line = line(home.path(), &[]);
        assert!(
            line.contains(path.file_name().unwrap().to_str().unwrap()) && line.contains(said),
            "{line}"
        );
        fs::write(&path, &whole).unwrap();
    }
    Daemon::start(home.path(), &[]).stop();
}
