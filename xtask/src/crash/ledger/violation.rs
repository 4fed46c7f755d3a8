//! What must not be.

use std::fmt;

/// A broken promise, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Violation {
    /// Acknowledged and not there.
    Lost(String),
    /// Gone and there again.
    Returned(String),
    /// Not as it was.
    Changed(String),
    /// Half of something that is one step.
    Torn(String),
    /// Refused without a reason.
    Refused(String),
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, text) = match self {
            Self::Lost(text) => ("lost", text),
            Self::Returned(text) => ("returned from the dead", text),
            Self::Changed(text) => ("changed", text),
            Self::Torn(text) => ("torn", text),
            Self::Refused(text) => ("refused", text),
        };
        write!(f, "{kind}: {text}")
    }
}
