//! Macro strings (RFC 7208 section 7): read once, expanded for a client and a domain.

mod letter;

use std::fmt::Write as _;

use super::target::Target;
use letter::Letter;
pub(super) use letter::{Envelope, Values};

/// Longest expansion; far longer than a name, and than an explanation that is shown.
///
/// A record of 64 KiB may repeat a macro 16,000 times.
const LONGEST_EXPANSION: usize = 4096;

/// Where a macro string stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// In a term of a record.
    Record,
    /// In the text that `exp=` leads to: with spaces and three more macros.
    Explanation,
}

/// A macro string that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MacroString(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Literal(String),
    /// `%%`, `%_` or `%-`.
    Escape(&'static str),
    Macro(Macro),
}

/// `%{d2r.}`: a value, cut into parts, turned and joined again.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Macro {
    letter: Letter,
    /// How many parts are kept, from the right.
    keep: usize,
    reversed: bool,
    delimiters: String,
    /// An upper-case letter: as in a URL.
    escaped: bool,
}

impl MacroString {
    /// Reads a macro string.
    pub(super) fn parse(text: &str, place: Place) -> Option<Self> {
        let mut parts = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (literal, after) = rest.split_at(rest.find('%').unwrap_or(rest.len()));
            if !literal.bytes().all(|byte| is_literal(byte, place)) {
                return None;
            }
            if !literal.is_empty() {
                parts.push(Part::Literal(literal.to_owned()));
            }
            rest = after;
            if !rest.is_empty() {
                let (part, after) = expand_part(rest, place)?;
                parts.push(part);
                rest = after;
            }
        }
        Some(Self(parts))
    }

    /// Whether its expansion needs the name of the client.
    pub(super) fn wants_name(&self) -> bool {
        self.0
            .iter()
            .any(|part| matches!(part, Part::Macro(this) if this.letter == Letter::ValidatedName))
    }

    /// The text that it stands for; None if that is longer than any that is of use.
    pub(super) fn expand(&self, values: &Values<'_>) -> Option<String> {
        let mut text = String::new();
        for part in &self.0 {
            match part {
                Part::Literal(literal) => text.push_str(literal),
                Part::Escape(escape) => text.push_str(escape),
                Part::Macro(this) => text.push_str(&this.expand(values)),
            }
            if text.len() > LONGEST_EXPANSION {
                return None;
            }
        }
        Some(text)
    }
}

/// A macro string that names a domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DomainSpec(MacroString);

impl DomainSpec {
    /// Reads a `domain-spec` (RFC 7208 section 7.1): it ends in a macro, or in a dot and a label that is not a number.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let string = MacroString::parse(text, Place::Record)?;
        let ends_well = match string.0.last()? {
            Part::Literal(literal) => ends_in_top_label(literal),
            Part::Escape(_) | Part::Macro(_) => true,
        };
        ends_well.then_some(Self(string))
    }

    /// The domain of the record itself: what a mechanism without a `domain-spec` asks for.
    pub(super) fn of_record() -> Self {
        Self(MacroString(vec![Part::Macro(Macro {
            letter: Letter::Domain,
            keep: usize::MAX,
            reversed: false,
            delimiters: ".".to_owned(),
            escaped: false,
        })]))
    }

    /// Whether its expansion needs the name of the client.
    pub(super) fn wants_name(&self) -> bool {
        self.0.wants_name()
    }

    /// The name that it stands for; None if no query can carry it.
    pub(super) fn expand(&self, values: &Values<'_>) -> Option<Target> {
        Target::parse(&self.0.expand(values)?)
    }
}

fn is_literal(byte: u8, place: Place) -> bool {
    byte.is_ascii_graphic() || (byte == b' ' && place == Place::Explanation)
}

fn ends_in_top_label(literal: &str) -> bool {
    let literal = literal.strip_suffix('.').unwrap_or(literal);
    literal.rsplit_once('.').is_some_and(|(_, label)| is_top_label(label))
}

