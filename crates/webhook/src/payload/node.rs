//! JSON that keeps its order: the fields of an event stand as the interface lists them, headers as the message has them.

use std::borrow::Cow;

use serde::{Serialize, Serializer};

/// A JSON value, as far as events and the built-in templates have them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// A string.
    Text(String),
    /// A whole number.
    Number(u64),
    /// `true` or `false`.
    Bool(bool),
    /// An array.
    Array(Vec<Node>),
    /// An object: its names in order, each once.
    Object(Vec<(Cow<'static, str>, Node)>),
}

impl Node {
    /// The value at a path of names and indices with dots between them.
    ///
    /// A name may hold dots itself, as names of headers do: where the whole rest of a path is a name, it is that one.
    pub fn find(&self, path: &str) -> Option<&Node> {
        let (mut node, mut path) = (self, path);
        loop {
            if let Some(found) = node.child(path) {
                return Some(found);
            }
            let (first, rest) = path.split_once('.')?;
            (node, path) = (node.child(first)?, rest);
        }
    }

    /// The value of a name, or at an index.
    fn child(&self, name: &str) -> Option<&Node> {
        match self {
            Self::Object(fields) => {
                let mut fields = fields.iter();
                fields.find(|(field, _)| field == name).map(|(_, value)| value)
            }
            // `parse` alone would take a sign.
            Self::Array(items) if name.bytes().all(|byte| byte.is_ascii_digit()) => {
                items.get(name.parse::<usize>().ok()?)
            }
            _ => None,
        }
    }

    /// Bytes of all its texts, names of fields included.
    pub(crate) fn text_bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Number(_) | Self::Bool(_) => 0,
            Self::Array(items) => items.iter().map(Self::text_bytes).sum(),
            Self::Object(fields) => fields.iter().map(|(name, value)| name.len() + value.text_bytes()).sum(),
        }
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Number(number) => serializer.serialize_u64(*number),
            Self::Bool(bool) => serializer.serialize_bool(*bool),
            Self::Array(items) => serializer.collect_seq(items),
            Self::Object(fields) => serializer.collect_map(fields.iter().map(|(name, value)| (name, value))),
        }
    }
}

/// A string.
pub(crate) fn text(text: impl Into<String>) -> Node {
    Node::Text(text.into())
}

/// An object with these fields.
pub(crate) fn object(fields: impl IntoIterator<Item = (&'static str, Node)>) -> Node {
    let fields = fields.into_iter().map(|(name, value)| (Cow::Borrowed(name), value));
    Node::Object(fields.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node() -> Node {
        let header = |name: &'static str| (name, text(name));
        object([
            ("a", object([header("x.y.z"), header("x"), header("")])),
            (
                "list",
                Node::Array(vec![text("first"), object([("n", Node::Number(7))])]),
            ),
        ])
    }

    #[test]
    fn the_whole_rest_of_a_path_may_be_a_name() {
        let node = node();
        assert_eq!(node.find("a.x.y.z"), Some(&text("x.y.z")));
        assert_eq!(node.find("a.x"), Some(&text("x")));
        assert_eq!(node.find("a."), Some(&text("")));
        assert_eq!(node.find("a.x.y"), None);
        assert_eq!(node.find(""), None);
    }

    #[test]
    fn numbers_are_indices() {
        let node = node();
        assert_eq!(node.find("list.0"), Some(&text("first")));
        assert_eq!(node.find("list.1.n"), Some(&Node::Number(7)));
        for path in [
            "list.2",
            "list.+1",
            "list.-1",
            "list.",
            "list.first",
            "list.99999999999999999999",
        ] {
            assert_eq!(node.find(path), None, "{path}");
        }
    }

    #[test]
    fn order_is_kept() {
        let json = r#"{"a":{"x.y.z":"x.y.z","x":"x","":""},"list":["first",{"n":7}]}"#;
        assert_eq!(serde_json::to_string(&node()).unwrap(), json);
    }
}
