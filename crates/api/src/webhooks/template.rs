//! Reading the template of a webhook (interface, "Templates").

use restante_model::webhook::{BuiltInTemplate, CustomKind, CustomTemplate, WebhookTemplate};
use serde_json::Value;

use super::at_most;
use crate::fields::Fields;

/// Characters of a custom body, at most.
const BODY_MAX: usize = 10_000;
/// Characters of a content type, at most.
const CONTENT_TYPE_MAX: usize = 255;
const CUSTOM: &str = "custom";

/// What became of reading a template.
#[derive(Debug, PartialEq)]
pub(super) enum ReadTemplate {
    /// It is one.
    Known(WebhookTemplate),
    /// It names a built-in template that there is not: 422, not 400.
    Unknown(String),
    /// What is wrong was noted.
    Wrong,
}

/// Reads a template; what is wrong with it is noted in `fields`, which it was taken from.
pub(super) fn read(fields: &mut Fields, value: Value) -> ReadTemplate {
    match value {
        Value::String(name) => match built_in(&name) {
            Some(template) => ReadTemplate::Known(template),
            None => ReadTemplate::Unknown(format!("template must be one of {}", names())),
        },
        Value::Object(object) => {
            let mut template = Fields::at("template", object);
            let read = read_object(&mut template);
            fields.absorb(template);
            read
        }
        _ => {
            fields.note("template", "must be a string or an object");
            ReadTemplate::Wrong
        }
    }
}

fn read_object(template: &mut Fields) -> ReadTemplate {
    match template.take("type") {
        Some(Value::String(kind)) if kind == CUSTOM => read_custom(template).map_or(ReadTemplate::Wrong, |custom| {
            ReadTemplate::Known(WebhookTemplate::Custom(custom))
        }),
        Some(Value::String(kind)) => {
            if let Some(template) = built_in(&kind) {
                return ReadTemplate::Known(template);
            }
            // Whatever else it has belongs to a type that is not known.
            template.forget();
            ReadTemplate::Unknown(format!("template.type must be one of {CUSTOM}, {}", names()))
        }
        Some(_) => {
            template.note("type", "must be a string");
            ReadTemplate::Wrong
        }
        None => {
            template.note("type", "is required");
            ReadTemplate::Wrong
        }
    }
}

fn read_custom(template: &mut Fields) -> Option<CustomTemplate> {
    let body = match template.take("body") {
        Some(Value::String(body)) => at_most(template, "body", body, BODY_MAX),
        Some(_) => template.wrong("body", "must be a string"),
        None => template.wrong("body", "is required by the type custom"),
    };
    let content_type = template.text("contentType").and_then(|content_type| {
        if is_media_type(&content_type) {
            at_most(template, "contentType", content_type, CONTENT_TYPE_MAX)
        } else {
            template.wrong("contentType", "must be a media type such as text/plain")
        }
    });
    Some(CustomTemplate {
        kind: CustomKind::Custom,
        body: body?,
        content_type,
    })
}

fn built_in(name: &str) -> Option<WebhookTemplate> {
    let known = BuiltInTemplate::ALL.into_iter().find(|known| known.as_str() == name);
    known.map(WebhookTemplate::BuiltIn)
}

fn names() -> String {
    BuiltInTemplate::ALL.map(BuiltInTemplate::as_str).join(", ")
}

/// Type and subtype (RFC 9110 section 8.3.1); parameters may be anything that a header can hold.
fn is_media_type(text: &str) -> bool {
    let is_token = |part: &str| {
        let is_token_byte = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
        !part.is_empty() && part.bytes().all(is_token_byte)
    };
    let (essence, parameters) = text.split_once(';').unwrap_or((text, ""));
    let parts = essence.trim_end_matches(' ').split_once('/');
    let is_printable = parameters.bytes().all(|b| matches!(b, b' '..=b'~'));
    parts.is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype)) && is_printable
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read_all(template: Value) -> (ReadTemplate, Vec<String>) {
        let mut fields = Fields::default();
        let template = read(&mut fields, template);
        (template, fields.into_errors())
    }

    fn custom(body: &str, content_type: Option<&str>) -> ReadTemplate {
        ReadTemplate::Known(WebhookTemplate::Custom(CustomTemplate {
            kind: CustomKind::Custom,
            body: body.into(),
            content_type: content_type.map(str::to_owned),
        }))
    }

    #[test]
    fn a_built_in_template_has_two_spellings_and_is_kept_as_its_name() {
        for built_in in BuiltInTemplate::ALL {
            let expected = || ReadTemplate::Known(WebhookTemplate::BuiltIn(built_in));
            assert_eq!(read_all(built_in.as_str().into()), (expected(), Vec::new()));
            assert_eq!(read_all(json!({ "type": built_in.as_str() })), (expected(), Vec::new()));
        }
    }

    #[test]
    fn a_custom_template_has_a_body_and_perhaps_a_content_type() {
        let body = "ü".repeat(BODY_MAX);
        let (read, errors) = read_all(json!({ "type": "custom", "body": body, "contentType": null }));
        assert_eq!((read, errors), (custom(&body, None), Vec::new()));
        for content_type in ["text/plain", "application/vnd.x+json; charset=utf-8", "a/b;"] {
            let (read, errors) = read_all(json!({ "type": "custom", "body": "", "contentType": content_type }));
            assert_eq!((read, errors), (custom("", Some(content_type)), Vec::new()));
        }
    }

    #[test]
    fn an_unknown_name_is_kept_for_its_own_refusal() {
        let names = "default, slack, discord, teams, simple, notification, zapier";
        for (template, expected) in [
            (json!("Slack"), format!("template must be one of {names}")),
            (json!("custom"), format!("template must be one of {names}")),
            (
                json!({ "type": "x", "body": 1 }),
                format!("template.type must be one of custom, {names}"),
            ),
        ] {
            assert_eq!(read_all(template), (ReadTemplate::Unknown(expected), Vec::new()));
        }
    }

    #[test]
    fn each_error_names_its_field_and_what_is_allowed() {
        let long = "x".repeat(BODY_MAX + 1);
        for (template, expected) in [
            (json!(1), vec!["template must be a string or an object"]),
            (json!({}), vec!["template.type is required"]),
            (json!({ "type": 1 }), vec!["template.type must be a string"]),
            (
                json!({ "type": "slack", "body": "" }),
                vec!["property template.body should not exist"],
            ),
            (
                json!({ "type": "custom" }),
                vec!["template.body is required by the type custom"],
            ),
            (
                json!({ "type": "custom", "body": long }),
                vec!["template.body must be at most 10000 characters"],
            ),
            (
                json!({ "type": "custom", "body": {}, "contentType": 1, "kind": 1 }),
                vec![
                    "template.body must be a string",
                    "template.contentType must be a string",
                    "property template.kind should not exist",
                ],
            ),
        ] {
            assert_eq!(read_all(template).1, expected);
        }
        for content_type in [
            "",
            "text",
            "text/",
            "/x",
            "text/plain\r\nX: y",
            "text/plain; a=\u{e9}",
            " text/plain",
        ] {
            let (read, errors) = read_all(json!({ "type": "custom", "body": "", "contentType": content_type }));
            assert_eq!(errors, ["template.contentType must be a media type such as text/plain"]);
            assert_eq!(read, custom("", None));
        }
    }
}
