//! The known name that one that is not known may stand for.

/// Names under which `VaultSandbox` has a setting, where the name here is another to which no spelling leads: the name
/// there, the name here, and what it holds. Names have no prefix.
const RENAMED: &[(&str, &str, &str)] = &[
    ("SMTP_SECURE", "SMTP_TLS_PORT", "a port"),
    ("SMTP_MAX_MEMORY_MB", "STORAGE_MAX_BYTES", "in bytes"),
    ("SMTP_MAX_EMAIL_AGE_SECONDS", "EMAIL_MAX_AGE", "in seconds"),
];

/// What a name that is not known may stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suggestion {
    /// The setting has another name here.
    Renamed {
        /// The name here.
        name: &'static str,
        /// What it holds.
        holds: &'static str,
    },
    /// At least half of the letters are the same.
    Near(&'static str),
    /// No name is like it; this is the nearest all the same.
    Far(&'static str),
}

/// The candidate that a name may stand for, by its meaning, else by its spelling; `None` if there are no candidates.
pub fn suggestion(name: &str, candidates: impl IntoIterator<Item = &'static str>) -> Option<Suggestion> {
    if let Some(&(_, name, holds)) = RENAMED.iter().find(|(there, ..)| *there == name) {
        return Some(Suggestion::Renamed { name, holds });
    }
    let nearest = nearest(name, candidates)?;
    let longer = name.chars().count().max(nearest.len());
    let is_near = strsim::levenshtein(name, nearest) * 2 <= longer;
    Some(if is_near {
        Suggestion::Near(nearest)
    } else {
        Suggestion::Far(nearest)
    })
}

/// The candidate with the least edit distance (Levenshtein) to `name`; the first of several.
fn nearest(name: &str, candidates: impl IntoIterator<Item = &'static str>) -> Option<&'static str> {
    candidates
        .into_iter()
        .min_by_key(|candidate| strsim::levenshtein(name, candidate))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::table;

    #[test]
    fn the_first_of_the_nearest_is_named() {
        assert_eq!(
            suggestion("SMTP_PROT", ["SMTP_HOST", "SMTP_PORT", "SERVER_PORT"]),
            Some(Suggestion::Near("SMTP_PORT"))
        );
        assert_eq!(suggestion("b", ["a", "c"]), Some(Suggestion::Far("a")));
        assert_eq!(suggestion("b", []), None);
    }

    #[test]
    fn half_of_the_letters_are_near() {
        assert_eq!(suggestion("abcx", ["abyz"]), Some(Suggestion::Near("abyz")));
        assert_eq!(suggestion("awcx", ["abyz"]), Some(Suggestion::Far("abyz")));
    }

    #[test]
    fn a_setting_with_another_name_is_one_of_the_table_and_its_name_there_is_none() {
        for &(there, name, holds) in RENAMED {
            assert!(table::find(there).is_none(), "{there}");
            assert!(table::find(name).is_some(), "{name}");
            assert_eq!(suggestion(there, [there]), Some(Suggestion::Renamed { name, holds }));
        }
    }
}
