//! The discovery file: by it a client finds a server that runs on its machine.
//!
//! Source: decisions, section 10.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What the file says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Discovery {
    /// Base URL of the API.
    pub url: String,
    /// Address of the SMTP listener, `host:port`; absent when it is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smtp: Option<String>,
    /// Address of the SMTP listener that begins with TLS; absent when it is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smtp_tls: Option<String>,
    /// Absolute path of the file that holds the API key; absent when the key was set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key_file: Option<PathBuf>,
    /// The server's process.
    pub pid: u32,
}

/// Where the file belongs: `restante/server.json` in the user's runtime directory, else in the state directory.
///
/// `variable` looks up the environment. Relative paths in it are ignored (XDG Base Directory Specification).
pub fn path(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let directory = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = directory("XDG_RUNTIME_DIR")
        .or_else(|| directory("XDG_STATE_HOME"))
        .or_else(|| Some(directory("HOME")?.join(".local/state")))?;
    Some(base.join("restante/server.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runtime_directory_comes_before_the_state_directory() {
        for (variables, expected) in [
            (
                vec![
                    ("XDG_RUNTIME_DIR", "/run/user/1"),
                    ("XDG_STATE_HOME", "/state"),
                    ("HOME", "/home/u"),
                ],
                Some("/run/user/1/restante/server.json"),
            ),
            (
                vec![
                    ("XDG_RUNTIME_DIR", "run"),
                    ("XDG_STATE_HOME", "/state"),
                    ("HOME", "/home/u"),
                ],
                Some("/state/restante/server.json"),
            ),
            (
                vec![("XDG_RUNTIME_DIR", ""), ("HOME", "/home/u")],
                Some("/home/u/.local/state/restante/server.json"),
            ),
            (vec![], None),
        ] {
            let variable = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| OsString::from(value))
            };
            assert_eq!(path(variable), expected.map(PathBuf::from), "{variables:?}");
        }
    }

    #[test]
    fn what_does_not_apply_may_be_absent() {
        let text = r#"{"url":"http://127.0.0.1:8080","pid":7}"#;
        let read: Discovery = serde_json::from_str(text).unwrap();
        assert_eq!((read.smtp.as_ref(), read.api_key_file.as_ref()), (None, None));
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
    }
}
