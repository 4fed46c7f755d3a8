//! The structure of a message: entities inside multipart entities (RFC 2046), in one pass over the bytes.
//!
//! Every line is held against all open boundaries at once (a hash lookup), so that neither nesting nor a boundary
//! that never comes makes anything be read again.

use std::collections::HashMap;
use std::ops::Range;

use memchr::memmem::Finder;

use crate::defect::{Defect, Defects};
use crate::fields::{Ending, line_at, trim_line_end};
use crate::header::Headers;
use crate::limit::{DEPTH_MAX, PARTS_MAX};
use crate::message_id;
use crate::param::Parameterised;

/// An entity that is not taken apart further.
#[derive(Debug)]
pub(crate) struct Part<'x> {
    pub(crate) headers: Headers<'x>,
    pub(crate) content_type: Parameterised,
    /// The bytes as they stand in the message, without the line end that belongs to the boundary after them.
    pub(crate) body: &'x [u8],
    pub(crate) place: Place,
}

/// Where a part stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// How many multipart entities are around it.
    pub(crate) depth: usize,
    /// Which outermost multipart/alternative it belongs to.
    pub(crate) alternative: Option<usize>,
    /// Whether it belongs to a multipart/related but not to its root: it is there for the root to refer to.
    pub(crate) is_related: bool,
    /// Whether it stands in a multipart/digest, where the default type is another (RFC 2046 section 5.1.5).
    in_digest: bool,
}

/// The structure of a message.
pub(crate) struct Structure<'x> {
    /// The header block of the message; empty if there is none.
    pub(crate) headers: Headers<'x>,
    /// The parts in message order.
    pub(crate) parts: Vec<Part<'x>>,
}

/// Takes a message apart.
pub(crate) fn read<'x>(raw: &'x [u8], defects: &mut Defects) -> Structure<'x> {
    let (headers, body, ending) = Headers::read(raw, 0, |_| false, defects);
    match ending {
        Ending::Clean => {}
        Ending::Cut => defects.note(Defect::HeadersCut),
        Ending::Missing => defects.note(Defect::NoHeaders),
    }
    let mut walk = Walk {
        raw,
        at: body,
        open: HashMap::new(),
        delimiters: Finder::new(b"\n--"),
        entities: 1,
        alternatives: 0,
        parts: Vec::new(),
        defects,
    };
    walk.body(headers.clone(), Place::default());
    Structure {
        headers,
        parts: walk.parts,
    }
}

struct Walk<'x, 'd> {
    raw: &'x [u8],
    /// Everything before is read.
    at: usize,
    /// Boundaries of the multipart entities around the current position, with their depths.
    open: HashMap<Vec<u8>, usize>,
    delimiters: Finder<'static>,
    entities: usize,
    alternatives: usize,
    parts: Vec<Part<'x>>,
    defects: &'d mut Defects,
}

/// A boundary line (RFC 2046 section 5.1.1).
#[derive(Debug, Clone, Copy)]
struct Delimiter {
    /// Where the content before it ends: the line end before a boundary belongs to the boundary.
    content_end: usize,
    line: usize,
    line_end: usize,
    depth: usize,
    is_close: bool,
}

