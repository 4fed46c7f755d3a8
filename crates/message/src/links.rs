//! The links of a message: `href`s of its HTML, then URLs of its text.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::html::{Token, decode_entities, tokens};
use crate::limit::LINK_MAX;

/// Collects every link once, in order of the first occurrence.
///
/// Links are as written, entities decoded; never re-serialised. One that is too long is left out: cut, it would lead elsewhere.
pub(crate) fn extract(html: Option<&str>, text: Option<&str>) -> Vec<String> {
    let hrefs = html.into_iter().flat_map(tokens).filter_map(|token| match token {
        Token::Open {
            name, href: Some(href), ..
        } if is_link_element(name) => href_link(href),
        _ => None,
    });
    let urls = text.into_iter().flat_map(urls).map(Cow::Borrowed);
    let mut seen = HashSet::new();
    let mut links = Vec::new();
    for link in hrefs.chain(urls).filter(|link| fits(link)) {
        if !seen.contains(link.as_ref()) {
            let link = link.into_owned();
            seen.insert(link.clone());
            links.push(link);
        }
    }
    links
}

fn is_link_element(name: &str) -> bool {
    name.eq_ignore_ascii_case("a") || name.eq_ignore_ascii_case("area")
}

/// Whether a link has at most 2048 characters; long ones are not counted to their end.
fn fits(link: &str) -> bool {
    link.len() <= LINK_MAX || link.chars().nth(LINK_MAX).is_none()
}

/// The link in an `href`: white space around it, and tabs and line ends in it, are not part of a URL (URL standard, section 4.4).
fn href_link(href: &str) -> Option<Cow<'_, str>> {
    let is_ignored = |c: char| matches!(c, '\t' | '\n' | '\r');
    let link = match decode_entities(href) {
        Cow::Borrowed(href) if !href.contains(is_ignored) => Cow::Borrowed(href.trim()),
        href => Cow::Owned(href.replace(is_ignored, "").trim().to_owned()),
    };
    let length = scheme_len(&link)?;
    (link.len() > length && !link.contains(char::is_control)).then_some(link)
}

/// Length of the scheme that a link starts with, up to where its own part begins; none for schemes that are no links.
fn scheme_len(link: &str) -> Option<usize> {
    ["https://", "http://", "ftp://", "mailto:"]
        .into_iter()
        .find(|scheme| {
            link.get(..scheme.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
        })
        .map(str::len)
}

/// The URLs that stand in a text.
fn urls(text: &str) -> impl Iterator<Item = &str> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(colon) = memchr::memchr(b':', &text.as_bytes()[at..]).map(|found| at + found) {
            let Some(start) = scheme_start(text, at, colon) else {
                at = colon + 1;
                continue;
            };
            let end = start + url_end(&text[start..]);
            at = end;
            let url = trim(&text[start..end]);
            if scheme_len(url).is_some_and(|length| begins_well(&url[length..])) {
                return Some(url);
            }
        }
        None
    })
}

/// Where the scheme before a colon starts, if it is one of ours and no part of a longer word.
fn scheme_start(text: &str, from: usize, colon: usize) -> Option<usize> {
    let word = text.as_bytes()[from..colon]
        .iter()
        .rev()
        .take(7)
        .take_while(|b| b.is_ascii_alphanumeric())
        .count();
    let start = colon - word;
    scheme_len(&text[start..])?;
    let before = text[from..start].chars().next_back();
    before
        .is_none_or(|c| !c.is_alphanumeric() || has_no_spaces(c))
        .then_some(start)
}

/// Whether a character is of a script that puts no spaces between words: Thai, Lao, and those of East Asia.
fn has_no_spaces(c: char) -> bool {
    matches!(
        c,
        '\u{e00}'..='\u{eff}' | '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{3ffff}'
    )
}

/// Quotes and brackets around URLs, and the punctuation of scripts that put no space after it.
const AROUND_URLS: &str = "“”„«»‹›、。，！？；：．｡､「」『』【】《》〈〉〔〕（）［］";

/// Whether a URL cannot have a character unescaped, or is not meant to where people write.
fn ends_url(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_whitespace() || c.is_ascii_control() || matches!(c, '<' | '>' | '"' | '`')
    } else {
        c.is_whitespace() || c.is_control() || AROUND_URLS.contains(c)
    }
}

/// Where the URL that a text starts with ends: also at a `]` that it did not open, as in Markdown's `[URL](URL)`.
fn url_end(text: &str) -> usize {
    let mut open = 0_usize;
    let ends = |c: char| {
        match c {
            '[' => open += 1,
            ']' if open == 0 => return true,
            ']' => open -= 1,
            _ => {}
        }
        ends_url(c)
    };
    text.find(ends).unwrap_or(text.len())
}

/// What follows a scheme in a text must look like a host or a mailbox.
fn begins_well(rest: &str) -> bool {
    rest.chars().next().is_some_and(|c| c.is_alphanumeric() || c == '[')
}

/// Drops punctuation of the sentence around a URL, and closing brackets that it does not open.
fn trim(url: &str) -> &str {
    let mut brackets = Brackets::count(url);
    let mut url = url;
    while let Some(last) = url.chars().next_back() {
        let is_punctuation = matches!(last, '.' | ',' | ';' | ':' | '!' | '?' | '\'' | '*' | '…' | '’');
        if !is_punctuation && !brackets.drop_unmatched(last) {
            break;
        }
        url = &url[..url.len() - last.len_utf8()];
    }
    url
}

/// How many more closing than opening brackets there are, for `()`, `[]` and `{}`.
struct Brackets([i64; 3]);

