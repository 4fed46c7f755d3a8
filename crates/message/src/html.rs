//! HTML as a flat sequence of texts and tags, after the tokenizer of the HTML standard (section 13.2.5), in one pass.

use std::borrow::Cow;

use mail_parser::decoders::html::add_html_token;
use memchr::{memchr, memmem};

use crate::charset;

/// A piece of a document.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Token<'x> {
    /// Text between tags, its entities not yet decoded.
    Text(&'x str),
    /// A start tag.
    Open {
        /// As written: compare without regard to case.
        name: &'x str,
        /// The value of the first `href` attribute, its entities not yet decoded.
        href: Option<&'x str>,
        /// Whether the tag says that its element is not shown.
        hidden: bool,
    },
    /// An end tag.
    Close(&'x str),
}

/// The tokens of a document. Comments, declarations, and the content of elements that hold no markup are left out.
///
/// A tag that the document does not finish is dropped with all that follows, as browsers do.
pub(crate) fn tokens(html: &str) -> impl Iterator<Item = Token<'_>> {
    let mut rest = html;
    std::iter::from_fn(move || {
        while !rest.is_empty() {
            let (token, after) = next(rest);
            rest = after;
            if token.is_some() {
                return token;
            }
        }
        None
    })
}

/// Elements whose content is not markup, and no text for a reader either.
const OPAQUE: [&str; 7] = ["script", "style", "title", "textarea", "xmp", "iframe", "noframes"];

/// The token that `html`, which is not empty, starts with, if it gives one, and what follows.
fn next(html: &str) -> (Option<Token<'_>>, &str) {
    let bytes = html.as_bytes();
    if bytes[0] != b'<' {
        let (text, rest) = html.split_at(memchr(b'<', bytes).unwrap_or(html.len()));
        return (Some(Token::Text(text)), rest);
    }
    match bytes.get(1) {
        Some(b'!') if html.starts_with("<!--") => (None, after(html, 2, b"-->")),
        Some(b'!' | b'?') => (None, after(html, 1, b">")),
        Some(b'/') => match bytes.get(2) {
            Some(c) if c.is_ascii_alphabetic() => close_tag(html),
            _ => (None, after(html, 1, b">")),
        },
        Some(c) if c.is_ascii_alphabetic() => open_tag(html),
        _ => (Some(Token::Text(&html[..1])), &html[1..]),
    }
}

/// What follows the first `end` at or after `from`; nothing if there is none.
fn after<'x>(html: &'x str, from: usize, end: &[u8]) -> &'x str {
    memmem::find(&html.as_bytes()[from..], end).map_or("", |at| &html[from + at + end.len()..])
}

fn close_tag(html: &str) -> (Option<Token<'_>>, &str) {
    let name = tag_name(&html[2..]);
    match Attributes(&html[2 + name.len()..]).skip_to_end() {
        Some((_, rest)) => (Some(Token::Close(name)), rest),
        None => (None, ""),
    }
}

fn open_tag(html: &str) -> (Option<Token<'_>>, &str) {
    let name = tag_name(&html[1..]);
    let Some((found, mut rest)) = Attributes(&html[1 + name.len()..]).skip_to_end() else {
        return (None, "");
    };
    if OPAQUE.iter().any(|opaque| name.eq_ignore_ascii_case(opaque)) {
        rest = skip_content(rest, name);
    }
    let Found { href, hidden } = found;
    (Some(Token::Open { name, href, hidden }), rest)
}

fn tag_name(text: &str) -> &str {
    let end = text
        .bytes()
        .position(|b| b.is_ascii_whitespace() || b == b'/' || b == b'>');
    &text[..end.unwrap_or(text.len())]
}

/// From the end tag of the opaque element on; nothing if it is never closed.
fn skip_content<'x>(html: &'x str, name: &str) -> &'x str {
    for at in memmem::find_iter(html.as_bytes(), b"</") {
        if tag_name(&html[at + 2..]).eq_ignore_ascii_case(name) {
            return &html[at..];
        }
    }
    ""
}

/// What is looked for among the attributes of a tag.
#[derive(Default)]
struct Found<'x> {
    href: Option<&'x str>,
    hidden: bool,
}

/// What follows the name of a tag.
struct Attributes<'x>(&'x str);

impl<'x> Attributes<'x> {
    /// Reads to the end of the tag; what was found there, and what follows the `>`, if there is one.
    fn skip_to_end(mut self) -> Option<(Found<'x>, &'x str)> {
        let mut found = Found::default();
        loop {
            self.0 = self.0.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
            if let Some(rest) = self.0.strip_prefix('>') {
                return Some((found, rest));
            }
            let (name, value) = self.attribute()?;
            if found.href.is_none() && name.eq_ignore_ascii_case("href") {
                found.href = value;
            } else if name.eq_ignore_ascii_case("style") {
                found.hidden |= value.is_some_and(is_undisplayed);
            } else if name.eq_ignore_ascii_case("hidden") {
                found.hidden = true;
            }
        }
    }

