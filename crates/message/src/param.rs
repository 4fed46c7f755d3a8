//! Content-Type and Content-Disposition: a value with parameters (RFC 2045 section 5.1, RFC 2183, RFC 2231).

use crate::charset;
use crate::header;
use crate::transfer;

/// A value and its parameters, as far as they can be made out.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Parameterised {
    /// What stands before the first `;`, in lowercase, without white space and comments.
    pub(crate) value: String,
    parameters: Vec<Parameter>,
}

#[derive(Debug, PartialEq, Eq)]
struct Parameter {
    /// In lowercase.
    name: String,
    /// Unquoted; if it was not quoted, with what may be a comment after it: mail has names like `report (1).pdf`.
    value: String,
    /// Octets of the value before that.
    token_len: usize,
}

impl Parameterised {
    /// Reads an unfolded field value.
    pub(crate) fn parse(source: &str) -> Self {
        let mut segments = split_segments(source).into_iter();
        let value = first_token(&segments.next().unwrap_or_default().text);
        let parameters = segments.filter_map(|segment| {
            let equals = segment.equals?;
            let (name, value) = (segment.text.get(..equals)?, segment.text.get(equals + 1..)?);
            let unquoted = segment.text.get(segment.quoted..)?;
            let comment = unquoted.find(" (").or_else(|| unquoted.find("\t("));
            let token = &value[..value.len() - comment.map_or(0, |at| unquoted.len() - at)];
            let is_quoted = segment.quoted > equals + 1;
            Some(Parameter {
                name: name.trim().to_ascii_lowercase(),
                token_len: token.trim().len(),
                value: if is_quoted { token } else { value }.trim().to_owned(),
            })
        });
        Self {
            value,
            parameters: parameters.collect(),
        }
    }

    /// The decoded value of a parameter: the extended form (`name*`) if there is one, else the plain one.
    pub(crate) fn get(&self, name: &str) -> Option<String> {
        let plain = || self.plain(name).map(|found| found.value.clone());
        let value = self.extended(name).or_else(plain)?;
        Some(header::decoded(&value).0).filter(|value| !value.is_empty())
    }

    /// A parameter that is no text for a person, as a boundary, a charset or an id: nothing in it is an encoded word,
    /// and a comment may follow it (RFC 2045 section 5.1).
    pub(crate) fn token(&self, name: &str) -> Option<String> {
        let plain = || self.plain(name).map(|found| found.value[..found.token_len].to_owned());
        self.extended(name).or_else(plain).filter(|value| !value.is_empty())
    }

    fn plain(&self, name: &str) -> Option<&Parameter> {
        self.parameters.iter().find(|found| found.name == name)
    }

    /// Joins and decodes `name*`, `name*0`, `name*1*`, … (RFC 2231 sections 3 and 4).
    fn extended(&self, name: &str) -> Option<String> {
        let mut pieces: Vec<Piece<'_>> = self
            .parameters
            .iter()
            .filter_map(|found| Piece::of(name, &found.name, &found.value))
            .collect();
        pieces.sort_by_key(|piece| piece.number);
        pieces.dedup_by_key(|piece| piece.number);
        let first = pieces.first()?;
        if first.number > 0 && self.plain(name).is_some() {
            return None; // the rest of a name is worth less than another name
        }
        let (label, first_value) = if first.is_encoded {
            split_charset(first.value)
        } else {
            ("utf-8", first.value)
        };
        let mut bytes = Vec::new();
        for (index, piece) in pieces.iter().enumerate() {
            let value = if index == 0 { first_value } else { piece.value };
            if piece.is_encoded {
                transfer::unescape(b'%', value.as_bytes(), &mut bytes);
            } else {
                bytes.extend_from_slice(value.as_bytes());
            }
        }
        let text = charset::decode_word(&bytes, label).unwrap_or_else(|| String::from_utf8_lossy(&bytes).into_owned());
        Some(text)
    }
}

/// The first token of a text, or the two around a `/`, in lowercase; what follows them is junk.
fn first_token(text: &str) -> String {
    let ends = |c: char| c.is_whitespace() || ",=".contains(c);
    let (kind, subtype) = text.split_once('/').unwrap_or((text, ""));
    let (kind, subtype) = (kind.trim(), subtype.trim());
    if kind.contains(ends) || subtype.is_empty() {
        return kind.split(ends).next().unwrap_or_default().to_ascii_lowercase();
    }
    let subtype = subtype.split(ends).next().unwrap_or_default();
    format!("{kind}/{subtype}").to_ascii_lowercase()
}

/// One numbered piece of a parameter.
struct Piece<'x> {
    number: u32,
    is_encoded: bool,
    value: &'x str,
}

impl<'x> Piece<'x> {
    fn of(name: &str, found: &str, value: &'x str) -> Option<Self> {
        let suffix = found.strip_prefix(name)?.strip_prefix('*')?;
        let (number, is_encoded) = match suffix.strip_suffix('*') {
            Some(number) => (number, true),
            None => (suffix, suffix.is_empty()),
        };
        let number = if number.is_empty() { 0 } else { number.parse().ok()? };
        Some(Self {
            number,
            is_encoded,
            value,
        })
    }
}