impl<'x> Walk<'x, '_> {
    /// Reads the entity that starts here, up to the next boundary line of an entity around it; returns its Content-ID.
    fn entity(&mut self, place: Place) -> Option<String> {
        if self.entities == PARTS_MAX {
            self.defects.note(Defect::TooManyParts);
            self.at = self.region_end().1;
            return None;
        }
        self.entities += 1;
        let open = &self.open;
        let is_boundary = |line: &[u8]| delimiter(open, line).is_some();
        let (headers, body, ending) = Headers::read(self.raw, self.at, is_boundary, self.defects);
        if ending != Ending::Clean {
            self.defects.note(Defect::HeadersCut);
        }
        self.at = body;
        let id = content_id(&headers);
        self.body(headers, place);
        id
    }

    fn body(&mut self, headers: Headers<'x>, place: Place) {
        let content_type = content_type(&headers, place, self.defects);
        if !content_type.value.starts_with("multipart/") {
            return self.leaf(headers, content_type, place);
        }
        if place.depth == DEPTH_MAX {
            self.defects.note(Defect::TooDeep);
            return self.leaf(headers, content_type, place);
        }
        let boundary = content_type.token("boundary").map(String::into_bytes);
        let Some(boundary) = boundary else {
            self.defects.note(Defect::NoBoundary);
            return self.leaf(headers, plain_text(), place);
        };
        let start = self.at;
        let shadowed = self.open.insert(boundary.clone(), place.depth + 1);
        let found = self.children(&content_type, place);
        match shadowed {
            Some(depth) => self.open.insert(boundary, depth),
            None => self.open.remove(&boundary),
        };
        if !found {
            self.defects.note(Defect::BoundaryUnused);
            self.at = start;
            self.leaf(headers, plain_text(), place);
        }
    }

    /// Reads the parts of a multipart entity; tells whether there was a boundary line of its own.
    fn children(&mut self, content_type: &Parameterised, place: Place) -> bool {
        let depth = place.depth + 1;
        let next = self.place_inside(content_type, place);
        let mut related = Related::of(content_type, self.parts.len());
        let mut found = false;
        loop {
            let delimiter = self.next_delimiter();
            let Some(own) = delimiter.filter(|delimiter| delimiter.depth == depth) else {
                if found {
                    self.defects.note(Defect::NotClosed);
                }
                self.at = delimiter.map_or(self.raw.len(), |outer| outer.line);
                break;
            };
            found = true;
            self.at = own.line_end;
            if own.is_close {
                break;
            }
            let from = self.parts.len();
            let id = self.entity(next);
            if let Some(related) = &mut related {
                related.child(id.as_ref(), from..self.parts.len());
            }
        }
        if let Some(related) = related {
            related.mark(&mut self.parts);
        }
        found
    }

    fn place_inside(&mut self, content_type: &Parameterised, place: Place) -> Place {
        let mut alternative = place.alternative;
        if content_type.value == "multipart/alternative" && alternative.is_none() {
            self.alternatives += 1;
            alternative = Some(self.alternatives);
        }
        let in_digest = content_type.value == "multipart/digest";
        Place {
            depth: place.depth + 1,
            alternative,
            in_digest,
            ..place
        }
    }

    fn leaf(&mut self, headers: Headers<'x>, content_type: Parameterised, place: Place) {
        let (content_end, line) = self.region_end();
        let body = &self.raw[self.at..content_end];
        self.at = line;
        self.parts.push(Part {
            headers,
            content_type,
            body,
            place,
        });
    }

    /// Where the content that starts here ends, and where the boundary line after it starts.
    fn region_end(&self) -> (usize, usize) {
        self.next_delimiter().map_or((self.raw.len(), self.raw.len()), |found| {
            (found.content_end, found.line)
        })
    }

    /// The next boundary line of any open entity; the current position is the start of a line.
    fn next_delimiter(&self) -> Option<Delimiter> {
        if self.open.is_empty() {
            return None;
        }
        let mut line = self.at;
        loop {
            let text = line_at(self.raw, line);
            if let Some((depth, is_close)) = delimiter(&self.open, trim_line_end(text)) {
                let content = trim_line_end(&self.raw[self.at..line]);
                return Some(Delimiter {
                    content_end: self.at + content.len(),
                    line,
                    line_end: line + text.len(),
                    depth,
                    is_close,
                });
            }
            // the line end of this line may be the one before the next boundary
            let from = (line + text.len()).saturating_sub(1).max(line);
            line = from + self.delimiters.find(&self.raw[from..])? + 1;
        }
    }
}

/// Which parts of a multipart/related entity are the root: those of the child that `start` names, else of the first
/// (RFC 2387 section 3.2).
struct Related {
    start: Option<String>,
    /// Where the parts of the entity begin.
    from: usize,
    root: Option<Range<usize>>,
}

