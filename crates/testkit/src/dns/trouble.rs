//! Names that are not answered as they should be.

use std::collections::HashMap;
use std::time::Duration;

use hickory_proto::rr::LowerName;

use super::zones::name;

/// What happens to queries for a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// They are answered with SERVFAIL.
    ServFail,
    /// They are answered with REFUSED.
    Refused,
    /// They are never answered.
    Silent,
    /// The first one is not answered, as if its packet were lost.
    FirstLost,
    /// They are answered 300 ms later, over UDP.
    Slow,
}

/// How long a slow answer takes.
pub(super) const SLOWNESS: Duration = Duration::from_millis(300);

impl Trouble {
    fn parse(word: &str) -> Option<Self> {
        match word {
            "servfail" => Some(Self::ServFail),
            "refused" => Some(Self::Refused),
            "silent" => Some(Self::Silent),
            "first-lost" => Some(Self::FirstLost),
            "slow" => Some(Self::Slow),
            _ => None,
        }
    }
}

/// Reads lines of a kind of trouble and a name; empty lines and what follows a semicolon are left out.
///
/// # Panics
/// On a line that it does not understand.
pub(super) fn read(text: &str) -> HashMap<LowerName, Trouble> {
    let lines = text
        .lines()
        .map(|line| line.split(';').next().unwrap_or_default().trim());
    lines
        .filter(|line| !line.is_empty())
        .map(|line| {
            let (kind, of) = line
                .split_once(char::is_whitespace)
                .expect("a line is a kind of trouble and a name");
            let trouble = Trouble::parse(kind).unwrap_or_else(|| panic!("{kind} is no kind of trouble"));
            (name(of.trim()), trouble)
        })
        .collect()
}
