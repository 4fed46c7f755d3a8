//! The event of `tests/vectors/event.json`, and those that differ from it.

use std::path::{Path, PathBuf};

use restante_model::ArrivalEvent;
use serde_json::Value;

/// The folder of all vectors.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors")
}

/// The JSON of a file.
pub(crate) fn read(path: &Path) -> Value {
    let text = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The event of all scenarios, with these fields in the place of its own.
pub(crate) fn event(changes: &Value) -> ArrivalEvent {
    let mut event = read(&folder().join("event.json"));
    for (name, value) in changes.as_object().expect("changes are an object") {
        assert!(event.get(name).is_some(), "an event has no `{name}`");
        event[name] = expanded(value);
    }
    serde_json::from_value(event).expect("an event with changes is an event")
}

/// A value in which `{"repeat": [["a", 3], ["b", 1]]}` is the text `aaab`.
fn expanded(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(expanded).collect(),
        Value::Object(fields) => match fields.get("repeat") {
            Some(parts) => Value::String(repeated(parts)),
            None => fields
                .iter()
                .map(|(name, value)| (name.clone(), expanded(value)))
                .collect(),
        },
        other => other.clone(),
    }
}

fn repeated(parts: &Value) -> String {
    let parts: Vec<(String, usize)> = serde_json::from_value(parts.clone()).expect("texts and how often they stand");
    parts.iter().map(|(text, count)| text.repeat(*count)).collect()
}
