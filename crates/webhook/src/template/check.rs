//! Tries a custom template before it is taken, so that what it renders to later is JSON whatever the event holds.

use restante_model::{EventType, Timestamp};
use serde_json::Value;

use super::TemplateError;
use super::substitution::{Piece, Substitution};
use crate::payload::{EventEnvelope, cut_chars};

/// Characters of a template that an error shows on each side of its place.
const EXCERPT_CHARS: usize = 24;

/// A moment for the events that templates are tried with.
const SAMPLED_AT: Timestamp = Timestamp::from_unix_ms(1_769_341_276_000);

/// Renders a template for an event of each type, and for one in which every value is there, and reads each as JSON.
///
/// The last holds a letter that JSON has nowhere but in strings: where it does not disturb, no text does, since values are
/// escaped for the inside of a string.
pub(super) fn renders_to_json(template: &Substitution) -> Result<(), TemplateError> {
    for event in EventType::ALL {
        let sample = EventEnvelope::test(event, SAMPLED_AT);
        try_one(template, event.as_str(), |path, room| {
            template.value(&sample, path, room)
        })?;
    }
    let sample = EventEnvelope::test(EventType::EmailReceived, SAMPLED_AT);
    try_one(template, "an event that has every value", |path, room| {
        match path.strip_prefix("data.") {
            Some(path) if is_number(path) => "1".to_owned(),
            Some(_) => "x".to_owned(),
            None => template.value(&sample, path, room),
        }
    })
}

/// Whether the value at a path of the data is a number: that of one field is.
fn is_number(path: &str) -> bool {
    let index = path
        .strip_prefix("attachments.")
        .and_then(|path| path.strip_suffix(".size"));
    index.is_some_and(|index| !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit()))
}

fn try_one(template: &Substitution, event: &str, value: impl Fn(&str, usize) -> String) -> Result<(), TemplateError> {
    let mut pieces = Vec::new();
    let rendered = template.fill(0, value, |piece| pieces.push(piece));
    let Err(error) = serde_json::from_str::<Value>(&rendered) else {
        return Ok(());
    };
    let wrong = offset(&rendered, error.line(), error.column());
    let place = place(&pieces, wrong).min(template.text().len());
    Err(not_json(template.text(), place, &error, event))
}

/// The byte that a line and a column name, both from 1, the column in bytes.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let lines = text.split_inclusive('\n').take(line.saturating_sub(1));
    let before: usize = lines.map(str::len).sum();
    (before + column.saturating_sub(1)).min(text.len())
}

/// Where in the template a byte of what was rendered comes from: of a value, the placeholder; and the placeholder too
/// where it left nothing and something was wanted.
fn place(pieces: &[Piece], wrong: usize) -> usize {
    let before = &pieces[..pieces.partition_point(|piece| piece.in_rendered <= wrong)];
    let at_it = before.iter().rev().take_while(|piece| piece.in_rendered == wrong);
    match (at_it.filter(|piece| piece.is_placeholder).last(), before.last()) {
        (Some(placeholder), _) => placeholder.in_template,
        (None, Some(piece)) if piece.is_placeholder => piece.in_template,
        (None, Some(piece)) => piece.in_template + wrong - piece.in_rendered,
        (None, None) => 0,
    }
}

fn not_json(text: &str, place: usize, error: &serde_json::Error, event: &str) -> TemplateError {
    let (before, after) = text.split_at(text.floor_char_boundary(place));
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    let start = before
        .char_indices()
        .rev()
        .nth(EXCERPT_CHARS - 1)
        .map_or(0, |(start, _)| start);
    let reason = error.to_string();
    // The parser adds the place in what was rendered, which nobody sees.
    let reason = reason
        .rsplit_once(" at line ")
        .map_or(reason.as_str(), |(reason, _)| reason);
    TemplateError::NotJson {
        event: event.to_owned(),
        reason: reason.to_owned(),
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
        excerpt: format!("{}{}", &before[start..], cut_chars(after, EXCERPT_CHARS)),
    }
}
