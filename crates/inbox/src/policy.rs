//! What the server allows inboxes to be: a value, decided at the start.

use std::fmt;
use std::str::FromStr;

use restante_model::{Domain, WireProfile};
use restante_storage::Retention;

/// Whether inboxes have a quality, and whether a client may choose (interface, "Encryption policy semantics").
///
/// There are two such qualities: being encrypted, and being persistent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChoicePolicy {
    /// All have it, no choice.
    Always,
    /// Those whose clients do not choose have it.
    Enabled,
    /// Those whose clients ask for it have it.
    Disabled,
    /// None has it, no choice.
    Never,
}

/// What a client asks an inbox to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EncryptionChoice {
    /// Sealed for the client's key.
    Encrypted,
    /// Readable by the server.
    Plain,
}

impl ChoicePolicy {
    /// Whether an inbox has it whose client does not choose.
    pub fn is_default(self) -> bool {
        matches!(self, Self::Always | Self::Enabled)
    }

    /// Whether a client may choose.
    pub fn allows_choice(self) -> bool {
        matches!(self, Self::Enabled | Self::Disabled)
    }

    /// Whether an inbox has it whose client wishes this; a wish that is not allowed is passed over.
    pub fn decide(self, wish: Option<bool>) -> bool {
        wish.filter(|_| self.allows_choice()).unwrap_or(self.is_default())
    }

    /// The name on the wire and in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Enabled => "enabled",
            Self::Disabled => "disabled",
            Self::Never => "never",
        }
    }
}

impl fmt::Display for ChoicePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A text that names no policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected always, enabled, disabled or never")]
pub struct PolicyNameError;

impl FromStr for ChoicePolicy {
    type Err = PolicyNameError;

    fn from_str(text: &str) -> Result<Self, PolicyNameError> {
        [Self::Always, Self::Enabled, Self::Disabled, Self::Never]
            .into_iter()
            .find(|policy| policy.as_str() == text)
            .ok_or(PolicyNameError)
    }
}

/// The rules for new inboxes, for what their content looks like, and for how long it stays.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct InboxPolicy {
    /// Which profile of the wire is spoken.
    pub profile: WireProfile,
    /// Plain, encrypted, or the client's choice.
    pub encryption: ChoicePolicy,
    /// Whether inboxes are said to be persistent.
    pub persistence: ChoicePolicy,
    /// Where inboxes may be; never empty, the first is the default.
    pub allowed_domains: Vec<Domain>,
    /// Time to live of an inbox that does not ask for one, in seconds.
    pub default_ttl_secs: u32,
    /// The longest time to live, in seconds.
    pub max_ttl_secs: u32,
    /// Random bytes in a generated alias, 4 to 32.
    pub alias_random_bytes: usize,
    /// Whether email authentication can be had at all.
    pub email_auth_available: bool,
    /// Whether it is on for an inbox that does not say.
    pub email_auth_default: bool,
    /// Whether a spam filter can be asked at all.
    pub spam_analysis_available: bool,
    /// Whether it is asked for an inbox that does not say.
    pub spam_analysis_default: bool,
    /// Whether inboxes may ask for faults.
    pub chaos_available: bool,
    /// The name of this server in trace headers.
    pub hostname: String,
    /// How much mail is kept.
    pub retention: Retention,
}

impl InboxPolicy {
    /// The domain of generated aliases.
    pub fn default_domain(&self) -> &Domain {
        self.allowed_domains.first().expect("a policy has at least one domain")
    }

    /// Whether inboxes may be at the domain.
    pub fn allows(&self, domain: &Domain) -> bool {
        self.allowed_domains.contains(domain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_the_interface() {
        for (name, choice, free) in [
            ("always", true, false),
            ("enabled", true, true),
            ("disabled", false, true),
            ("never", false, false),
        ] {
            let policy: ChoicePolicy = name.parse().unwrap();
            assert_eq!(policy.is_default(), choice, "{name}");
            assert_eq!(policy.allows_choice(), free, "{name}");
            assert_eq!(policy.to_string(), name);
        }
        assert_eq!("Always".parse::<ChoicePolicy>(), Err(PolicyNameError));
    }
}
