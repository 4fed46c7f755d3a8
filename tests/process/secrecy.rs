//! What must be nowhere: the API key in any output, the text of sealed mail in any file.

use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use restante_envelope::{DecapsulationKey, base64url};

use crate::daemon::{Daemon, command, run};
use crate::http;
use crate::peer::Peer;

const PLAIN: &str = "plain@restante.test";
const SEALED: &str = "sealed@restante.test";

/// Every file below a directory with its bytes.
pub(crate) fn files(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push((path.display().to_string(), fs::read(&path).unwrap()));
        }
    }
    found
}

/// The files that hold the marker as it is or in base64, wherever it begins.
pub(crate) fn holding(files: &[(String, Vec<u8>)], marker: &str) -> Vec<String> {
    let mut forms = vec![marker.as_bytes().to_vec()];
    for shift in 0..3 {
        let text = STANDARD.encode([&b"???"[..shift], marker.as_bytes()].concat());
        // The characters at the ends depend on what stands beside the marker.
        forms.push(text.as_bytes()[4..text.len() - 4].to_vec());
    }
    let holds = |bytes: &[u8]| {
        forms
            .iter()
            .any(|form| bytes.windows(form.len()).any(|window| window == form))
    };
    files
        .iter()
        .filter(|(_, bytes)| holds(bytes))
        .map(|(name, _)| name.clone())
        .collect()
}

fn message(marker: &str) -> Vec<u8> {
    format!(
        "From: {marker} <a@sender.test>\r\nSubject: {marker}\r\n\r\n{marker}\r\n{}\r\n",
        STANDARD.encode(marker)
    )
    .into_bytes()
}

/// Uses everything that could write a key or a text down.
fn use_all(server: &Daemon, open_marker: &str, sealed_marker: &str) {
    let client = DecapsulationKey::generate();
    server.create(PLAIN, None);
    server.create(SEALED, Some(&base64url::encode(client.encapsulation_key().as_bytes())));
    let mut peer = Peer::greeted(server.smtp);
    peer.deliver(&[PLAIN], &message(open_marker));
    peer.deliver(&[SEALED], &message(sealed_marker));
    for address in [PLAIN, SEALED] {
        let id = server.emails(address)[0]["id"].as_str().unwrap().to_owned();
        let email = format!("/api/inboxes/{address}/emails/{id}");
        server.get(&email);
        server.get(&format!("{email}/raw"));
    }
    let base = format!("http://{}", server.http);
    let lengthened = format!("{}x", server.key);
    for (path, headers) in [
        ("/api/check-key", vec![("X-API-Key", lengthened.as_str())]),
        ("/api/nothing", vec![("X-API-Key", server.key.as_str())]),
        ("/api/check-key", vec![("Authorization", server.key.as_str())]),
    ] {
        let refused = http::send("GET", &format!("{base}{path}"), &headers, b"");
        assert!(refused.status >= 400, "{path}");
        assert!(!refused.body.contains(&server.key), "{}", refused.body);
    }
    let _ = http::send(
        "POST",
        &format!("{base}/api/inboxes"),
        &[("X-API-Key", &server.key)],
        b"{ not JSON",
    );
}

#[test]
fn the_key_is_in_no_output_and_sealed_text_in_no_file() {
    for format in ["text", "json"] {
        let home = tempfile::tempdir().unwrap();
        let (open, sealed) = ("openmarker-7d1f0c3b5a", "sealedmarker-2e9b6f8d4c");
        let server = Daemon::start(home.path(), &[("LOG_LEVEL", "trace"), ("LOG_FORMAT", format)]);
        use_all(&server, open, sealed);
        let key = server.key.clone();
        let running = files(home.path());
        assert_ne!(holding(&running, open), [""; 0], "the search finds what is there");
        assert_eq!(holding(&running, sealed), [""; 0]);

        let ended = server.stop();
        let output = [ended.said, ended.logged].concat();
        assert!(
            output.contains("TRACE") || output.contains("DEBUG"),
            "the log is talkative: {output}"
        );
        assert!(!output.contains(&key), "{output}");
        for marker in [open, sealed] {
            assert!(!output.contains(marker), "{output}");
        }
        let kept = files(home.path());
        assert_eq!(holding(&kept, sealed), [""; 0]);
        let key_files = holding(&kept, &key);
        assert!(
            key_files.len() == 1 && key_files[0].ends_with("data/.api-key"),
            "{key_files:?}"
        );
    }
}

#[test]
fn a_key_that_was_set_is_shown_nowhere_and_kept_nowhere() {
    let key = "set-by-hand-0123456789-abcdefghijklmnop";
    let variables = [
        ("LOCAL_API_KEY", key),
        ("LOCAL_API_KEY_STRICT", "true"),
        ("LOG_LEVEL", "trace"),
    ];
    let home = tempfile::tempdir().unwrap();
    let mut check = command(home.path(), &variables);
    check.arg("--check-config");
    let checked = run(check);
    assert!(
        checked.status.success() && checked.said.contains("SVC_LOCAL_API_KEY="),
        "{checked:?}"
    );
    assert!(!format!("{checked:?}").contains(key), "{checked:?}");

    let server = Daemon::start(home.path(), &variables);
    use_all(&server, "openmarker-5b1", "sealedmarker-9c2");
    let ended = server.stop();
    assert!(!format!("{ended:?}").contains(key), "{ended:?}");
    assert!(ended.said.contains("the one of SVC_LOCAL_API_KEY"), "{}", ended.said);
    assert_eq!(holding(&files(home.path()), key), [""; 0]);
}
