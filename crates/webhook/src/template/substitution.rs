//! `{{path}}` in a text: found once when the template is made, filled in one pass for each event.

use std::borrow::Cow;
use std::ops::Range;

use crate::payload::{EventEnvelope, Node};

/// Bytes that placeholders may bring into a body beside what the event brings eightfold: a template that names all data a
/// thousand times would otherwise fill the memory.
const INSERTED_MIN: usize = 1 << 20;

/// How often the texts of an event fit into what may be inserted: escaping alone can make seven bytes of one.
const INSERTED_FACTOR: usize = 8;

/// Bytes of a value that is inserted in any case: a number outside of strings must not vanish.
const ALWAYS_INSERTED: usize = 64;

/// How values are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Escape {
    /// For the inside of a JSON string.
    Json,
    /// As they are.
    Nothing,
}

/// A text with placeholders.
#[derive(Debug, Clone)]
pub(super) struct Substitution {
    text: String,
    placeholders: Vec<Placeholder>,
    escape: Escape,
}

/// Where a placeholder stands in the text, braces included, and its path.
#[derive(Debug, Clone)]
struct Placeholder {
    place: Range<usize>,
    path: Range<usize>,
}

/// Where a piece begins, in the template and in what is rendered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    pub(super) in_template: usize,
    pub(super) in_rendered: usize,
    pub(super) is_placeholder: bool,
}

impl Piece {
    fn text(in_template: usize, in_rendered: usize) -> Self {
        Self {
            in_template,
            in_rendered,
            is_placeholder: false,
        }
    }

    fn placeholder(in_template: usize, in_rendered: usize) -> Self {
        Self {
            is_placeholder: true,
            ..Self::text(in_template, in_rendered)
        }
    }
}

impl Substitution {
    /// Finds the placeholders: two braces, a path without braces, two braces.
    ///
    /// Anything else is text and stays as it is; white space around a path is ignored.
    pub(super) fn parse(text: &str, escape: Escape) -> Self {
        let mut placeholders = Vec::new();
        let mut at = 0;
        while let Some(start) = text[at..].find("{{").map(|found| at + found) {
            let path = start + 2;
            let end = text[path..].find(['{', '}']).map_or(text.len(), |found| path + found);
            if end > path && text[end..].starts_with("}}") {
                let place = start..end + 2;
                at = place.end;
                placeholders.push(Placeholder { place, path: path..end });
            } else {
                // Of three braces the last two may open a placeholder.
                at = if end == path { start + 1 } else { end };
            }
        }
        Self {
            text: text.to_owned(),
            placeholders,
            escape,
        }
    }

    /// The text with the values of an event.
    pub(super) fn render(&self, envelope: &EventEnvelope) -> String {
        self.fill(
            envelope.data.text_bytes(),
            |path, room| self.value(envelope, path, room),
            |_| {},
        )
    }

    /// The text with the values of paths, up to a size that follows from that of the event.
    ///
    /// Tells of each piece of the text, and of each placeholder, where it begins.
    pub(super) fn fill<'a>(
        &'a self,
        event_bytes: usize,
        value: impl Fn(&'a str, usize) -> String,
        mut piece: impl FnMut(Piece),
    ) -> String {
        let mut rendered = String::with_capacity(self.text.len());
        let mut room = INSERTED_MIN + INSERTED_FACTOR * event_bytes;
        let mut at = 0;
        for placeholder in &self.placeholders {
            piece(Piece::text(at, rendered.len()));
            rendered.push_str(&self.text[at..placeholder.place.start]);
            piece(Piece::placeholder(placeholder.place.start, rendered.len()));
            at = placeholder.place.end;
            let value = value(self.text[placeholder.path.clone()].trim(), room);
            if value.len() > ALWAYS_INSERTED {
                // Once a value is too much, no later one is even written.
                room = room.saturating_sub(value.len());
                if room == 0 {
                    continue;
                }
            }
            rendered.push_str(&value);
        }
        piece(Piece::text(at, rendered.len()));
        rendered.push_str(&self.text[at..]);
        rendered
    }

    /// The value at a path, as it is written; nothing if there is none, or no room for it.
    pub(super) fn value(&self, envelope: &EventEnvelope, path: &str, room: usize) -> String {
        let fits = |value: &Cow<'_, Node>| value.text_bytes() <= room.max(ALWAYS_INSERTED);
        let value = envelope.find(path).filter(fits);
        value.map(|value| self.written(&value)).unwrap_or_default()
    }

    /// The template itself.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    fn written(&self, value: &Node) -> String {
        let text = match value {
            Node::Text(text) => Cow::Borrowed(text.as_str()),
            other => Cow::Owned(compact(other)),
        };
        match self.escape {
            Escape::Nothing => text.into_owned(),
            Escape::Json => {
                let quoted = compact(&Node::Text(text.into_owned()));
                quoted[1..quoted.len() - 1].to_owned()
            }
        }
    }
}

fn compact(value: &Node) -> String {
    serde_json::to_string(value).expect("names of fields are texts, and memory does not fail to be written")
}