/// `toplabel`: letters, digits and inner hyphens, not digits alone.
fn is_top_label(label: &str) -> bool {
    label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        && label.bytes().any(|byte| !byte.is_ascii_digit())
        && !label.starts_with('-')
        && !label.ends_with('-')
}

/// What a percent sign starts, and what follows it.
fn expand_part(text: &str, place: Place) -> Option<(Part, &str)> {
    let escape = match text.as_bytes().get(1)? {
        b'%' => "%",
        b'_' => " ",
        b'-' => "%20",
        b'{' => {
            let (inside, after) = text[2..].split_once('}')?;
            return Some((Part::Macro(Macro::parse(inside, place)?), after));
        }
        _ => return None,
    };
    Some((Part::Escape(escape), &text[2..]))
}

impl Macro {
    /// Reads what stands between the braces.
    fn parse(inside: &str, place: Place) -> Option<Self> {
        let letter = inside.chars().next()?;
        let rest = &inside[letter.len_utf8()..];
        let (digits, rest) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()));
        let delimiters = rest.strip_prefix(['r', 'R']);
        let reversed = delimiters.is_some();
        let delimiters = delimiters.unwrap_or(rest);
        let is_delimiter = |c| matches!(c, '.' | '-' | '+' | ',' | '/' | '_' | '=');
        delimiters.chars().all(is_delimiter).then_some(())?;
        Some(Self {
            letter: Letter::parse(letter, place)?,
            keep: parse_keep(digits)?,
            reversed,
            delimiters: if delimiters.is_empty() { "." } else { delimiters }.to_owned(),
            escaped: letter.is_ascii_uppercase(),
        })
    }

    fn expand(&self, values: &Values<'_>) -> String {
        let value = self.letter.value(values);
        let mut parts: Vec<&str> = value.split(|c| self.delimiters.contains(c)).collect();
        if self.reversed {
            parts.reverse();
        }
        let dropped = parts.len().saturating_sub(self.keep);
        let text = parts[dropped..].join(".");
        if self.escaped { url_escaped(&text) } else { text }
    }
}

/// How many parts are kept: all without a number, and never none of them (RFC 7208 section 7.1).
fn parse_keep(digits: &str) -> Option<usize> {
    if !digits.is_empty() && digits.bytes().all(|digit| digit == b'0') {
        return None;
    }
    // More than a usize is more than there are parts.
    Some(digits.parse().unwrap_or(usize::MAX))
}

/// Everything but the unreserved characters of RFC 3986 section 2.3 as `%xx`.
fn url_escaped(text: &str) -> String {
    text.bytes().fold(String::new(), |mut escaped, byte| {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            escaped.push(char::from(byte));
        } else {
            let _ = write!(escaped, "%{byte:02X}");
        }
        escaped
    })
}

#[cfg(test)]
mod tests {
    use restante_model::Timestamp;

    use super::*;

    fn expanded(text: &str, ip: &str, place: Place) -> Option<String> {
        let envelope = Envelope {
            ip: ip.parse().expect("an address"),
            local_part: "strong-bad".to_owned(),
            domain: "email.example.com".to_owned(),
            helo: "mx.example.org".to_owned(),
            received_at: Timestamp::from_unix_ms(1_794_700_800_999),
        };
        let values = Values {
            envelope: &envelope,
            domain: &Target::parse("email.example.com").expect("a name"),
            validated: None,
        };
        MacroString::parse(text, place).and_then(|string| string.expand(&values))
    }

