//! The environment, read once.

use std::collections::BTreeMap;
use std::ffi::OsString;

use super::Setting;

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

/// What begins the names of ours.
const PREFIX: &str = "RESTANTE_";
/// Variables that are no setting of the file.
const OTHERS: [&str; 2] = ["RESTANTE_CONFIG", "RESTANTE_DATA_DIR"];

impl Environment {
    /// A warning for each variable that has our prefix and means nothing: a typo would mean another server or inbox.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = String> {
        let ours = self.0.keys().filter_map(|name| name.to_str());
        ours.filter(|name| name.starts_with(PREFIX)).filter_map(|name| {
            let nearest = known().min_by_key(|known| strsim::levenshtein(name, known))?;
            (name != nearest).then(|| format!("warning: {name} means nothing; the nearest is {nearest}"))
        })
    }
}

fn known() -> impl Iterator<Item = &'static str> {
    Setting::all().map(Setting::variable).chain(OTHERS)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn warnings(names: &[&str]) -> Vec<String> {
        let environment: Environment = names.iter().map(|name| (name.into(), "x".into())).collect();
        environment.warnings().collect()
    }

    #[test]
    fn a_variable_that_means_nothing_is_named_with_the_nearest() {
        for (name, nearest) in [
            ("RESTANTE_URLL", "RESTANTE_URL"),
            ("RESTANTE_INBX", "RESTANTE_INBOX"),
            ("RESTANTE_APIKEY", "RESTANTE_API_KEY"),
            ("RESTANTE_DATADIR", "RESTANTE_DATA_DIR"),
        ] {
            assert_eq!(
                warnings(&[name, "PATH"]),
                [format!("warning: {name} means nothing; the nearest is {nearest}")]
            );
        }
        let all: Vec<_> = known().chain(["RESTANT_URL", "restante_urll"]).collect();
        assert_eq!(warnings(&all), Vec::<String>::new());
    }
}
