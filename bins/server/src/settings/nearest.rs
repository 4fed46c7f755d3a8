//! The known name nearest to one that is not known.

/// The candidate with the least edit distance to `name`; the first of several.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates.into_iter().min_by_key(|candidate| distance(name, candidate))
}

/// Insertions, deletions and replacements of one byte that make `from` into `to` (Levenshtein), a row at a time.
fn distance(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.bytes().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (from, to, expected) in [
            ("", "", 0),
            ("abc", "", 3),
            ("", "abc", 3),
            ("abc", "abc", 0),
            ("abc", "abd", 1),
            ("abc", "ac", 1),
            ("ac", "abc", 1),
            ("kitten", "sitting", 3),
            ("PROT", "PORT", 2),
        ] {
            assert_eq!(distance(from, to), expected, "{from} {to}");
        }
    }

    #[test]
    fn the_first_of_the_nearest_is_named() {
        assert_eq!(
            nearest("SMTP_PROT", ["SMTP_HOST", "SMTP_PORT", "SERVER_PORT"]),
            Some("SMTP_PORT")
        );
        assert_eq!(nearest("b", ["a", "c"]), Some("a"));
        assert_eq!(nearest("b", []), None);
    }
}
