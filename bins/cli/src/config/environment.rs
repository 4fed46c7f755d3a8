//! The environment, read once.

use std::collections::BTreeMap;
use std::ffi::OsString;

/// The variables that this process was started with.
#[derive(Default)]
pub(crate) struct Environment(BTreeMap<OsString, OsString>);

impl Environment {
    /// Those of this process.
    pub(crate) fn of_this_process() -> Self {
        std::env::vars_os().collect()
    }

    /// A variable; an empty one counts as unset.
    pub(crate) fn variable(&self, name: &str) -> Option<OsString> {
        let value = self.0.get(std::ffi::OsStr::new(name));
        value.filter(|value| !value.is_empty()).cloned()
    }
}

impl FromIterator<(OsString, OsString)> for Environment {
    fn from_iter<I: IntoIterator<Item = (OsString, OsString)>>(variables: I) -> Self {
        Self(variables.into_iter().collect())
    }
}

impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Values may be secrets of others too.
        write!(f, "Environment({} variables)", self.0.len())
    }
}
