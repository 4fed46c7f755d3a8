//! The one error body.

use serde::{Deserialize, Serialize};

/// The body of every error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorBody {
    /// The HTTP status.
    pub status_code: u16,
    /// What is wrong, for a person.
    pub message: Message,
    /// The reason phrase of the status.
    pub error: String,
}

/// One text, or several field errors at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Message {
    /// A plain string.
    One(String),
    /// An array of strings.
    Many(Vec<String>),
}

impl ErrorBody {
    /// A body whose `message` is a string for one message and an array for several.
    pub fn new(status_code: u16, mut messages: Vec<String>, reason: &str) -> Self {
        let message = match messages.len() {
            1 => Message::One(messages.remove(0)),
            _ => Message::Many(messages),
        };
        Self {
            status_code,
            message,
            error: reason.to_owned(),
        }
    }
}
