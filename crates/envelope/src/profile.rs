//! The constants of the two wire profiles.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Whose constants are spoken on the wire.
///
/// Source: decisions, section 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WireProfile {
    /// The interface's own.
    Service,
    /// Those of the `VaultSandbox` gateway, whose published SDKs then work unchanged.
    VaultSandbox,
}

/// Which content of an email a payload holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PayloadPart {
    /// Sender, recipients, subject, time.
    Metadata,
    /// The parsed content.
    Parsed,
    /// The message as received.
    Raw,
}

impl WireProfile {
    /// The context string: it enters key derivation and signature, and `server-info` shows it.
    pub fn context(self) -> &'static str {
        match self {
            Self::Service => "service:email:v1",
            Self::VaultSandbox => "vaultsandbox:email:v1",
        }
    }

    /// The additional authenticated data of a part.
    pub fn aad(self, part: PayloadPart) -> &'static [u8] {
        match (self, part) {
            (Self::Service, PayloadPart::Metadata) => b"service:metadata",
            (Self::Service, PayloadPart::Parsed) => b"service:parsed",
            (Self::Service, PayloadPart::Raw) => b"service:raw",
            (Self::VaultSandbox, PayloadPart::Metadata) => b"vaultsandbox:metadata",
            (Self::VaultSandbox, PayloadPart::Parsed) => b"vaultsandbox:parsed",
            (Self::VaultSandbox, PayloadPart::Raw) => b"vaultsandbox:raw",
        }
    }
}

/// The text names no wire profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("expected `service` or `vaultsandbox`")]
pub struct UnknownWireProfile;

impl FromStr for WireProfile {
    type Err = UnknownWireProfile;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "service" => Ok(Self::Service),
            "vaultsandbox" => Ok(Self::VaultSandbox),
            _ => Err(UnknownWireProfile),
        }
    }
}

impl fmt::Display for WireProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Service => "service",
            Self::VaultSandbox => "vaultsandbox",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways() {
        for profile in [WireProfile::Service, WireProfile::VaultSandbox] {
            assert_eq!(profile.to_string().parse(), Ok(profile));
        }
        assert_eq!("Service".parse::<WireProfile>(), Err(UnknownWireProfile));
        assert_eq!("".parse::<WireProfile>(), Err(UnknownWireProfile));
    }
}
