//! Writes the discovery file, by which clients find a server that runs on this machine.
//!
//! Source: decisions, section 10.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use restante_envelope::{base64url, digest};
use restante_wire::Discovery;
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use crate::startup::Running;

/// Why there is no discovery file: worth a warning, never the end of a start.
#[derive(Debug, thiserror::Error)]
pub enum DiscoveryError {
    /// Another server that still runs has the file.
    #[error("{} is that of the running server with process id {pid}", path.display())]
    Occupied {
        /// The file.
        path: PathBuf,
        /// The other server.
        pid: u32,
    },
    /// It cannot be written.
    #[error("{}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

/// The discovery file of this server; dropping it removes the file, if it still is this server's.
#[derive(Debug)]
pub struct DiscoveryFile {
    path: PathBuf,
    content: Vec<u8>,
}

/// What there is to say of a running server.
pub fn describe(running: &Running, pid: u32) -> Discovery {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.into());
    Discovery {
        url: running.url(),
        smtp: running.smtp_address().map(|address| address.to_string()),
        smtp_tls: running.smtp_tls_address().map(|address| address.to_string()),
        api_key_file: running.api_key.file().map(absolute),
        pid,
    }
}

impl DiscoveryFile {
    /// Writes the file, whole or not at all; one whose server is gone is replaced.
    ///
    /// # Errors
    /// [`DiscoveryError::Occupied`], [`DiscoveryError::Write`].
    pub fn write(path: PathBuf, discovery: &Discovery) -> Result<Self, DiscoveryError> {
        if let Some(pid) = running_owner(&path, discovery) {
            return Err(DiscoveryError::Occupied { path, pid });
        }
        let content = serde_json::to_vec(discovery).map_err(io::Error::from);
        match content.and_then(|content| replace(&path, &content).map(|()| content)) {
            Ok(content) => Ok(Self { path, content }),
            Err(source) => Err(DiscoveryError::Write { path, source }),
        }
    }
}

impl Drop for DiscoveryFile {
    fn drop(&mut self) {
        if fs::read(&self.path).is_ok_and(|content| content == self.content) {
            // At exit nobody is left to tell; a stale file is replaced by the next server.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The process of the file, if it runs and is not this one: in a container every server has the same process id.
///
/// A server listens where `mine` says, so nobody else does: a process that said so and seems to run was killed, and
/// nobody has waited for it yet.
fn running_owner(path: &Path, mine: &Discovery) -> Option<u32> {
    let found: Discovery = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    (found.pid != mine.pid && found.url != mine.url && is_running(found.pid)).then_some(found.pid)
}

fn is_running(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid) != Err(Errno::SRCH))
}

fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let unfinished = directory.join(format!(".server.{}", base64url::encode(digest::random_bytes::<6>())));
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&unfinished)
        .and_then(|mut file| file.write_all(content))
        .and_then(|()| fs::rename(&unfinished, path));
    if written.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    written
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::process::{Command, id};

    use super::*;
    use crate::secrets::ApiKeyOrigin;
    use crate::settings::{ChosenProfile, Profile, ProfileReason};

    fn discovery(pid: u32) -> Discovery {
        Discovery {
            url: "http://127.0.0.1:8080".into(),
            smtp: Some("127.0.0.1:2525".into()),
            smtp_tls: None,
            api_key_file: Some("/data/.api-key".into()),
            pid,
        }
    }

    /// A process that has ended and been waited for.
    fn gone() -> u32 {
        let mut child = Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        child.id()
    }

    #[test]
    fn it_is_written_for_its_owner_only_and_removed_at_the_end() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("restante/server.json");
        let file = DiscoveryFile::write(path.clone(), &discovery(7)).unwrap();
        let expected =
            r#"{"url":"http://127.0.0.1:8080","smtp":"127.0.0.1:2525","apiKeyFile":"/data/.api-key","pid":7}"#;
        assert_eq!(fs::read_to_string(&path).unwrap(), expected);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        drop(file);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 0);
    }

    #[test]
    fn one_that_is_another_servers_by_now_is_left() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("server.json");
        let file = DiscoveryFile::write(path.clone(), &discovery(7)).unwrap();
        fs::write(&path, "another's").unwrap();
        drop(file);
        assert_eq!(fs::read(&path).unwrap(), b"another's");
    }

    #[test]
    fn a_stale_or_unreadable_one_is_replaced() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("server.json");
        let stale = serde_json::to_string(&discovery(gone())).unwrap();
        let own = serde_json::to_string(&discovery(id())).unwrap();
        for content in [stale.as_str(), own.as_str(), "not JSON", ""] {
            fs::write(&path, content).unwrap();
            let mine = Discovery {
                url: "http://[::1]:1".into(),
                ..discovery(id())
            };
            let _file = DiscoveryFile::write(path.clone(), &mine).unwrap();
            assert_eq!(
                serde_json::from_slice::<Discovery>(&fs::read(&path).unwrap()).unwrap(),
                mine
            );
        }
    }

    #[test]
    fn that_of_a_running_server_stays() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("server.json");
        // The process of this test runs; the new server is said to be another one.
        let other = serde_json::to_vec(&discovery(id())).unwrap();
        fs::write(&path, &other).unwrap();
        let elsewhere = Discovery {
            url: "http://127.0.0.1:8081".into(),
            ..discovery(gone())
        };
        let error = DiscoveryFile::write(path.clone(), &elsewhere).unwrap_err();
        assert!(
            matches!(error, DiscoveryError::Occupied { pid, .. } if pid == id()),
            "{error}"
        );
        assert_eq!(fs::read(&path).unwrap(), other);
    }

    #[test]
    fn one_killed_where_this_one_listens_is_replaced_though_its_process_seems_to_run() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("server.json");
        fs::write(&path, serde_json::to_vec(&discovery(id())).unwrap()).unwrap();
        let mine = discovery(gone());
        let _file = DiscoveryFile::write(path.clone(), &mine).unwrap();
        assert_eq!(
            serde_json::from_slice::<Discovery>(&fs::read(&path).unwrap()).unwrap(),
            mine
        );
    }

    #[test]
    fn a_place_that_cannot_be_written_is_named() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("file"), "").unwrap();
        let path = root.path().join("file/server.json");
        let error = DiscoveryFile::write(path.clone(), &discovery(7))
            .unwrap_err()
            .to_string();
        assert!(error.starts_with(&format!("{}: ", path.display())), "{error}");
    }

    #[test]
    fn it_tells_addresses_that_can_be_reached_and_an_absolute_path() {
        let running = Running {
            profile: ChosenProfile {
                profile: Profile::Laptop,
                reason: ProfileReason::Default,
            },
            data_path: "data".into(),
            api_key: ApiKeyOrigin::Loaded("data/.api-key".into()),
            smtp: Some("0.0.0.0:2525".parse().unwrap()),
            smtp_tls: None,
            http: "[::]:8080".parse().unwrap(),
            https: Some("[::]:8443".parse().unwrap()),
            authority: None,
            rspamd: None,
            chaos: None,
            test_emails: false,
        };
        let told = describe(&running, 7);
        assert_eq!(
            (told.url.as_str(), told.smtp.as_deref()),
            ("http://[::1]:8080", Some("127.0.0.1:2525"))
        );
        let key_file = told.api_key_file.unwrap();
        assert!(
            key_file.is_absolute() && key_file.ends_with("data/.api-key"),
            "{key_file:?}"
        );
    }
}
