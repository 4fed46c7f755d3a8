//! Message ids (RFC 5322 section 3.6.4), without their angle brackets.

/// The ids of an unfolded field, in order; where no id has brackets, its words.
pub(crate) fn parse(source: &str) -> Vec<String> {
    let mut ids = Vec::new();
    let mut rest = source;
    while let Some((_, after)) = rest.split_once('<') {
        let Some((id, after)) = after.split_once('>') else {
            break;
        };
        ids.extend(clean(id));
        rest = after;
    }
    if ids.is_empty() {
        ids.extend(source.split_whitespace().filter_map(clean));
    }
    ids
}

fn clean(id: &str) -> Option<String> {
    let id = id.trim_matches(|c: char| c.is_whitespace() || c == '<' || c == '>');
    (!id.is_empty()).then(|| id.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_found_with_and_without_brackets() {
        for (source, ids) in [
            ("<a@x>", vec!["a@x"]),
            ("<a@x> (comment) <b@x><c@x>", vec!["a@x", "b@x", "c@x"]),
            ("a@x b@x", vec!["a@x", "b@x"]),
            ("<open@x", vec!["open@x"]),
            ("< a@x >", vec!["a@x"]),
            ("<>", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(parse(source), ids, "{source:?}");
        }
    }
}
