//! Templates: the bytes that a receiver gets for an event.
//!
//! Source: docs/spec/interface.md, "Templates"; docs/spec/decisions.md, section 7.

mod built_in;
mod check;
mod shown;
mod substitution;

use bytes::Bytes;
use restante_envelope::WireProfile;
use restante_model::webhook::{BuiltInTemplate, CustomTemplate, WebhookTemplate};
use serde::Serialize;

use crate::payload::EventEnvelope;
use substitution::{Escape, Substitution};

/// The content type of everything but custom templates that say otherwise.
const JSON: &str = "application/json";

/// What turns events into bytes.
#[derive(Debug, Clone)]
pub struct Template(Kind);

#[derive(Debug, Clone)]
enum Kind {
    BuiltIn(BuiltInTemplate),
    Custom { body: Substitution, content_type: String },
}

/// What is sent: exactly these bytes are signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// The body of the request.
    pub body: Bytes,
    /// Its content type.
    pub content_type: String,
}

/// Why a template cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// The body does not render to JSON for some event.
    #[error(
        "template.body: not JSON when rendered for {event}: {reason}, at line {line}, column {column} of the body, near `{excerpt}`; placeholders of texts belong inside quotation marks, and a contentType that is not JSON allows any text"
    )]
    NotJson {
        /// The type of the event, and which one it is.
        event: String,
        /// What is wrong.
        reason: String,
        /// Where in the template, from 1.
        line: usize,
        /// Characters from 1.
        column: usize,
        /// The template around that place.
        excerpt: String,
    },
    /// The content type cannot be the value of a header.
    #[error(
        "template.contentType: not a media type; allowed is a type like `text/plain`, with parameters, in printable ASCII"
    )]
    ContentType,
}

impl Template {
    /// Makes a template ready; none is the template `default`.
    ///
    /// # Errors
    /// A custom body that is to be JSON and is not, for some event; a content type that is none.
    pub fn compile(template: Option<&WebhookTemplate>) -> Result<Self, TemplateError> {
        let kind = match template {
            None => Kind::BuiltIn(BuiltInTemplate::Default),
            Some(WebhookTemplate::BuiltIn(name)) => Kind::BuiltIn(*name),
            Some(WebhookTemplate::Custom(custom)) => Self::custom(custom)?,
        };
        Ok(Self(kind))
    }

    fn custom(template: &CustomTemplate) -> Result<Kind, TemplateError> {
        let content_type = template.content_type.as_deref().unwrap_or(JSON);
        if !is_media_type(content_type) {
            return Err(TemplateError::ContentType);
        }
        let is_json = is_json(content_type);
        let escape = if is_json { Escape::Json } else { Escape::Nothing };
        let body = Substitution::parse(&template.body, escape);
        if is_json {
            check::renders_to_json(&body)?;
        }
        Ok(Kind::Custom {
            body,
            content_type: content_type.to_owned(),
        })
    }

    /// The bytes for an event.
    pub fn render(&self, envelope: &EventEnvelope, profile: WireProfile) -> Rendered {
        let (body, content_type) = match &self.0 {
            Kind::BuiltIn(name) => (built_in::render(*name, envelope, profile), JSON),
            Kind::Custom { body, content_type } => (body.render(envelope).into(), content_type.as_str()),
        };
        Rendered {
            body,
            content_type: content_type.to_owned(),
        }
    }
}

fn json(value: &impl Serialize) -> Bytes {
    let bytes = serde_json::to_vec(value).expect("names of fields are texts, and memory does not fail to be written");
    bytes.into()
}

/// Whether a body of this type is JSON (RFC 6839 section 3.1 for the suffix).
fn is_json(content_type: &str) -> bool {
    let essence = content_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    essence == JSON || essence.ends_with("+json")
}

/// Whether a text can stand in a Content-Type header (RFC 9110 section 8.3.1, as far as it matters).
fn is_media_type(text: &str) -> bool {
    let essence = text.split(';').next().unwrap_or_default().trim();
    let is_token = |token: &str| {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        !token.is_empty() && token.bytes().all(fits)
    };
    let is_printable = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    is_printable
        && essence
            .split_once('/')
            .is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_many_names() {
        for name in [
            "application/json",
            "Application/JSON; charset=utf-8",
            "application/ld+json",
            " a/b+json ;x=y",
        ] {
            assert!(is_json(name), "{name}");
        }
        for name in [
            "text/plain",
            "application/jsonp",
            "application/x-json",
            "text/plain; a=application/json",
            "",
        ] {
            assert!(!is_json(name), "{name}");
        }
    }

    #[test]
    fn a_content_type_cannot_smuggle_a_header() {
        for good in ["text/plain", "application/xml; charset=\"utf-8\"", "a/b+c"] {
            assert!(is_media_type(good), "{good}");
        }
        for bad in [
            "",
            "text",
            "text/",
            "/plain",
            "a b/c",
            "text/plain\r\nX-Evil: 1",
            "text/plain; x=é",
            "a/b/c",
        ] {
            assert!(!is_media_type(bad), "{bad}");
        }
    }
}
