//! A server of this machine, found and not found.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, id};

use super::*;

/// A user's home, with a discovery file if there is a content for it.
struct Home {
    root: tempfile::TempDir,
}

impl Home {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("restante")).unwrap();
        Self { root }
    }

    fn file(&self) -> PathBuf {
        self.root.path().join("restante/server.json")
    }

    fn announce(&self, pid: u32, api_key_file: Option<&Path>) {
        self.announce_at("http://127.0.0.1:8080", pid, api_key_file);
    }

    fn announce_at(&self, url: &str, pid: u32, api_key_file: Option<&Path>) {
        let discovery = Discovery {
            url: url.into(),
            smtp: Some("127.0.0.1:2525".into()),
            smtp_tls: None,
            api_key_file: api_key_file.map(Into::into),
            pid,
        };
        fs::write(self.file(), serde_json::to_vec(&discovery).unwrap()).unwrap();
        self.permit(0o600);
    }

    fn permit(&self, mode: u32) {
        fs::set_permissions(self.file(), Permissions::from_mode(mode)).unwrap();
    }

    fn find(&self) -> Result<LocalServer, Error> {
        LocalServer::find_with(|name| (name == "XDG_RUNTIME_DIR").then(|| self.root.path().into()))
    }
}

#[test]
fn a_running_server_is_found_with_its_key() {
    let home = Home::new();
    let key = home.root.path().join(".api-key");
    fs::write(&key, " the-key-of-this-server\n").unwrap();
    home.announce(id(), Some(&key));
    let server = home.find().unwrap();
    assert_eq!(
        (server.url(), server.smtp(), server.smtp_tls(), server.api_key_file()),
        ("http://127.0.0.1:8080", Some("127.0.0.1:2525"), None, Some(&*key))
    );
    assert_eq!(server.api_key().unwrap().as_str(), "the-key-of-this-server");
    let client = server.builder().unwrap().build().unwrap();
    assert_eq!(client.url(), server.url());
}

#[test]
fn without_a_server_the_error_says_what_to_do() {
    let mut ended = Command::new("true").spawn().unwrap();
    ended.wait().unwrap();
    let (absent, stale) = (Home::new(), Home::new());
    stale.announce(ended.id(), None);
    for (found, why) in [
        (absent.find(), format!("(there is no {})", absent.file().display())),
        (stale.find(), format!("process {}, is gone)", ended.id())),
        (LocalServer::find_with(|_| None), "HOME are unset".to_owned()),
    ] {
        let error = found.unwrap_err();
        assert!(matches!(error, Error::NoLocalServer(_)), "{error:?}");
        let text = error.to_string();
        for part in [why.as_str(), "start one with", "the URL and the API key"] {
            assert!(text.contains(part), "{part:?} in {text:?}");
        }
    }
}

#[test]
fn a_process_id_that_is_none_is_that_of_no_server() {
    for pid in [0, u32::MAX, 1 << 31] {
        let home = Home::new();
        home.announce(pid, None);
        assert!(matches!(home.find(), Err(Error::NoLocalServer(_))), "{pid}");
    }
}

#[test]
fn a_file_that_cannot_be_used_is_named() {
    let (junk, folder) = (Home::new(), Home::new());
    fs::write(junk.file(), "{}").unwrap();
    junk.permit(0o600);
    fs::create_dir(folder.file()).unwrap();
    for home in [junk, folder] {
        let error = home.find().unwrap_err();
        let shown = home.file().display().to_string();
        assert!(
            matches!(&error, Error::File { path, reason } if *path == shown && !reason.is_empty()),
            "{error:?}"
        );
    }
}

#[test]
fn a_key_that_was_set_must_be_given() {
    let home = Home::new();
    home.announce(id(), None);
    let error = home.find().unwrap().api_key().unwrap_err();
    assert!(matches!(error, Error::Configuration(_)), "{error:?}");
    let text = error.to_string();
    for part in ["http://127.0.0.1:8080", "by a setting", "give the URL and the same key"] {
        assert!(text.contains(part), "{part:?} in {text:?}");
    }
}

#[test]
fn a_key_file_that_cannot_be_read_is_named() {
    let home = Home::new();
    let key = home.root.path().join("data/.api-key");
    home.announce(id(), Some(&key));
    let error = home.find().unwrap().api_key().unwrap_err();
    assert!(
        error.to_string().starts_with(&format!("{}: ", key.display())),
        "{error}"
    );
    fs::create_dir_all(key.parent().unwrap()).unwrap();
    fs::write(&key, b"\xff\xfe").unwrap();
    let error = home.find().unwrap().api_key().unwrap_err().to_string();
    assert_eq!(error, format!("{}: the API key in it is no text", key.display()));
}

#[test]
fn a_file_that_others_may_write_is_not_believed() {
    for (mode, is_believed) in [
        (0o600, true),
        (0o644, true),
        (0o620, false),
        (0o602, false),
        (0o666, false),
    ] {
        let home = Home::new();
        home.announce(id(), None);
        home.permit(mode);
        match home.find() {
            Ok(_) => assert!(is_believed, "{mode:o}"),
            Err(error) => {
                let says = format!(
                    "{}: others than its owner may write it (mode {mode:o}), so nothing in it is believed",
                    home.file().display()
                );
                assert_eq!((error.to_string(), is_believed), (says, false), "{mode:o}");
            }
        }
    }
}

/// An address of a network for documentation is none of any machine (RFC 5737, RFC 3849).
#[test]
fn a_url_of_another_machine_is_not_believed() {
    for (url, is_believed) in [
        ("http://127.0.0.1:1", true),
        ("http://[::1]:1", true),
        ("http://localhost:1", true),
        ("http://192.0.2.1:8080", false),
        ("http://[2001:db8::1]:8080", false),
        ("http://collector.example", false),
        ("http://localhost.example:8080", false),
        ("http://127.0.0.1:1@collector.example", false),
        ("collector.example", false),
        ("", false),
    ] {
        let home = Home::new();
        home.announce_at(url, id(), None);
        match home.find() {
            Ok(server) => assert_eq!((server.url(), is_believed), (url, true)),
            Err(error) => {
                let says = error.to_string();
                assert!(
                    !is_believed && says.contains("server.json: the URL in it is not one of this machine"),
                    "{url}: {says}"
                );
            }
        }
    }
}

#[test]
fn what_cannot_hold_a_key_is_not_read() {
    let home = Home::new();
    let large = home.root.path().join("large");
    fs::write(&large, "k".repeat(4097)).unwrap();
    let folder = home.root.path().to_owned();
    // Nobody ever writes to it: who waits for that waits for ever.
    let pipe = home.root.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for (key, says) in [
        (PathBuf::from("/dev/zero"), "it is not a regular file"),
        (folder, "it is not a regular file"),
        (pipe, "it is not a regular file"),
        (large.clone(), "it has more than 4096 bytes"),
    ] {
        home.announce(id(), Some(&key));
        let error = home.find().unwrap().api_key().unwrap_err().to_string();
        assert_eq!(error, format!("{}: {says}", key.display()));
    }
    fs::write(&large, "k".repeat(4096)).unwrap();
    assert_eq!(home.find().unwrap().api_key().unwrap().len(), 4096);
}
