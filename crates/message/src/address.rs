//! Address lists (RFC 5322 section 3.4), read leniently.

use crate::comment;
use crate::header;
use crate::parsed::Mailbox;

/// The mailboxes of an unfolded, undecoded address field, in order.
///
/// Members of groups stand one by one; an empty group (`undisclosed-recipients:;`) has none.
/// A display name without an address is no mailbox.
pub(crate) fn parse(source: &str) -> Vec<Mailbox> {
    read(source).mailboxes
}

/// The mailboxes of an address field, and whether somebody else may read others in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MailboxList {
    /// As [`crate::parse`] shows them.
    pub mailboxes: Vec<Mailbox>,
    /// Whether the field is more or less than a list of addresses (RFC 5322 section 3.4, obsolete forms included):
    /// several addresses run together, text left over, a quote left open.
    ///
    /// Brackets and non-ASCII characters in a display name make nothing doubtful.
    pub is_doubtful: bool,
    /// Whether there are commas, colons or semicolons between words: signs of a list or a group, whatever is in it.
    pub has_separators: bool,
}

impl MailboxList {
    /// Reads the value of a field, as it stands in the message.
    pub fn read(value: &[u8]) -> Self {
        read(&header::unfold(value).0)
    }
}

fn read(source: &str) -> MailboxList {
    let mut reader = Reader::default();
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        reader.list.has_separators |= matches!(c, ',' | ':' | ';');
        match c {
            '"' => rest = reader.quoted(rest),
            '(' => rest = reader.comment(rest),
            '<' => rest = reader.angle(rest),
            ',' => reader.finish(),
            ';' => reader.end_group(),
            ':' => reader.group(),
            // Other blanks than RFC 5322's belong to the word: without them it would be another address.
            c if c.is_ascii_whitespace() => reader.end_word(),
            c => reader.word.push(c),
        }
    }
    reader.finish();
    reader.doubt_if(reader.in_group);
    reader.list
}

/// The mailbox being read, and those that are complete.
#[derive(Default)]
struct Reader {
    list: MailboxList,
    in_group: bool,
    /// Words outside angle brackets and comments.
    words: Vec<Word>,
    word: String,
    angle: Option<String>,
    comment: Option<String>,
}

/// A word of a display name or a bare address.
struct Word {
    text: String,
    is_quoted: bool,
}

impl Reader {
    fn doubt_if(&mut self, is_doubtful: bool) {
        self.list.is_doubtful |= is_doubtful;
    }

    /// A quoted string: of a display name, or the local part of an address, which keeps its quotes.
    fn quoted<'x>(&mut self, rest: &'x str) -> &'x str {
        let (content, after) = until(rest, '"');
        self.doubt_if(after.is_none() || self.angle.is_some());
        let after = after.unwrap_or_default();
        if after.starts_with('@') {
            self.word.push('"');
            self.word.push_str(&rest[..rest.len() - after.len()]);
        } else {
            self.end_word();
            self.words.push(Word {
                text: content,
                is_quoted: true,
            });
        }
        after
    }

    fn comment<'x>(&mut self, rest: &'x str) -> &'x str {
        self.end_word();
        let (content, after) = comment(rest);
        self.doubt_if(after.is_none());
        self.comment.get_or_insert(content);
        after.unwrap_or_default()
    }

    /// An address between angle brackets; a source route before it is dropped (RFC 5322 section 4.4).
    fn angle<'x>(&mut self, rest: &'x str) -> &'x str {
        self.end_word();
        self.doubt_if(self.angle.is_some() || rest.starts_with('<'));
        let rest = rest.trim_start_matches('<');
        let end = angle_end(rest);
        self.doubt_if(!rest[end..].starts_with('>') || rest[end..].starts_with(">>"));
        let content = comment::strip(&rest[..end]);
        let address = match content.trim_ascii().split_once(':') {
            Some((route, address)) if route.starts_with('@') => address,
            _ => &content,
        };
        self.angle.get_or_insert_with(|| close_up(address));
        rest[end..].trim_start_matches('>')
    }

    /// A colon: the words before it name a group.
    fn group(&mut self) {
        self.end_word();
        self.doubt_if(self.in_group || self.angle.is_some() || self.words.is_empty());
        self.doubt_if(self.words.iter().any(Word::is_no_phrase));
        self.in_group = true;
        self.words.clear();
        self.comment = None;
    }

    /// A semicolon, which ends a group; between addresses it is meant as a comma.
    fn end_group(&mut self) {
        self.finish();
        self.doubt_if(!self.in_group);
        self.in_group = false;
    }

    fn end_word(&mut self) {
        if !self.word.is_empty() {
            self.doubt_if(self.angle.is_some());
            self.words.push(Word {
                text: std::mem::take(&mut self.word),
                is_quoted: false,
            });
        }
    }

    fn finish(&mut self) {
        self.end_word();
        let mut words = std::mem::take(&mut self.words);
        let comment = self.comment.take();
        let angle = self.angle.take();
        let is_bare = angle.is_none();
        let Some(address) = angle.or_else(|| bare_address(&mut words)) else {
            self.doubt_if(!words.is_empty());
            return;
        };
        self.doubt_if(is_bare && !words.is_empty() || words.iter().any(Word::is_no_phrase));
        self.doubt_if(!is_addr_spec(&address));
        let phrase = words
            .iter()
            .map(|word| word.text.as_str())
            .collect::<Vec<_>>()
            .join(" ");
        let name = Some(phrase).filter(|phrase| !phrase.is_empty()).or(comment);
        let name = name
            .map(|name| header::decoded(&name).0)
            .filter(|name| !name.is_empty());
        if !address.is_empty() {
            self.list.mailboxes.push(Mailbox { name, address });
        }
    }
}

