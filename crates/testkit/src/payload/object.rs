//! A JSON object that keeps its keys in order and can be spoiled field by field.

use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};
use serde_json::Value;

/// A JSON object whose keys stay in the order in which they were given.
#[derive(Debug, Clone, Default)]
pub(crate) struct Object(Vec<(String, Field)>);

/// The value of one key.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub(crate) enum Field {
    Value(Value),
    Object(Object),
}

impl Object {
    pub(crate) fn with(mut self, key: &str, value: impl Into<Field>) -> Self {
        self.set(key, value);
        self
    }

    /// Replaces the value of a key, or adds the key at the end.
    pub(crate) fn set(&mut self, key: &str, value: impl Into<Field>) {
        let value = value.into();
        match self.0.iter_mut().find(|(known, _)| known == key) {
            Some((_, field)) => *field = value,
            None => self.0.push((key.to_owned(), value)),
        }
    }

    /// Takes a key away; it must be there.
    pub(crate) fn remove(&mut self, key: &str) {
        let before = self.0.len();
        self.0.retain(|(known, _)| known != key);
        assert_ne!(before, self.0.len(), "no field {key}");
    }

    /// The object at a key.
    pub(crate) fn object(&mut self, key: &str) -> &mut Object {
        match self.0.iter_mut().find(|(known, _)| known == key) {
            Some((_, Field::Object(object))) => object,
            _ => panic!("no object {key}"),
        }
    }

    /// The text at a key.
    pub(crate) fn text(&self, key: &str) -> &str {
        match self.0.iter().find(|(known, _)| known == key) {
            Some((_, Field::Value(Value::String(text)))) => text,
            _ => panic!("no text {key}"),
        }
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl<T: Into<Value>> From<T> for Field {
    fn from(value: T) -> Self {
        Self::Value(value.into())
    }
}

impl From<Object> for Field {
    fn from(object: Object) -> Self {
        Self::Object(object)
    }
}
