//! Ids as people type them: as much of the beginning or the end as no other has.

use std::fmt::Display;

use crate::failure::Failure;

/// The one of `known` whose id begins or ends with `part`, with or without its prefix.
///
/// # Errors
/// None is it, or several are.
pub(super) fn resolve<T: Copy + Display>(known: &[T], part: &str, kind: &str) -> Result<T, Failure> {
    // Nothing is a part of everything: an unset variable of a script must not mean the only one there is.
    if part.trim().is_empty() {
        return Err(Failure::Usage(format!("an empty id names no {kind}")));
    }
    let part = &part.to_ascii_lowercase();
    let fits = |id: &T| {
        let id = id.to_string();
        let digits = id.split_once('_').map_or("", |(_, digits)| digits);
        id.starts_with(part) || digits.starts_with(part) || digits.ends_with(part)
    };
    let mut found = known.iter().copied().filter(fits);
    match (found.next(), found.count()) {
        (Some(id), 0) => Ok(id),
        (None, _) => Err(Failure::Usage(format!(
            "no {kind} has an id that begins or ends with {part}"
        ))),
        (Some(_), others) => Err(Failure::Usage(format!(
            "{} {kind}s have ids that begin or end with {part}: give more of it",
            others + 1
        ))),
    }
}

#[cfg(test)]
mod tests {
    use restante_client::EmailId;

    use super::*;

    #[test]
    fn a_part_is_enough_if_no_other_has_it() {
        let first: EmailId = "msg_0190a8f2c5d17e6b8a7c000000000abc".parse().unwrap();
        let second: EmailId = "msg_0190b8f2c5d17e6b8a7c000000000abd".parse().unwrap();
        let known = [first, second];
        for (part, found) in [
            ("abc", first),
            ("0190b", second),
            ("msg_0190a", first),
            ("MSG_0190A", first),
            ("0abd", second),
        ] {
            assert_eq!(resolve(&known, part, "email").unwrap(), found, "{part}");
        }
        for (part, told) in [
            ("ab", "no email"),
            ("0190", "2 emails"),
            ("8f2c", "no email"),
            ("msg_", "2 emails"),
            ("", "an empty id"),
            (" ", "an empty id"),
        ] {
            let error = resolve(&known, part, "email").unwrap_err().to_string();
            assert!(error.starts_with(told), "{part}: {error}");
        }
    }
}