impl Brackets {
    fn count(url: &str) -> Self {
        let mut surplus = [0; 3];
        for byte in url.bytes() {
            match byte {
                b'(' => surplus[0] -= 1,
                b')' => surplus[0] += 1,
                b'[' => surplus[1] -= 1,
                b']' => surplus[1] += 1,
                b'{' => surplus[2] -= 1,
                b'}' => surplus[2] += 1,
                _ => {}
            }
        }
        Self(surplus)
    }

    /// Whether `last` is a closing bracket without its opening one; it then no longer counts.
    fn drop_unmatched(&mut self, last: char) -> bool {
        let Some(kind) = [')', ']', '}'].iter().position(|&bracket| bracket == last) else {
            return false;
        };
        let is_unmatched = self.0[kind] > 0;
        self.0[kind] -= i64::from(is_unmatched);
        is_unmatched
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_a_text() {
        for (text, links) in [
            (
                "see https://x.test/a, or http://y.test.",
                vec!["https://x.test/a", "http://y.test"],
            ),
            (
                "(https://x.test/a_(b)) [ftp://z.test/]",
                vec!["https://x.test/a_(b)", "ftp://z.test/"],
            ),
            ("<https://x.test/?a=1&b=2#c>", vec!["https://x.test/?a=1&b=2#c"]),
            ("\"HTTPS://X.test/Y\"!", vec!["HTTPS://X.test/Y"]),
            (
                "mail mailto:bob@x.test?subject=hi.",
                vec!["mailto:bob@x.test?subject=hi"],
            ),
            (
                "https://é.test/ü und https://x.test/ü",
                vec!["https://é.test/ü", "https://x.test/ü"],
            ),
            (
                "https://x.test https://x.test https://X.test",
                vec!["https://x.test", "https://X.test"],
            ),
            ("https://[::1]:8080/", vec!["https://[::1]:8080/"]),
            (
                "https://x.test/a?u=http://y.test/b",
                vec!["https://x.test/a?u=http://y.test/b"],
            ),
            (
                "12:30 note: xhttps://no.test javascript:alert(1) https:// mailto: http://.",
                vec![],
            ),
            ("éhttp://no.test", vec![]),
            ("url:https://x.test/", vec!["https://x.test/"]),
            ("https://x.test/{a}})];", vec!["https://x.test/{a}"]),
            ("https://x.test/a'", vec!["https://x.test/a"]),
            ("http:http://x.test", vec!["http://x.test"]),
            (
                "请访问https://x.test/a。然后（https://y.test/b）、「https://z.test/c」",
                vec!["https://x.test/a", "https://y.test/b", "https://z.test/c"],
            ),
            (
                "[text](https://x.test/a_(b)) [https://y.test](https://z.test) **https://v.test**",
                vec![
                    "https://x.test/a_(b)",
                    "https://y.test",
                    "https://z.test",
                    "https://v.test",
                ],
            ),
            ("https://x.test/?a[]=1&b[c]=2].", vec!["https://x.test/?a[]=1&b[c]=2"]),
            (
                "„https://x.test/“ ‹https://y.test/›",
                vec!["https://x.test/", "https://y.test/"],
            ),
            (
                "https://user:pw@x.test:8080/a;b=c?d=e#f!g",
                vec!["https://user:pw@x.test:8080/a;b=c?d=e#f!g"],
            ),
        ] {
            assert_eq!(extract(None, Some(text)), links, "{text:?}");
        }
    }

    #[test]
    fn hrefs_come_first_and_are_as_written() {
        for (html, links) in [
            (
                "<a href=\"https://x.test/?a=1&amp;b=2\">",
                vec!["https://x.test/?a=1&b=2"],
            ),
            (
                "<area HREF='http://x.test/a.'><A href=ftp://y.test>",
                vec!["http://x.test/a.", "ftp://y.test"],
            ),
            ("<a href=' mailto:bob@x.test '>", vec!["mailto:bob@x.test"]),
            (
                "<a href='https://x.test/long\r\n\t/path'>",
                vec!["https://x.test/long/path"],
            ),
            (
                "<a href='/rel'><a href='javascript:x'><a href='#a'><link href='https://no.test'>",
                vec![],
            ),
            ("<a href='https://'><a href='https://x.test/&#1;'>", vec![]),
            ("<!-- <a href='https://no.test'> -->", vec![]),
            ("<base href='https://no.test/'><a href='b'>", vec![]),
            (
                "<style><a href='https://no.test'></style><a href=HTTPS://X.test/Y>",
                vec!["HTTPS://X.test/Y"],
            ),
            (
                "<a href=\"https://x.test/?a='b'&quot;c\">",
                vec!["https://x.test/?a='b'\"c"],
            ),
            (
                "<a href='https://x.test/?a&copy=1&amp=2&#x26;d'>",
                vec!["https://x.test/?a&copy=1&amp=2&d"],
            ),
            (
                "<a title='x>y' href=https://bücher.test/ü>",
                vec!["https://bücher.test/ü"],
            ),
        ] {
            assert_eq!(extract(Some(html), None), links, "{html:?}");
        }
        let both = extract(Some("<a href='https://b.test'>"), Some("https://a.test https://b.test"));
        assert_eq!(both, ["https://b.test", "https://a.test"]);
    }

    #[test]
    fn a_link_has_at_most_2048_characters() {
        let longest = format!("https://x.test/{}", "é".repeat(LINK_MAX - 15));
        assert_eq!(extract(None, Some(&longest)), [longest.as_str()]);
        let longer = format!("{longest}a");
        assert_eq!(extract(None, Some(&longer)), Vec::<String>::new());
        assert_eq!(
            extract(Some(&format!("<a href='{longer}'>")), None),
            Vec::<String>::new()
        );
    }
}
