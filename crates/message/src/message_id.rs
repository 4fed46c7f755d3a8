//! Message ids (RFC 5322 section 3.6.4), without their angle brackets.

/// The ids of an unfolded field, in order; where no id has brackets, its words that have an `@`, or its only word.
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
        let words: Vec<&str> = source.split_whitespace().collect();
        let is_id = |word: &&str| words.len() == 1 || word.contains('@');
        ids.extend(words.iter().copied().filter(is_id).filter_map(clean));
    }
    ids
}

/// The first id of an unfolded field.
pub(crate) fn first(source: &str) -> Option<String> {
    parse(source).into_iter().next()
}

/// An id without brackets, and without white space unless it is quoted: the obsolete syntax allows it between the
/// tokens (RFC 5322 section 4.5.4).
fn clean(id: &str) -> Option<String> {
    let id = id.trim_matches(|c: char| c.is_whitespace() || c == '<' || c == '>');
    if id.contains('"') {
        return Some(id.to_owned());
    }
    let id: String = id.chars().filter(|c| !c.is_whitespace()).collect();
    (!id.is_empty()).then_some(id)
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
            ("<1234 @ local .test>", vec!["1234@local.test"]),
            ("<\"a b\"@x>", vec!["\"a b\"@x"]),
            ("Your message of Monday <a@x>", vec!["a@x"]),
            ("Re: your message a@x", vec!["a@x"]),
            ("Your message of Monday", vec![]),
            ("20260125114116", vec!["20260125114116"]),
            ("<>", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(parse(source), ids, "{source:?}");
        }
    }
}
