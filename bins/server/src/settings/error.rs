//! What is wrong with the settings: every error, one line each.

use std::fmt;

use super::nearest::Suggestion;
use crate::listen::ListenAddress;

/// One error in the settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// A value is not what it should be.
    #[error("{name}: expected {expected}{}", Got(got.as_deref()))]
    Malformed {
        /// As it was given: `SVC_SMTP_PORT` or `--smtp-port`.
        name: String,
        /// What the setting may hold.
        expected: String,
        /// What it held; `None` for a secret.
        got: Option<String>,
    },
    /// A variable begins with `SVC_` and is no setting.
    #[error("{name}: no such setting{}", Instead(*.suggestion))]
    Unknown {
        /// The variable.
        name: String,
        /// What it may stand for.
        suggestion: Suggestion,
    },
    /// A setting of a feature that is not built holds another value than its default.
    #[error("{name}: not available in this version")]
    NotAvailable {
        /// As it was given.
        name: String,
    },
    /// A setting must be given.
    #[error("{name}: required {because}")]
    Required {
        /// The variable.
        name: String,
        /// Why, continuing the sentence.
        because: String,
    },
    /// A setting excludes another one.
    #[error("{name}: not together with {other}; give one of them")]
    Excluded {
        /// As it was given.
        name: String,
        /// The other, as it was given.
        other: String,
    },
    /// A setting asks for TLS, and there is no certificate.
    #[error(
        "{name}: needs a certificate: name one by SVC_TLS_CERT_PATH and SVC_TLS_KEY_PATH, or have one made by \
         SVC_TLS_SELF_SIGNED=true"
    )]
    NoCertificate {
        /// As it was given.
        name: String,
    },
    /// Two listeners have the same address and port.
    #[error("{name}: listens on {address} as {other} does; each needs a port of its own")]
    SamePort {
        /// The setting of the one port, as it was given.
        name: String,
        /// That of the other.
        other: String,
        /// The address.
        address: ListenAddress,
    },
    /// A setting was given under both of its names.
    #[error("{name}: the same setting as {other}; give one of them")]
    Twice {
        /// One spelling.
        name: String,
        /// The other.
        other: String,
    },
}

/// The end of an error line: which setting may be meant.
struct Instead(Suggestion);

impl fmt::Display for Instead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Suggestion::Renamed { name, holds } => write!(f, "; here it is SVC_{name}, {holds}"),
            Suggestion::Near(name) => write!(f, "; the nearest is SVC_{name}"),
            Suggestion::Far(name) => write!(f, ", nor one like it (see --help); the nearest name is SVC_{name}"),
        }
    }
}

/// The end of an error line: the value, escaped and cut.
struct Got<'a>(Option<&'a str>);

impl fmt::Display for Got<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN_MAX: usize = 80;
        match self.0 {
            None => Ok(()),
            Some(text) if text.chars().count() > SHOWN_MAX => {
                let start: String = text.chars().take(SHOWN_MAX).collect();
                write!(f, ", got {start:?}...")
            }
            Some(text) => write!(f, ", got {text:?}"),
        }
    }
}

/// All errors in the settings; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingErrors(pub(super) Vec<SettingError>);

impl SettingErrors {
    /// The errors: values in the order of the table, then rules between them, then unknown names.
    pub fn as_slice(&self) -> &[SettingError] {
        &self.0
    }
}

impl std::error::Error for SettingErrors {}

impl fmt::Display for SettingErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            error.fmt(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_escaped_and_cut() {
        let error = |got: &str| {
            SettingError::Malformed {
                name: "SVC_X".into(),
                expected: "y".into(),
                got: Some(got.into()),
            }
            .to_string()
        };
        assert_eq!(error("a\nb"), r#"SVC_X: expected y, got "a\nb""#);
        assert_eq!(
            error(&"z".repeat(81)),
            format!("SVC_X: expected y, got {:?}...", "z".repeat(80))
        );
    }
}