impl Related {
    fn of(content_type: &Parameterised, from: usize) -> Option<Self> {
        let start = || content_type.token("start").as_deref().and_then(message_id::first);
        (content_type.value == "multipart/related").then(|| Self {
            start: start(),
            from,
            root: None,
        })
    }

    fn child(&mut self, id: Option<&String>, parts: Range<usize>) {
        let is_named = self.start.is_some() && id == self.start.as_ref();
        if is_named {
            self.start = None; // the first one of this name is the root
        }
        if is_named || self.root.is_none() {
            self.root = Some(parts);
        }
    }

    /// Tells every part but those of the root that it is there for the root to refer to.
    fn mark(self, parts: &mut [Part<'_>]) {
        let root = self.root.unwrap_or_default();
        for (index, part) in parts.iter_mut().enumerate().skip(self.from) {
            part.place.is_related |= !root.contains(&index);
        }
    }
}

/// The Content-ID without angle brackets.
pub(crate) fn content_id(headers: &Headers<'_>) -> Option<String> {
    headers.source("content-id").as_deref().and_then(message_id::first)
}

/// The depth of the entity that a line is a boundary of, and whether it is the closing one.
fn delimiter(open: &HashMap<Vec<u8>, usize>, line: &[u8]) -> Option<(usize, bool)> {
    let name = line.strip_prefix(b"--")?.trim_ascii_end();
    if let Some(&depth) = open.get(name) {
        return Some((depth, false));
    }
    open.get(name.strip_suffix(b"--")?).map(|&depth| (depth, true))
}

/// The declared type, or the default one where none is declared or it is none (RFC 2045 section 5.2).
fn content_type(headers: &Headers<'_>, place: Place, defects: &mut Defects) -> Parameterised {
    let declared = headers
        .source("content-type")
        .map(|source| Parameterised::parse(&source));
    let is_type = |found: &Parameterised| {
        found
            .value
            .split_once('/')
            .is_some_and(|(kind, subtype)| !kind.is_empty() && !subtype.is_empty())
    };
    match declared {
        Some(mut declared) => {
            if !is_type(&declared) {
                defects.note(Defect::NotAType);
                declared.value = "text/plain".into();
            }
            declared
        }
        None if place.in_digest => Parameterised::parse("message/rfc822"),
        None => plain_text(),
    }
}

fn plain_text() -> Parameterised {
    Parameterised::parse("text/plain")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each part as `type@depth:body`, then the defects.
    fn outline(raw: &str) -> Vec<String> {
        let mut defects = Defects::default();
        let structure = read(raw.as_bytes(), &mut defects);
        let show = |part: &Part<'_>| {
            format!(
                "{}@{}:{}",
                part.content_type.value,
                part.place.depth,
                String::from_utf8_lossy(part.body)
            )
        };
        structure.parts.iter().map(show).chain(defects.sentences()).collect()
    }

    #[test]
    fn parts_end_before_the_line_end_of_their_boundary() {
        let raw = "Content-Type: multipart/mixed; boundary=b\r\n\r\npreamble\r\n--b\r\n\r\none\r\n\r\n--b \t\r\n\
                   Content-Type: text/html\r\n\r\ntwo\r\n--b--\r\nepilogue\r\n--b\r\n\r\nafter";
        assert_eq!(outline(raw), ["text/plain@1:one\r\n", "text/html@1:two"]);
    }

    #[test]
    fn white_space_after_a_boundary_says_nothing() {
        for declared in ["b", "\"b\"", "\"b \"", "b (comment)", "\"b\" (comment)"] {
            let raw = format!("Content-Type: multipart/mixed; boundary={declared}\n\n--b \t\n\none\n--b-- \n");
            assert_eq!(outline(&raw), ["text/plain@1:one"], "{declared}");
        }
    }

    #[test]
    fn boundaries_that_are_not_quite_are_content() {
        let raw = "Content-Type: multipart/mixed; boundary=b\n\n--b\n\n--bb\n--\nx --b\n--b--\n";
        assert_eq!(outline(raw), ["text/plain@1:--bb\n--\nx --b"]);
    }

