//! An independent, obvious builder of exported inboxes, whole and broken.
//!
//! It follows the interface field by field, from seeds, and shares no code with the clients: what it makes tests the
//! import of the `client` crate.
//!
//! Source: interface, "Exported inbox data"; FIPS 203.

mod document;
mod fields;
mod keys;
mod order;
mod whole;

use serde::Serialize;

/// One export, and what its import says.
#[derive(Debug, Clone, Serialize)]
pub struct Vector {
    #[serde(skip)]
    name: String,
    about: String,
    /// `ok`, or the name of the rule that is broken first.
    expect: &'static str,
    /// The text of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    says: Option<String>,
    /// What is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    reads: Option<Reads>,
    /// The export, as it stands in its file.
    text: String,
}

/// What a reader finds in an export that is whole.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Reads {
    email_address: &'static str,
    inbox_hash: String,
    encrypted: bool,
    expires_at: &'static str,
    exported_at: &'static str,
}

impl Vector {
    /// The name of its file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The contents of its file.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a vector is plain data") + "\n"
    }
}

/// All vectors, in no particular order; their names differ.
pub fn vectors() -> Vec<Vector> {
    [whole::vectors(), fields::vectors(), keys::vectors(), order::vectors()].concat()
}

fn broken(name: &str, about: &str, rule: &'static str, says: &str, text: String) -> Vector {
    Vector {
        name: name.to_owned(),
        about: about.to_owned(),
        expect: rule,
        says: Some(says.to_owned()),
        reads: None,
        text,
    }
}