impl Word {
    /// Whether a person or a program may take it for an address.
    fn is_no_phrase(&self) -> bool {
        !self.is_quoted && self.text.contains(['@', '>', '\\'])
    }
}

/// Whether an address has one local part and one domain (RFC 5322 section 3.4.1).
fn is_addr_spec(address: &str) -> bool {
    let is_special = |c: char| c.is_whitespace() || c.is_control() || r#"()<>[]:;@\,""#.contains(c);
    let (has_local, domain) = match address.strip_prefix('"') {
        Some(quoted) => (true, until(quoted, '"').1.and_then(|after| after.strip_prefix('@'))),
        None => match address.split_once('@') {
            Some((local, domain)) => (!local.is_empty() && !local.contains(is_special), Some(domain)),
            None => (false, None),
        },
    };
    let is_domain = |domain: &str| {
        let literal = domain.strip_prefix('[').and_then(|domain| domain.strip_suffix(']'));
        let text = literal.map_or_else(|| domain.to_owned(), |literal| literal.replace(':', ""));
        !text.is_empty() && !text.contains(is_special)
    };
    has_local && domain.is_some_and(is_domain)
}

/// Takes the address out of words that have none in angle brackets: the words around an `@`, or a single word.
fn bare_address(words: &mut Vec<Word>) -> Option<String> {
    let is_address = |word: &Word| !word.is_quoted && word.text.contains('@');
    let Some(at) = words.iter().position(is_address) else {
        // a name of the local host; an encoded word is text for a person
        let alone = words.len() == 1 && !words[0].is_quoted && !words[0].text.starts_with("=?");
        return if alone { words.pop().map(|word| word.text) } else { None };
    };
    // RFC 5322 section 4.4: white space may stand around the `@` and the dots
    let joins = |at: usize| words[at].text.ends_with(['@', '.']) || words[at + 1].text.starts_with(['@', '.']);
    let (mut first, mut last) = (at, at);
    while first > 0 && joins(first - 1) {
        first -= 1;
    }
    while last + 1 < words.len() && joins(last) {
        last += 1;
    }
    Some(words.drain(first..=last).map(|word| word.text).collect())
}

/// An address without the white space around its `@` and dots; one space for any other.
fn close_up(address: &str) -> String {
    let mut closed = String::with_capacity(address.len());
    for word in address.split_ascii_whitespace() {
        if !closed.is_empty() && !closed.ends_with(['@', '.']) && !word.starts_with(['@', '.']) {
            closed.push(' ');
        }
        closed.push_str(word);
    }
    closed
}

/// The text up to an unescaped `end`, unescaped, and what follows; an open text reaches to the end, and nothing follows.
fn until(text: &str, end: char) -> (String, Option<&str>) {
    let mut content = String::new();
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => content.extend(characters.next()),
            c if c == end => return (content, Some(characters.as_str())),
            c => content.push(c),
        }
    }
    (content, None)
}

/// The text of a comment whose `(` has been read, and what follows it; comments nest.
fn comment(text: &str) -> (String, Option<&str>) {
    let mut content = String::new();
    let mut depth = 1_usize;
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => {
                content.extend(characters.next());
                continue;
            }
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return (content, Some(characters.as_str()));
        }
        content.push(c);
    }
    (content, None)
}

