//! Comments between the tokens of structured fields (RFC 5322 section 3.2.2).

/// The text without its comments, which nest; what stands between quotes stays. An open comment reaches to the end.
pub(crate) fn strip(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let (mut depth, mut in_quotes) = (0_usize, false);
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => {
                let escaped = characters.next();
                if depth == 0 {
                    kept.push(c);
                    kept.extend(escaped);
                }
                continue;
            }
            '"' if depth == 0 => in_quotes = !in_quotes,
            '(' if !in_quotes => {
                depth += 1;
                continue;
            }
            ')' if depth > 0 => {
                depth -= 1;
                continue;
            }
            _ => {}
        }
        if depth == 0 {
            kept.push(c);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_nest_and_quotes_protect() {
        for (text, kept) in [
            ("a(b)c", "ac"),
            ("a(b(c)d)e", "ae"),
            (r"a(b\)c)d", "ad"),
            (r#""a(b)"c"#, r#""a(b)"c"#),
            (r#"("a)b"#, "b"),
            ("a)b", "a)b"),
            ("a(b", "a"),
            (r"a\(b", r"a\(b"),
        ] {
            assert_eq!(strip(text), kept, "{text:?}");
        }
    }
}
