//! Which set of defaults holds, and why.

use std::fmt;

use super::resolve::Source;

/// A set of defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// A tool on a developer's machine: loopback, high ports, plain inboxes.
    Laptop,
    /// A service for others: the defaults of the interface.
    Production,
}

impl Profile {
    /// The profile of a name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Laptop, Self::Production]
            .into_iter()
            .find(|profile| profile.as_str() == name)
    }

    /// The name in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Laptop => "laptop",
            Self::Production => "production",
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a profile holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProfileReason {
    /// `SVC_PROFILE` or `--profile` says so.
    Set(Source),
    /// The domains were set, as on a server, and the profile was not.
    DomainsSet(Source),
    /// Nothing says otherwise.
    Default,
}

/// The profile that holds, and why: the first line of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChosenProfile {
    /// The profile.
    pub profile: Profile,
    /// Why it holds.
    pub reason: ProfileReason,
}

impl fmt::Display for ChosenProfile {
    /// For example `production (SVC_SMTP_ALLOWED_RECIPIENT_DOMAINS is set)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let profile = self.profile;
        match self.reason {
            ProfileReason::Set(source) => write!(f, "{profile} ({} says so)", source.spelling("PROFILE")),
            ProfileReason::DomainsSet(source) => {
                write!(
                    f,
                    "{profile} ({} is set)",
                    source.spelling("SMTP_ALLOWED_RECIPIENT_DOMAINS")
                )
            }
            ProfileReason::Default => write!(f, "{profile} (no setting asks for another)"),
        }
    }
}
