//! What a webhook asks for: filter and template, as the interface shows them (interface, Filters and Templates).
//!
//! These are shapes; whether a regular expression compiles and a body renders is known to who runs them.

use serde::{Deserialize, Serialize};

/// Which events a webhook gets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FilterConfig {
    /// How the rules are combined.
    pub mode: FilterMode,
    /// The rules; none match everything.
    pub rules: Vec<FilterRule>,
    /// Whether SPF, DKIM and DMARC must pass; the server's default if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub require_auth: Option<bool>,
}

impl FilterConfig {
    /// Every rule must match; without rules everything does.
    pub fn all() -> Self {
        Self::of(FilterMode::All)
    }

    /// One rule must match.
    pub fn any() -> Self {
        Self::of(FilterMode::Any)
    }

    fn of(mode: FilterMode) -> Self {
        Self {
            mode,
            rules: Vec::new(),
            require_auth: None,
        }
    }

    /// With a rule that compares a field without regard to case.
    #[must_use]
    pub fn rule(self, field: impl Into<String>, operator: FilterOperator, value: impl Into<String>) -> Self {
        self.with(FilterRule {
            field: field.into(),
            operator,
            value: Some(value.into()),
            case_sensitive: false,
        })
    }

    /// With a rule.
    #[must_use]
    pub fn with(mut self, rule: FilterRule) -> Self {
        self.rules.push(rule);
        self
    }

    /// With or without the demand that SPF, DKIM and DMARC pass.
    #[must_use]
    pub fn require_auth(mut self, required: bool) -> Self {
        self.require_auth = Some(required);
        self
    }
}

/// How the rules of a filter are combined.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FilterMode {
    /// Every rule must match.
    #[default]
    All,
    /// One rule must match.
    Any,
}

/// One rule of a filter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FilterRule {
    /// What it looks at: `subject`, `from.address`, `from.name`, `to.address`, `to.name`, `body.text`, `body.html` or
    /// `header.<Name>`.
    pub field: String,
    /// How it compares.
    pub operator: FilterOperator,
    /// What it compares with; `exists` needs none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Whether upper and lower case differ.
    #[serde(default)]
    pub case_sensitive: bool,
}

impl FilterRule {
    /// The fields that a rule may look at, besides those of headers.
    pub const FIELDS: [&str; 7] = [
        "subject",
        "from.address",
        "from.name",
        "to.address",
        "to.name",
        "body.text",
        "body.html",
    ];
    /// What the name of a header follows.
    pub const HEADER_FIELD: &str = "header.";
}

/// How a rule compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the words of the interface")]
pub enum FilterOperator {
    Equals,
    Contains,
    StartsWith,
    EndsWith,
    Domain,
    Regex,
    Exists,
}

impl FilterOperator {
    /// All of them, in the order of the interface.
    pub const ALL: [Self; 7] = [
        Self::Equals,
        Self::Contains,
        Self::StartsWith,
        Self::EndsWith,
        Self::Domain,
        Self::Regex,
        Self::Exists,
    ];

    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Equals => "equals",
            Self::Contains => "contains",
            Self::StartsWith => "starts_with",
            Self::EndsWith => "ends_with",
            Self::Domain => "domain",
            Self::Regex => "regex",
            Self::Exists => "exists",
        }
    }

    /// The operator that a word of the wire names.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|operator| operator.as_str() == word)
    }
}

/// What a webhook is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum WebhookTemplate {
    /// A shape of the server's.
    BuiltIn(BuiltInTemplate),
    /// A text of the user's.
    Custom(CustomTemplate),
}

impl From<BuiltInTemplate> for WebhookTemplate {
    fn from(template: BuiltInTemplate) -> Self {
        Self::BuiltIn(template)
    }
}

impl From<CustomTemplate> for WebhookTemplate {
    fn from(template: CustomTemplate) -> Self {
        Self::Custom(template)
    }
}

/// The shapes that the server knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the words of the interface")]
pub enum BuiltInTemplate {
    Default,
    Slack,
    Discord,
    Teams,
    Simple,
    Notification,
    Zapier,
}

impl BuiltInTemplate {
    /// All of them, in the order of `GET /api/webhooks/templates`.
    pub const ALL: [Self; 7] = [
        Self::Default,
        Self::Slack,
        Self::Discord,
        Self::Teams,
        Self::Simple,
        Self::Notification,
        Self::Zapier,
    ];

    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Slack => "slack",
            Self::Discord => "discord",
            Self::Teams => "teams",
            Self::Simple => "simple",
            Self::Notification => "notification",
            Self::Zapier => "zapier",
        }
    }
}

/// A body with `{{variable}}` placeholders.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CustomTemplate {
    /// Always `custom`.
    #[serde(rename = "type")]
    pub kind: CustomKind,
    /// The text, JSON unless `content_type` says otherwise.
    pub body: String,
    /// The content type that it is sent with, if not `application/json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
}

impl CustomTemplate {
    /// A body that is JSON once its placeholders are filled.
    pub fn new(body: impl Into<String>) -> Self {
        Self {
            kind: CustomKind::Custom,
            body: body.into(),
            content_type: None,
        }
    }

    /// Sent as this content type.
    #[must_use]
    pub fn content_type(mut self, content_type: impl Into<String>) -> Self {
        self.content_type = Some(content_type.into());
        self
    }
}

/// The one word that a custom template names itself with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CustomKind {
    /// `custom`
    #[serde(rename = "custom")]
    Custom,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_read_back_as_they_were_given() {
        for built_in in BuiltInTemplate::ALL {
            let template = WebhookTemplate::BuiltIn(built_in);
            assert_eq!(serde_json::to_value(&template).unwrap(), built_in.as_str());
        }
        for json in [
            r#""slack""#,
            r#"{"type":"custom","body":"{}"}"#,
            r#"{"type":"custom","body":"{}","contentType":"text/plain"}"#,
        ] {
            let template: WebhookTemplate = serde_json::from_str(json).unwrap();
            assert_eq!(serde_json::to_string(&template).unwrap(), json);
        }
        assert!(serde_json::from_str::<WebhookTemplate>(r#"{"type":"slack"}"#).is_err());
    }

    #[test]
    fn operators_are_the_words_of_the_wire() {
        for operator in FilterOperator::ALL {
            assert_eq!(serde_json::to_value(operator).unwrap(), operator.as_str());
            assert_eq!(FilterOperator::parse(operator.as_str()), Some(operator));
        }
        assert_eq!(FilterOperator::parse("Equals"), None);
    }

    #[test]
    fn a_filter_is_echoed_with_its_mode_and_each_case_sensitivity() {
        let filter = FilterConfig::all().rule("subject", FilterOperator::StartsWith, "a");
        let json = r#"{"mode":"all","rules":[{"field":"subject","operator":"starts_with","value":"a","caseSensitive":false}]}"#;
        assert_eq!(serde_json::to_string(&filter).unwrap(), json);
        assert_eq!(serde_json::from_str::<FilterConfig>(json).unwrap(), filter);
        let filter = FilterConfig::any()
            .rule("header.X-My", FilterOperator::Exists, "")
            .require_auth(true);
        let json = r#"{"mode":"any","rules":[{"field":"header.X-My","operator":"exists","value":"","caseSensitive":false}],"requireAuth":true}"#;
        assert_eq!(serde_json::to_string(&filter).unwrap(), json);
    }
}