    /// Reads one attribute; none if the document ends first.
    fn attribute(&mut self) -> Option<(&'x str, Option<&'x str>)> {
        let is_end = |b: u8| b.is_ascii_whitespace() || matches!(b, b'/' | b'>' | b'=');
        // a `=` at the start is part of the name
        let end = 1 + self.0.bytes().skip(1).position(is_end).filter(|_| !self.0.is_empty())?;
        let end = (end..=self.0.len()).find(|&end| self.0.is_char_boundary(end))?;
        let (name, rest) = self.0.split_at(end);
        let Some(rest) = rest.trim_ascii_start().strip_prefix('=') else {
            self.0 = rest;
            return Some((name, None));
        };
        let rest = rest.trim_ascii_start();
        let quote = rest.bytes().next().filter(|b| matches!(b, b'"' | b'\''));
        let (value, rest) = match quote {
            Some(quote) => {
                let end = 1 + memchr(quote, &rest.as_bytes()[1..])?;
                (&rest[1..end], &rest[end + 1..])
            }
            None => rest.split_at(rest.bytes().position(|b| b.is_ascii_whitespace() || b == b'>')?),
        };
        self.0 = rest;
        Some((name, Some(value)))
    }
}

/// Whether a style says `display: none`.
fn is_undisplayed(style: &str) -> bool {
    style.split(';').any(|declaration| {
        let Some((property, value)) = declaration.split_once(':') else {
            return false;
        };
        let value = value.split('!').next().unwrap_or_default();
        property.trim().eq_ignore_ascii_case("display") && value.trim().eq_ignore_ascii_case("none")
    })
}

/// Characters of an entity between `&` and `;`, at most; the longest name of the HTML standard has 31.
const ENTITY_MAX: usize = 32;

/// Replaces entities that end in `;`; anything else stays as it is.
///
/// Numbers of C1 control characters mean those of windows-1252, and zero means U+FFFD (HTML standard, section 13.2.5.80).
pub(crate) fn decode_entities(text: &str) -> Cow<'_, str> {
    if memchr(b'&', text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = memchr(b'&', rest.as_bytes()) {
        decoded.push_str(&rest[..start]);
        let entity = entity(&rest[start..]);
        rest = &rest[start + entity.len()..];
        let from = decoded.len();
        // copies what is no entity
        add_html_token(&mut decoded, entity.as_bytes(), false);
        let stands_for = match decoded[from..].chars().next() {
            Some('\0') => char::REPLACEMENT_CHARACTER.into(),
            Some(c @ '\u{80}'..='\u{9f}') => charset::windows_1252(&[c as u8]),
            _ => continue,
        };
        decoded.truncate(from);
        decoded.push_str(&stands_for);
    }
    decoded.push_str(rest);
    Cow::Owned(decoded)
}

/// The entity that `text` starts with, or the `&` alone.
fn entity(text: &str) -> &str {
    let is_name = |b: &u8| b.is_ascii_alphanumeric() || *b == b'#';
    let end = 1 + text.bytes().skip(1).take(ENTITY_MAX).take_while(is_name).count();
    if end > 1 && text.as_bytes().get(end) == Some(&b';') {
        &text[..=end]
    } else {
        &text[..1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(html: &str) -> String {
        let show = |token| match token {
            Token::Text(text) => format!("[{text}]"),
            Token::Open { name, href, hidden } => {
                let href = href.map(|href| format!(" {href}")).unwrap_or_default();
                format!("<{name}{href}{}>", if hidden { " -" } else { "" })
            }
            Token::Close(name) => format!("</{name}>"),
        };
        tokens(html).map(show).collect()
    }

    #[test]
    fn tags_texts_and_attributes() {
        for (html, expected) in [
            ("a<b>c</b>", "[a]<b>[c]</b>"),
            ("<a href=x>", "<a x>"),
            ("<A class='c>' HREF = \"x y\" href=z>t</A>", "<A x y>[t]</A>"),
            ("<a href='a\"b'/><br/>", "<a a\"b><br>"),
            ("<a href>", "<a>"),
            ("<a data-href=x>", "<a>"),
            ("<a =href=x>", "<a>"),
            ("<a é=1 href=x>", "<a x>"),
            (
                "<p hidden><p STYLE='color:red; Display : NONE !important'>",
                "<p -><p ->",
            ),
            (
                "<p style=display:none><p style='display:inline'><p style=''><p class=hidden>",
                "<p -><p><p><p>",
            ),
            ("1 < 2 <3", "[1 ][<][ 2 ][<][3]"),
            ("a<!-- <b> -->c<!-->d<!doctype html><?x?></ x>e", "[a][c][d][e]"),
            ("<style>a<b>{}</style>c", "<style></style>[c]"),
            ("<script>'</scripted>'</SCRIPT >c", "<script></SCRIPT>[c]"),
            ("a<script>b", "[a]<script>"),
            ("a<!-- b", "[a]"),
            ("a<b", "[a]"),
            ("a<b c=\"d", "[a]"),
            ("a<b c=", "[a]"),
            ("<", "[<]"),
            ("</", ""),
        ] {
            assert_eq!(shown(html), expected, "{html:?}");
        }
    }

    #[test]
    fn entities_with_a_semicolon_are_decoded() {
        for (text, decoded) in [
            ("a&amp;b", "a&b"),
            ("&lt;&gt;&quot;&#39;&#x27;&eacute;&nbsp;", "<>\"''é\u{a0}"),
            ("a&b;c&copy=1 &;&#;&#x;", "a&b;c&copy=1 &;&#;&#x;"),
            ("&amp;amp;", "&amp;"),
            ("&#xD800;&#x110000;", "\u{fffd}\u{fffd}"),
            ("&#128;&#x96;\u{85}", "€–\u{85}"),
            ("a&#0;b", "a\u{fffd}b"),
            ("é&é;", "é&é;"),
        ] {
            assert_eq!(decode_entities(text), decoded, "{text:?}");
        }
    }
}
