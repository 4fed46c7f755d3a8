//! Tag lists (RFC 6376 section 3.2): the form of signatures and of key records.

/// Most tags of a list; a signature has about a dozen.
const MOST_TAGS: usize = 64;

/// The tags of a list, each name once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tags<'a>(Vec<(&'a [u8], &'a [u8])>);

/// What breaks a whole list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TagFlaw {
    /// A part has no `=`, or nothing before it.
    #[error("a tag has no name or no value")]
    Malformed,
    /// A name stands twice, which makes the list invalid (RFC 6376 section 3.2).
    #[error("a tag stands twice")]
    Duplicate,
    /// More than [`MOST_TAGS`] tags.
    #[error("there are too many tags")]
    TooMany,
}

impl<'a> Tags<'a> {
    /// Reads what can be read, and the first flaw.
    pub(crate) fn read(list: &'a [u8]) -> (Self, Option<TagFlaw>) {
        let mut tags = Self::default();
        let mut flaw = None;
        for part in list.split(|&byte| byte == b';') {
            if tags.0.len() == MOST_TAGS {
                return (tags, flaw.or(Some(TagFlaw::TooMany)));
            }
            if let Err(found) = tags.add(part.trim_ascii()) {
                flaw = flaw.or(Some(found));
            }
        }
        (tags, flaw)
    }

    /// The value of a tag without surrounding white space.
    pub(crate) fn get(&self, name: &str) -> Option<&'a [u8]> {
        let found = self.0.iter().find(|(tag, _)| *tag == name.as_bytes());
        found.map(|(_, value)| *value)
    }

    /// The first tag.
    pub(crate) fn first(&self) -> Option<(&'a [u8], &'a [u8])> {
        self.0.first().copied()
    }

    fn add(&mut self, part: &'a [u8]) -> Result<(), TagFlaw> {
        if part.is_empty() {
            // The list may end in a semicolon; two in a row harm nobody.
            return Ok(());
        }
        let equals = part.iter().position(|&byte| byte == b'=').ok_or(TagFlaw::Malformed)?;
        let name = part[..equals].trim_ascii();
        if name.is_empty() {
            return Err(TagFlaw::Malformed);
        }
        if self.0.iter().any(|(tag, _)| *tag == name) {
            return Err(TagFlaw::Duplicate);
        }
        self.0.push((name, part[equals + 1..].trim_ascii()));
        Ok(())
    }
}

/// The parts of a value that is a list with colons, each without white space around it.
pub(crate) fn items(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b':').map(<[u8]>::trim_ascii)
}

/// Where the value of `b=` stands in a signature field: between the `=` and the next `;` or the end.
pub(crate) fn signature_value(field: &[u8]) -> Option<std::ops::Range<usize>> {
    let mut start = 0;
    for part in field.split(|&byte| byte == b';') {
        let end = start + part.len();
        let equals = part.iter().position(|&byte| byte == b'=');
        if let Some(equals) = equals.filter(|&equals| part[..equals].trim_ascii() == b"b") {
            return Some(start + equals + 1..end);
        }
        start = end + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_around_names_and_values_is_no_part_of_them() {
        let (tags, flaw) = Tags::read(b" v=1;\r\n\ta = rsa-sha256 ;d=example.test;\r\n");
        assert_eq!(flaw, None);
        assert_eq!(tags.get("v"), Some(&b"1"[..]));
        assert_eq!(tags.get("a"), Some(&b"rsa-sha256"[..]));
        assert_eq!(tags.get("d"), Some(&b"example.test"[..]));
        assert_eq!(tags.get("s"), None);
        assert_eq!(tags.first(), Some((&b"v"[..], &b"1"[..])));
    }

    #[test]
    fn a_flaw_leaves_the_rest_readable() {
        for (list, expected) in [
            (&b"junk; d=a.test"[..], TagFlaw::Malformed),
            (b"=x; d=a.test", TagFlaw::Malformed),
            (b"d=a.test; d=b.test", TagFlaw::Duplicate),
        ] {
            let (tags, flaw) = Tags::read(list);
            assert_eq!(flaw, Some(expected));
            assert_eq!(tags.get("d"), Some(&b"a.test"[..]));
        }
    }

    #[test]
    fn the_number_of_tags_is_bounded() {
        let list: Vec<String> = (0..=MOST_TAGS).map(|number| format!("t{number}=x")).collect();
        assert_eq!(Tags::read(list.join(";").as_bytes()).1, Some(TagFlaw::TooMany));
    }

    #[test]
    fn the_place_of_the_signature_value() {
        for (field, value) in [
            (&b"v=1; b=abc; d=x"[..], &b"abc"[..]),
            (b"bh=no; b = a\r\n b", b" a\r\n b"),
            (b"b=", b""),
        ] {
            let range = signature_value(field).expect("there is one");
            assert_eq!(&field[range], value);
        }
        assert_eq!(signature_value(b"bh=x; B=y"), None);
    }
}
