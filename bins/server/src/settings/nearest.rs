//! The known name nearest to one that is not known.

/// The candidate with the least edit distance (Levenshtein) to `name`; the first of several.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .min_by_key(|candidate| strsim::levenshtein(name, candidate))
}

#[cfg(test)]
mod tests {
    use super::*;

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