    #[test]
    fn entities_nest_and_an_outer_boundary_ends_inner_ones() {
        let raw = "Content-Type: multipart/mixed; boundary=o\n\n--o\nContent-Type: multipart/alternative; boundary=i\n\n\
                   --i\n\none\n--i\nContent-Type: text/html\n\ntwo\n--o\n\nthree\n--o--\n";
        assert_eq!(
            outline(raw),
            [
                "text/plain@2:one",
                "text/html@2:two",
                "text/plain@1:three",
                "A multipart part is not closed by its end boundary."
            ]
        );
    }

    #[test]
    fn an_inner_entity_may_use_the_boundary_again() {
        let raw = "Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: multipart/mixed; boundary=b\n\n\
                   --b\n\none\n--b--\n--b\n\ntwo\n--b--\n";
        assert_eq!(outline(raw), ["text/plain@2:one", "text/plain@1:two"]);
    }

    #[test]
    fn what_cannot_be_taken_apart_is_text() {
        let told = "A multipart part names no boundary: it is taken as text.";
        assert_eq!(
            outline("Content-Type: multipart/mixed\n\nall"),
            ["text/plain@0:all", told]
        );
        let told = "The boundary of a multipart part never occurs: the part is taken as text.";
        assert_eq!(
            outline("Content-Type: multipart/mixed; boundary=b\n\nall\n"),
            ["text/plain@0:all\n", told]
        );
        let inner =
            "Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: multipart/mixed; boundary=c\n\nx\n--b--\n";
        assert_eq!(outline(inner), ["text/plain@1:x", told]);
        let told = "A Content-Type is no type and subtype: the part is taken as text.";
        assert_eq!(outline("Content-Type: nonsense\n\nall"), ["text/plain@0:all", told]);
    }

    #[test]
    fn the_root_of_related_parts_is_the_first_or_the_one_that_start_names() {
        let roots = |start: &str| {
            let raw = format!(
                "Content-Type: multipart/related; boundary=b{start}\n\n--b\nContent-ID: <1>\n\none\n\
                 --b\nContent-ID: <2>\nContent-Type: multipart/mixed; boundary=c\n\n--c\n\ntwo\n--c\n\nthree\n--c--\n\
                 --b\nContent-ID: <2>\n\nfour\n--b--\n"
            );
            let parts = read(raw.as_bytes(), &mut Defects::default()).parts;
            parts
                .iter()
                .filter(|part| !part.place.is_related)
                .map(|part| String::from_utf8_lossy(part.body).into_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(roots(""), ["one"]);
        assert_eq!(roots("; start=\"<2>\""), ["two", "three"]);
        assert_eq!(roots("; start=2"), ["two", "three"]);
        assert_eq!(roots("; start=\"<3>\""), ["one"]);
    }

    #[test]
    fn header_blocks_of_parts_may_be_absent_or_cut() {
        let raw = "Content-Type: multipart/digest; boundary=b\n\n--b\n\nS: 1\n\nx\n--b\nA: b\n--b\nno field\n--b--\n";
        assert_eq!(
            outline(raw),
            [
                "message/rfc822@1:S: 1\n\nx",
                "message/rfc822@1:",
                "message/rfc822@1:no field",
                "A line of a header block is not a header field: the body is taken to start there."
            ]
        );
    }

    #[test]
    fn depth_and_number_of_parts_are_bounded() {
        let level = |n| format!("Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n");
        let nested = (0..150).map(level).collect::<Vec<_>>().concat();
        let found = outline(&nested);
        assert!(found[0].starts_with("multipart/mixed@100:--b100\n"), "{found:?}");
        assert_eq!(
            found[1],
            "Parts nested deeper than 100 are left unparsed: they are attachments."
        );

        let many = format!(
            "Content-Type: multipart/mixed; boundary=b\n\n{}--b--\n",
            "--b\n\nx\n".repeat(1500)
        );
        let found = outline(&many);
        assert_eq!(found.len(), PARTS_MAX); // the multipart entity is one of them, and the defect one more line
        assert_eq!(found[PARTS_MAX - 1], "Parts beyond the first 1000 are left unparsed.");
    }
}