    #[test]
    fn macros_are_expanded_as_the_rfc_shows() {
        // RFC 7208 section 7.4.
        for (text, ip, expected) in [
            ("%{s}", "192.0.2.3", "strong-bad@email.example.com"),
            ("%{o}", "192.0.2.3", "email.example.com"),
            ("%{d}", "192.0.2.3", "email.example.com"),
            ("%{d4}", "192.0.2.3", "email.example.com"),
            ("%{d3}", "192.0.2.3", "email.example.com"),
            ("%{d2}", "192.0.2.3", "example.com"),
            ("%{d1}", "192.0.2.3", "com"),
            ("%{dr}", "192.0.2.3", "com.example.email"),
            ("%{d2r}", "192.0.2.3", "example.email"),
            ("%{l}", "192.0.2.3", "strong-bad"),
            ("%{l-}", "192.0.2.3", "strong.bad"),
            ("%{lr}", "192.0.2.3", "strong-bad"),
            ("%{lr-}", "192.0.2.3", "bad.strong"),
            ("%{l1r-}", "192.0.2.3", "strong"),
            (
                "%{ir}.%{v}._spf.%{d2}",
                "192.0.2.3",
                "3.2.0.192.in-addr._spf.example.com",
            ),
            ("%{lr-}.lp._spf.%{d2}", "192.0.2.3", "bad.strong.lp._spf.example.com"),
            (
                "%{lr-}.lp.%{ir}.%{v}._spf.%{d2}",
                "192.0.2.3",
                "bad.strong.lp.3.2.0.192.in-addr._spf.example.com",
            ),
            (
                "%{ir}.%{v}.%{l1r-}.lp._spf.%{d2}",
                "192.0.2.3",
                "3.2.0.192.in-addr.strong.lp._spf.example.com",
            ),
            (
                "%{d2}.trusted-domains.example.net",
                "192.0.2.3",
                "example.com.trusted-domains.example.net",
            ),
            (
                "%{ir}.%{v}._spf.%{d2}",
                "2001:db8::cb01",
                "1.0.b.c.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6._spf.example.com",
            ),
            // Beyond its examples.
            ("%{S}", "192.0.2.3", "strong-bad%40email.example.com"),
            ("%{p}.%{h}", "192.0.2.3", "unknown.mx.example.org"),
            ("%%%_%-x", "192.0.2.3", "% %20x"),
            ("%{d99999999999999999999}", "192.0.2.3", "email.example.com"),
            ("%{d0002}", "192.0.2.3", "example.com"),
            ("%{D2R}", "192.0.2.3", "example.email"),
        ] {
            assert_eq!(expanded(text, ip, Place::Record).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn an_explanation_has_spaces_and_more_macros() {
        for (text, expected) in [
            ("%{c} is bad", "2001:db8::1 is bad"),
            ("%{r} at %{t}", "unknown at 1794700800"),
        ] {
            let expand = |place| expanded(text, "2001:db8::1", place);
            assert_eq!(expand(Place::Explanation).as_deref(), Some(expected));
            assert_eq!(expand(Place::Record), None);
        }
    }

    #[test]
    fn what_is_no_macro_string_is_refused() {
        for text in [
            "%", "%a", "%(ir)", "%{", "%{}", "%{d", "%{z}", "%{d0}", "%{d00}", "%{drr}", "%{dr2}", "%{d*}", "%{ä}",
            "a b", "a\tb", "ä", "\u{7f}",
        ] {
            assert_eq!(MacroString::parse(text, Place::Record), None, "{text}");
        }
    }

    #[test]
    fn an_endless_expansion_has_no_text() {
        assert_eq!(expanded(&"%{s}".repeat(16_000), "192.0.2.3", Place::Record), None);
    }

    #[test]
    fn the_domain_of_the_record_is_what_d_stands_for() {
        assert_eq!(DomainSpec::parse("%{d}"), Some(DomainSpec::of_record()));
    }

    #[test]
    fn a_domain_ends_in_a_macro_or_a_top_label() {
        for good in [
            "a.test",
            "a.test.",
            "_a.b-.test",
            "a..test",
            "a:b/c.test",
            "%{d}",
            "%{d}.test",
            "a.t-t",
            "a.xn--p1ai",
            "a.1x",
            "%%",
        ] {
            assert!(DomainSpec::parse(good).is_some(), "{good}");
        }
        for bad in [
            "",
            "museum",
            "museum.",
            "111.222.33.44",
            "abc.123",
            "%{d}x",
            "a.test..",
            "a.-tt",
            "a.tt-",
            "a.t_t",
            "a.test/24",
            ".",
            "a.",
        ] {
            assert_eq!(DomainSpec::parse(bad), None, "{bad}");
        }
    }
}
