//! Tries a custom template before it is taken.

use serde_json::Value;

use super::TemplateError;
use super::substitution::Substitution;
use crate::payload::{EventEnvelope, cut_chars, samples};

/// Characters of a template that an error shows on each side of its place.
const EXCERPT_CHARS: usize = 24;

/// Renders a template for events of all types, with and without their optional values, and reads the results as JSON.
pub(super) fn renders_to_json(template: &Substitution) -> Result<(), TemplateError> {
    samples().iter().try_for_each(|sample| try_one(template, sample))
}

fn try_one(template: &Substitution, sample: &EventEnvelope) -> Result<(), TemplateError> {
    let mut pieces = Vec::new();
    let rendered = template.render_with(sample, |from, to| pieces.push((from, to)));
    let Err(error) = serde_json::from_str::<Value>(&rendered) else {
        return Ok(());
    };
    let wrong = offset(&rendered, error.line(), error.column());
    // The last piece that begins before the place; within the value of a placeholder, its braces are the place.
    let index = pieces.partition_point(|(_, to)| *to <= wrong).saturating_sub(1);
    let (from, to) = pieces.get(index).copied().unwrap_or_default();
    let end = pieces.get(index + 1).map_or(template.text().len(), |(next, _)| *next);
    let is_placeholder = index % 2 == 1;
    let place = if is_placeholder {
        from
    } else {
        (from + wrong - to).min(end)
    };
    Err(not_json(template.text(), place, &error, sample))
}

/// The byte that a line and a column name, both from 1, the column in bytes.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let before: usize = text
        .split_inclusive('\n')
        .take(line.saturating_sub(1))
        .map(str::len)
        .sum();
    (before + column.saturating_sub(1)).min(text.len())
}

fn not_json(text: &str, place: usize, error: &serde_json::Error, sample: &EventEnvelope) -> TemplateError {
    let place = text.floor_char_boundary(place);
    let (before, after) = text.split_at(place);
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    let start = before
        .char_indices()
        .rev()
        .nth(EXCERPT_CHARS - 1)
        .map_or(0, |(start, _)| start);
    let excerpt = format!("{}{}", &before[start..], cut_chars(after, EXCERPT_CHARS));
    let reason = error.to_string();
    // The parser adds the place in what was rendered, which nobody sees.
    let reason = reason
        .rsplit_once(" at line ")
        .map_or(reason.as_str(), |(reason, _)| reason);
    TemplateError::NotJson {
        event: sample.event_type.to_string(),
        reason: reason.to_owned(),
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
        excerpt,
    }
}