/// Splits `charset'language'text`; a value without the two quotes is all text.
fn split_charset(value: &str) -> (&str, &str) {
    let mut parts = value.splitn(3, '\'');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(label), Some(_language), Some(text)) => (if label.is_empty() { "utf-8" } else { label }, text),
        _ => ("utf-8", value),
    }
}

/// What stands between two `;`: unquoted, without comments.
#[derive(Debug, Default)]
struct Segment {
    text: String,
    /// Where the first unquoted `=` is.
    equals: Option<usize>,
    /// Where the last quotes after it end.
    quoted: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Plain,
    Quoted,
    Comment(usize),
}

fn split_segments(source: &str) -> Vec<Segment> {
    let mut segments = Vec::new();
    let mut segment = Segment::default();
    let mut state = State::Plain;
    let mut characters = source.chars();
    while let Some(c) = characters.next() {
        state = match (state, c) {
            (State::Comment(1), ')') => State::Plain,
            (State::Quoted, '"') => {
                segment.quoted = segment.text.len();
                State::Plain
            }
            (State::Quoted, '\\') => {
                segment.text.extend(characters.next());
                state
            }
            (State::Comment(depth), '(') => State::Comment(depth + 1),
            (State::Comment(depth), ')') => State::Comment(depth - 1),
            (State::Comment(_), '\\') => {
                characters.next();
                state
            }
            (State::Comment(_), _) => state,
            (State::Plain, '"') => State::Quoted,
            // a comment stands between tokens: mail has unquoted names like `report (1).pdf`
            (State::Plain, '(') if segment.equals.is_none() => State::Comment(1),
            (State::Plain, ';') => {
                segments.push(std::mem::take(&mut segment));
                state
            }
            (State::Plain, '=') if segment.equals.is_none() => {
                segment.equals = Some(segment.text.len());
                segment.quoted = segment.text.len() + 1;
                segment.text.push(c);
                state
            }
            (State::Plain | State::Quoted, _) => {
                segment.text.push(c);
                state
            }
        };
    }
    segments.push(segment);
    segments
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filename(source: &str) -> Option<String> {
        Parameterised::parse(source).get("filename")
    }

    #[test]
    fn the_value_is_lowercase_without_space_and_comments() {
        for (source, value) in [
            ("Text/HTML; charset=x", "text/html"),
            ("text / plain (yes; really)", "text/plain"),
            ("text/html charset=utf-8", "text/html"),
            ("text/html, charset=utf-8", "text/html"),
            ("attachment filename=a/b", "attachment"),
            ("text/", "text"),
            ("/plain", "/plain"),
            ("", ""),
            (";", ""),
            ("attachment", "attachment"),
        ] {
            assert_eq!(Parameterised::parse(source).value, value, "{source:?}");
        }
    }

    #[test]
    fn parameters_are_found_in_every_form() {
        for (source, value) in [
            ("a; filename=x.txt", Some("x.txt")),
            ("a; FileName = x.txt ;b=c", Some("x.txt")),
            (r#"a; filename="a;b=\"c\".txt""#, Some("a;b=\"c\".txt")),
            (r#"a; filename="open"#, Some("open")),
            ("a; filename=my report (1).pdf", Some("my report (1).pdf")),
            ("a; filename==?utf-8?q?=C3=A9?=.txt", Some("é.txt")),
            (r#"a; filename="=?utf-8?b?w6k=?=""#, Some("é")),
            ("a; filename*=utf-8'en'%C3%A9.txt; filename=e.txt", Some("é.txt")),
            ("a; filename*=iso-8859-1''%E9", Some("é")),
            ("a; filename*=plain", Some("plain")),
            ("a; filename*=''%C3%A9", Some("é")),
            ("a; filename*0=one; filename*1=two", Some("onetwo")),
            ("a; filename*1*=%20two; filename*0*=utf-8''%C3%A9", Some("é two")),
            ("a; filename*0*=utf-8''%C3; filename*1*=%A9; filename*2=.x", Some("é.x")),
            ("a; filename*=utf-8''50%", Some("50%")),
            ("a; filename*=klingon''%C3%A9", Some("é")),
            ("a; filename*=utf-8''a%0D%0Ab", Some("a  b")),
            ("a; filename*0=one; filename*0=1; filename*1=two", Some("onetwo")),
            ("a; filename*1=two; filename=plain", Some("plain")),
            ("a; filename*1=two", Some("two")),
            (r#"a; (b) filename (c) = "x.txt" (d)"#, Some("x.txt")),
            ("a; filename*x=1", None),
            ("a; filename=", None),
            ("a; filename", None),
        ] {
            assert_eq!(filename(source).as_deref(), value, "{source:?}");
        }
    }

    #[test]
    fn tokens_are_as_written_up_to_a_comment() {
        for (source, value) in [
            ("a; boundary==?utf-8?q?b?=", Some("=?utf-8?q?b?=")),
            (r#"a; boundary="=?b?" (c)"#, Some("=?b?")),
            (r#"a; boundary="b (c) " (d)"#, Some("b (c)")),
            ("a; boundary=us-ascii (Plain text)", Some("us-ascii")),
            ("a; boundary*0=one; boundary*1=two", Some("onetwo")),
            ("a; boundary=\"\"", None),
            ("a", None),
        ] {
            assert_eq!(
                Parameterised::parse(source).token("boundary").as_deref(),
                value,
                "{source:?}"
            );
        }
    }
}
