//! Reading what a webhook is to be: every wrong field is named at once (interface, "Webhook request shapes").

use axum::http::HeaderMap;
use restante_model::EventType;
use restante_model::webhook::WebhookTemplate;
use restante_webhook::{CreateRequest, Patch, TargetUrl, UpdateRequest};
use serde_json::Value;

use super::template::ReadTemplate;
use super::{at_most, filter, template};
use crate::body::JsonObject;
use crate::error::ApiError;
use crate::fields::{Fields, Given};
use crate::idempotency::idempotency;

/// Characters of a URL, at most.
const URL_MAX: usize = 2048;
/// Events of a webhook, at most.
const EVENTS_MAX: usize = 10;
/// Characters of a description, at most.
const DESCRIPTION_MAX: usize = 500;

/// A request whose shape is right.
pub(super) struct Shaped<T> {
    request: T,
    /// The template that it names is not known: a refusal that comes after those for what the path names.
    unknown_template: Option<String>,
}

impl<T> Shaped<T> {
    /// Whether it names a template that there is not.
    pub(super) fn is_unprocessable(&self) -> bool {
        self.unknown_template.is_some()
    }

    /// The request, once what its path names was found.
    ///
    /// # Errors
    /// 422 for a template that is not known.
    pub(super) fn processable(self) -> Result<T, ApiError> {
        match self.unknown_template {
            None => Ok(self.request),
            Some(message) => Err(ApiError::Unprocessable(message)),
        }
    }
}

/// Reads a webhook to create; `null` is absent.
pub(super) fn create(
    headers: &HeaderMap,
    mut body: JsonObject,
    allow_http: bool,
) -> Result<Shaped<CreateRequest>, ApiError> {
    let fields = &mut body.fields;
    let url = match fields.take("url") {
        Some(url) => read_url(fields, url, allow_http),
        None => fields.wrong("url", "is required"),
    };
    let events = match fields.take("events") {
        Some(events) => read_events(fields, events),
        None => fields.wrong("events", "is required"),
    };
    let template = fields.take("template").map(|value| template::read(fields, value));
    let filter = fields.take("filter").and_then(|value| filter::read(fields, value));
    let description = fields.take("description");
    let description = description.and_then(|value| read_description(fields, value));
    let sent = body.finish()?;
    let idempotency = idempotency(headers, &sent)?;
    let (template, unknown_template) = sort(template);
    Ok(Shaped {
        request: CreateRequest {
            url: url.expect("its absence is an error"),
            events: events.expect("their absence is an error"),
            template,
            filter,
            description,
            idempotency,
        },
        unknown_template,
    })
}

/// Reads a change; `null` removes what may be absent.
pub(super) fn update(mut body: JsonObject, allow_http: bool) -> Result<Shaped<UpdateRequest>, ApiError> {
    let fields = &mut body.fields;
    let url = present(fields, "url").and_then(|value| read_url(fields, value, allow_http));
    let events = present(fields, "events").and_then(|value| read_events(fields, value));
    let template = patch(fields, "template", |fields, value| Some(template::read(fields, value)));
    let filter = patch(fields, "filter", filter::read);
    let description = patch(fields, "description", read_description);
    let enabled = present(fields, "enabled").and_then(|value| match value {
        Value::Bool(enabled) => Some(enabled),
        _ => fields.wrong("enabled", "must be a boolean"),
    });
    body.finish()?;
    let (template, unknown_template) = match template {
        Patch::Keep => (Patch::Keep, None),
        Patch::Remove => (Patch::Remove, None),
        Patch::Set(read) => {
            let (template, unknown) = sort(Some(read));
            (template.map_or(Patch::Keep, Patch::Set), unknown)
        }
    };
    Ok(Shaped {
        request: UpdateRequest {
            url,
            events,
            template,
            filter,
            description,
            enabled,
        },
        unknown_template,
    })
}

/// What of a template is one, and what names none.
fn sort(read: Option<ReadTemplate>) -> (Option<WebhookTemplate>, Option<String>) {
    match read {
        Some(ReadTemplate::Known(template)) => (Some(template), None),
        Some(ReadTemplate::Unknown(message)) => (None, Some(message)),
        Some(ReadTemplate::Wrong) | None => (None, None),
    }
}

/// Takes a field of a change that cannot be removed.
fn present(fields: &mut Fields, name: &str) -> Option<Value> {
    match fields.given(name) {
        Given::Absent => None,
        Given::Null => fields.wrong(name, "must not be null"),
        Given::Value(value) => Some(value),
    }
}

/// Takes a field of a change that can be removed.
fn patch<T>(fields: &mut Fields, name: &str, read: impl FnOnce(&mut Fields, Value) -> Option<T>) -> Patch<T> {
    match fields.given(name) {
        Given::Absent => Patch::Keep,
        Given::Null => Patch::Remove,
        Given::Value(value) => read(fields, value).map_or(Patch::Keep, Patch::Set),
    }
}

fn read_url(fields: &mut Fields, value: Value, allow_http: bool) -> Option<String> {
    let Value::String(url) = value else {
        return fields.wrong("url", "must be a string");
    };
    let url = at_most(fields, "url", url, URL_MAX)?;
    match TargetUrl::parse(&url, allow_http) {
        Ok(_) => Some(url),
        Err(error) => fields.wrong("url", &error.to_string()),
    }
}

/// Repeated ones stay as they are.
fn read_events(fields: &mut Fields, value: Value) -> Option<Vec<EventType>> {
    let Value::Array(names) = value else {
        return fields.wrong("events", "must be an array");
    };
    if !(1..=EVENTS_MAX).contains(&names.len()) {
        return fields.wrong("events", &format!("must have 1 to {EVENTS_MAX} entries"));
    }
    let known = |name: &Value| EventType::ALL.into_iter().find(|event| name == event.as_str());
    let events = names.iter().enumerate().map(|(index, name)| {
        known(name).or_else(|| {
            let all = EventType::ALL.map(EventType::as_str).join(", ");
            fields.wrong(&format!("events[{index}]"), &format!("must be one of {all}"))
        })
    });
    // All are looked at, so that each that is wrong is named.
    let events: Vec<_> = events.collect();
    events.into_iter().collect()
}

fn read_description(fields: &mut Fields, value: Value) -> Option<String> {
    match value {
        Value::String(text) => at_most(fields, "description", text, DESCRIPTION_MAX),
        _ => fields.wrong("description", "must be a string"),
    }
}

#[cfg(test)]
mod tests;
