//! What a webhook is to be, and what of one is to change (interface, "Webhook request shapes").

use restante_model::EventType;
use restante_model::webhook::{FilterConfig, WebhookTemplate};
use serde::{Serialize, Serializer};

/// A webhook to be.
///
/// ```
/// use restante_client::webhooks::{BuiltInTemplate, EventType, FilterConfig, FilterOperator, NewWebhook};
///
/// let invoices = NewWebhook::new("https://ci.example.org/mail", [EventType::EmailReceived])
///     .filter(FilterConfig::all().rule("subject", FilterOperator::Contains, "invoice"))
///     .template(BuiltInTemplate::Slack)
///     .description("invoices of the nightly run");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[must_use = "`Webhooks::create` creates it"]
pub struct NewWebhook {
    url: String,
    events: Vec<EventType>,
    #[serde(skip_serializing_if = "Option::is_none")]
    template: Option<WebhookTemplate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    filter: Option<FilterConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
}

impl NewWebhook {
    /// A webhook that is told of these events: 1 to 10; its URL has at most 2048 characters, and is one of HTTPS unless
    /// the server allows HTTP.
    pub fn new(url: impl Into<String>, events: impl IntoIterator<Item = EventType>) -> Self {
        Self {
            url: url.into(),
            events: events.into_iter().collect(),
            template: None,
            filter: None,
            description: None,
        }
    }

    /// Sent in this shape instead of the event's own.
    pub fn template(mut self, template: impl Into<WebhookTemplate>) -> Self {
        self.template = Some(template.into());
        self
    }

    /// Told only of what passes this filter, which has at most 10 rules.
    pub fn filter(mut self, filter: FilterConfig) -> Self {
        self.filter = Some(filter);
        self
    }

    /// For people, in at most 500 characters.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }
}

/// What of a webhook is to change: what is not named stays as it is.
///
/// ```
/// use restante_client::webhooks::WebhookUpdate;
///
/// let quiet = WebhookUpdate::new().enabled(false);
/// let everything = WebhookUpdate::new().remove_filter().description("all mail");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[must_use = "`Webhooks::update` changes it"]
pub struct WebhookUpdate {
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    events: Option<Vec<EventType>>,
    #[serde(skip_serializing_if = "Change::is_keep")]
    template: Change<WebhookTemplate>,
    #[serde(skip_serializing_if = "Change::is_keep")]
    filter: Change<FilterConfig>,
    #[serde(skip_serializing_if = "Change::is_keep")]
    description: Change<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    enabled: Option<bool>,
}

/// What becomes of a field that may be absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Change<T> {
    #[default]
    Keep,
    Remove,
    Set(T),
}

impl<T> Change<T> {
    fn is_keep(&self) -> bool {
        matches!(self, Self::Keep)
    }
}

impl<T: Serialize> Serialize for Change<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Set(value) => value.serialize(serializer),
            Self::Keep | Self::Remove => serializer.serialize_unit(),
        }
    }
}

impl WebhookUpdate {
    /// No change yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sent to this URL from the next attempt on.
    pub fn url(mut self, url: impl Into<String>) -> Self {
        self.url = Some(url.into());
        self
    }

    /// Told of these events: 1 to 10.
    pub fn events(mut self, events: impl IntoIterator<Item = EventType>) -> Self {
        self.events = Some(events.into_iter().collect());
        self
    }

    /// Sent in this shape.
    pub fn template(mut self, template: impl Into<WebhookTemplate>) -> Self {
        self.template = Change::Set(template.into());
        self
    }

    /// Sent in the event's own shape.
    pub fn remove_template(mut self) -> Self {
        self.template = Change::Remove;
        self
    }

    /// Told only of what passes this filter.
    pub fn filter(mut self, filter: FilterConfig) -> Self {
        self.filter = Change::Set(filter);
        self
    }

    /// Told of everything.
    pub fn remove_filter(mut self) -> Self {
        self.filter = Change::Remove;
        self
    }

    /// With this text for people.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Change::Set(description.into());
        self
    }

    /// Without a text for people.
    pub fn remove_description(mut self) -> Self {
        self.description = Change::Remove;
        self
    }

    /// Sent anything, or nothing; enabling forgets the failures so far.
    pub fn enabled(mut self, enabled: bool) -> Self {
        self.enabled = Some(enabled);
        self
    }
}

#[cfg(test)]
mod tests {
    use restante_model::webhook::{BuiltInTemplate, CustomTemplate, FilterOperator};
    use serde_json::{Value, json};

    use super::*;

    fn json_of(value: &impl Serialize) -> Value {
        serde_json::to_value(value).unwrap()
    }

    #[test]
    fn a_new_webhook_says_what_was_said_and_no_more() {
        let least = NewWebhook::new("https://example.test/", [EventType::EmailStored]);
        assert_eq!(
            json_of(&least),
            json!({ "url": "https://example.test/", "events": ["email.stored"] })
        );
        let most = least
            .template(CustomTemplate::new("{{id}}").content_type("text/plain"))
            .filter(FilterConfig::any().rule("from.address", FilterOperator::Domain, "shop.test"))
            .description("shop");
        let expected = json!({
            "url": "https://example.test/",
            "events": ["email.stored"],
            "template": { "type": "custom", "body": "{{id}}", "contentType": "text/plain" },
            "filter": { "mode": "any", "rules": [
                { "field": "from.address", "operator": "domain", "value": "shop.test", "caseSensitive": false }
            ] },
            "description": "shop",
        });
        assert_eq!(json_of(&most), expected);
    }

    #[test]
    fn an_update_keeps_removes_and_sets() {
        assert_eq!(json_of(&WebhookUpdate::new()), json!({}));
        let removed = WebhookUpdate::new()
            .remove_template()
            .remove_filter()
            .remove_description();
        assert_eq!(
            json_of(&removed),
            json!({ "template": null, "filter": null, "description": null })
        );
        let set = removed
            .url("https://example.test/")
            .events([EventType::EmailDeleted])
            .template(BuiltInTemplate::Teams)
            .filter(FilterConfig::all())
            .description("")
            .enabled(false);
        let expected = json!({
            "url": "https://example.test/",
            "events": ["email.deleted"],
            "template": "teams",
            "filter": { "mode": "all", "rules": [] },
            "description": "",
            "enabled": false,
        });
        assert_eq!(json_of(&set), expected);
    }
}