/// Where the `>` of an address is, not counting one inside a quoted local part.
fn angle_end(text: &str) -> usize {
    let mut in_quotes = false;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_quotes => escaped = true,
            b'"' => in_quotes = !in_quotes,
            b'>' if !in_quotes => return at,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_in_every_form() {
        for (source, shown) in [
            ("", ""),
            ("bob@x.test", "bob@x.test"),
            ("<bob@x.test>", "bob@x.test"),
            ("Bob <bob@x.test>, al@x.test", "Bob <bob@x.test>|al@x.test"),
            (r#""Smith, Bob" <bob@x.test>"#, r#""Smith, Bob" <bob@x.test>"#),
            (r#""Bob \"B\"" <bob@x.test>"#, r#""Bob \"B\"" <bob@x.test>"#),
            ("=?utf-8?q?J=C3=B6rg?= =?utf-8?q?_M?= <j@x.test>", "Jörg M <j@x.test>"),
            (r#""=?utf-8?q?J=C3=B6rg?=" <j@x.test>"#, "Jörg <j@x.test>"),
            ("=?utf-8?q?a=2C_b?= <j@x.test>", r#""a, b" <j@x.test>"#),
            ("bob@x.test (Bob Smith)", "Bob Smith <bob@x.test>"),
            ("Bob (the (one)) <bob@x.test>", "Bob <bob@x.test>"),
            (
                "Team: a@x.test, B <b@x.test>;, c@x.test",
                "a@x.test|B <b@x.test>|c@x.test",
            ),
            ("undisclosed-recipients:;", ""),
            (r#""a b"@x.test"#, r#""a b"@x.test"#),
            (r#"N <"a>b"@x.test>"#, r#"N <"a>b"@x.test>"#),
            ("<@r1.test,@r2.test:bob@x.test>", "bob@x.test"),
            ("bob @ x.test", "bob@x.test"),
            (
                "bob@x\u{a0}.test, <a@\u{2003}y.test>",
                "bob@x\u{a0}.test|a@\u{2003}y.test",
            ),
            (
                "Mary <@n.test:m@x.test>, , jdoe@one  . test",
                "Mary <m@x.test>|jdoe@one.test",
            ),
            ("<jdoe @ one . test>", "jdoe@one.test"),
            (
                r"Pete(A nice \) chap) <pete(his account)@silly.test(his host)>",
                "Pete <pete@silly.test>",
            ),
            (
                "A Group(Some people) :Chris Jones <c@(Chris's host.)public.test>, joe@x.test, \
                 John <jdoe@one.test> (my dear friend); (the end of the group)",
                "Chris Jones <c@public.test>|joe@x.test|John <jdoe@one.test>",
            ),
            ("(Empty list)(start)Hidden recipients  :(nobody(that I know))  ;", ""),
            ("Joe Q. Public <j.q.p@x.test>", "Joe Q. Public <j.q.p@x.test>"),
            ("Bob Smith bob@x.test", "Bob Smith <bob@x.test>"),
            ("root", "root"),
            ("Bob Smith", ""),
            (r#""Bob""#, ""),
            ("Bob <>", ""),
            ("<<bob@x.test>>, a@x.test", "bob@x.test|a@x.test"),
            ("=?utf-8?q?Bob_=3Cbob=40x=2Etest=3E?=", ""),
            ("Bob <bob@x.test", "Bob <bob@x.test>"),
            ("a@x.test;b@x.test", "a@x.test|b@x.test"),
            (",,a@x.test,,", "a@x.test"),
            ("@", "@"),
            ("\"open", ""),
            ("(open", ""),
        ] {
            let found: Vec<String> = parse(source).iter().map(Mailbox::to_string).collect();
            assert_eq!(found.join("|"), shown, "{source:?}");
        }
    }

    #[test]
    fn what_others_may_read_otherwise_is_doubtful() {
        for source in [
            "",
            "j@o.test",
            "J. Ö. [x] <j@o.test>",
            "\"x@p.test\" <j@o.test>",
            "=?utf-8?q?x=40p.test?= <j@o.test>",
            "(c) j (x) @ (y) o . test",
            "j@ o.test",
            "<@r.test:j@o.test> (c)",
            "a@o.test, , B <b@o.test>,",
            "g: a@o.test, <b@o.test>; , c@o.test",
            "undisclosed:;",
            r#""a \" b"@o.test"#,
            r#"N <"a>b"@o.test>"#,
            "j@[192.0.2.1]",
            "<j@[IPv6:2001:db8::1]>",
        ] {
            assert!(!read(source).is_doubtful, "{source:?}");
        }
        for source in [
            "a<b@p.test>c<j@o.test>",
            "<j@o.test> <x@p.test>",
            "<j@o.test> x@p.test",
            "j@o.test x@p.test",
            "j@o.test <x@p.test>",
            "j@o.test; x@p.test",
            "j@o.test From: x@p.test",
            "g: a@o.test",
            "g: h: a@o.test;",
            ": a@o.test;",
            "<a@o.test>: b@o.test;",
            "a@p.test@o.test",
            "<a@p.test@o.test>",
            "<<j@o.test>>",
            "<j@o.test",
            "j@o.test>",
            "<j x@o.test>",
            "<j@o.test> \"k\"",
            "j@o.test, \"k\"",
            "joe",
            "joe <>",
            "@o.test",
            "j@",
            "j@o.test (x",
            "\"j@o.test",
            "j\\@o.test",
            "j@o\u{a0}.test",
            "<j@o.test\u{a0}>",
        ] {
            assert!(read(source).is_doubtful, "{source:?}");
        }
    }

    #[test]
    fn separators_stand_between_words() {
        for source in [
            ",a@o.test",
            "a@o.test,",
            "a@o.test, b@o.test",
            "g: a@o.test;",
            "a@o.test;",
        ] {
            assert!(read(source).has_separators, "{source:?}");
        }
        for source in ["", "\"a, b:\" <\";,\"@o.test> (c, d;)", "<j@[IPv6:2001:db8::1]>"] {
            assert!(!read(source).has_separators, "{source:?}");
        }
    }
}
