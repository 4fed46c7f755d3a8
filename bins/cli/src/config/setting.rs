//! What can be set, what it is called in each source, and where a value came from.

use std::fmt;
use std::path::PathBuf;

/// What can be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Setting {
    /// The server's URL.
    Url,
    /// Its API key.
    ApiKey,
    /// The file that holds its API key.
    ApiKeyFile,
    /// Certificates to trust.
    CaFile,
    /// Where `send` delivers.
    Smtp,
    /// The inbox that is meant.
    Inbox,
    /// How to hear of new mail.
    Strategy,
    /// When to use colours.
    Color,
}

/// Flag, variable and key of each.
const NAMES: [(Setting, &str, &str, &str); 8] = [
    (Setting::Url, "--url", "RESTANTE_URL", "url"),
    (Setting::ApiKey, "--api-key", "RESTANTE_API_KEY", "api_key"),
    (
        Setting::ApiKeyFile,
        "--api-key-file",
        "RESTANTE_API_KEY_FILE",
        "api_key_file",
    ),
    (Setting::CaFile, "--ca-file", "RESTANTE_CA_FILE", "ca_file"),
    (Setting::Smtp, "--smtp", "RESTANTE_SMTP", "smtp"),
    (Setting::Inbox, "--inbox", "RESTANTE_INBOX", "inbox"),
    (Setting::Strategy, "--strategy", "RESTANTE_STRATEGY", "strategy"),
    (Setting::Color, "--color", "RESTANTE_COLOR", "color"),
];

impl Setting {
    /// The flag of the command line.
    pub(crate) fn flag(self) -> &'static str {
        NAMES[self as usize].1
    }

    /// The variable of the environment.
    pub(crate) fn variable(self) -> &'static str {
        NAMES[self as usize].2
    }

    /// The key of the configuration file.
    pub(crate) fn key(self) -> &'static str {
        NAMES[self as usize].3
    }

    /// The setting of a key.
    pub(crate) fn of_key(key: &str) -> Option<Self> {
        Self::all().find(|setting| setting.key() == key)
    }

    /// All of them.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        NAMES.iter().map(|(setting, ..)| *setting)
    }
}

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The command line.
    Flag(Setting),
    /// The environment.
    Variable(Setting),
    /// The configuration file.
    File {
        /// Which file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What was set.
        setting: Setting,
    },
    /// A file that holds the key alone.
    KeyFile {
        /// Which file.
        path: PathBuf,
        /// What named it.
        named_by: Box<Origin>,
    },
    /// The discovery file.
    LocalServer,
    /// The key file that the discovery file names.
    KeyFileOfLocalServer(PathBuf),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(setting) => f.write_str(setting.flag()),
            Self::Variable(setting) => f.write_str(setting.variable()),
            Self::File { path, line, setting } => write!(f, "{}, line {line}: {}", path.display(), setting.key()),
            Self::KeyFile { path, named_by } => write!(f, "{}, named by {named_by}", path.display()),
            Self::LocalServer => f.write_str("the server that runs on this machine"),
            Self::KeyFileOfLocalServer(path) => f.write_str(&path.display().to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_has_its_own_names() {
        for setting in Setting::all() {
            assert_eq!(NAMES[setting as usize].0, setting);
            let key = setting.key();
            assert_eq!(setting.flag(), format!("--{}", key.replace('_', "-")));
            assert_eq!(setting.variable(), format!("RESTANTE_{}", key.to_uppercase()));
            assert_eq!(Setting::of_key(key), Some(setting));
        }
        assert_eq!(Setting::of_key("urls"), None);
    }
}
