//! A webhook's configuration, ready to be used: what the dispatcher and a test share.

use restante_model::event::EventAuth;
use restante_model::webhook::FilterConfig;
use restante_model::{EventType, Timestamp};

use crate::config::Config;
use crate::filter::{matches_removals, requires_auth};
use crate::signature::{Signable, sign};
use crate::{Attempt, EventEnvelope, Rendered, TargetUrl, Template, WebhookPolicy};

/// A configuration whose URL and template were understood; its filter is made ready by who runs it.
#[derive(Debug)]
pub(crate) struct Compiled {
    config: Config,
    url: TargetUrl,
    template: Template,
    is_auth_required: bool,
    is_told_removals: bool,
}

/// Which attempt of which delivery is made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Posting<'a> {
    pub(crate) delivery_id: &'a str,
    pub(crate) attempt: u32,
    pub(crate) now: Timestamp,
}

impl Compiled {
    /// Makes a configuration ready; the error is for the log of deliveries.
    pub(crate) fn new(config: Config, policy: &WebhookPolicy) -> Result<Self, String> {
        let url = TargetUrl::parse(&config.url, policy.allow_http).map_err(|why| format!("url {why}"))?;
        let template = Template::compile(config.template.as_ref()).map_err(|why| why.to_string())?;
        let default = policy.require_auth_default;
        Ok(Self {
            url,
            template,
            is_auth_required: requires_auth(config.filter.as_ref(), default),
            is_told_removals: matches_removals(config.filter.as_ref(), default),
            config,
        })
    }

    /// The types that it wants to be told an arrival as; each once.
    pub(crate) fn arrival_types(&self) -> impl Iterator<Item = EventType> {
        [EventType::EmailReceived, EventType::EmailStored]
            .into_iter()
            .filter(|event| self.config.events.contains(event))
    }

    /// Whether an arrival with these results is what it asks for, whatever its rules say.
    pub(crate) fn takes(&self, auth: EventAuth) -> bool {
        !self.is_auth_required || auth.passed()
    }

    /// Whether it wants to be told of removals: not if it filters anything, since a removal says too little for it.
    pub(crate) fn matches_removal(&self) -> bool {
        self.config.events.contains(&EventType::EmailDeleted) && self.is_told_removals
    }

    /// The rules that an arrival has to pass, if there are any.
    pub(crate) fn rules(&self) -> Option<&FilterConfig> {
        self.config.filter.as_ref().filter(|filter| !filter.rules.is_empty())
    }

    /// The first type that it is told of: what a test is sent as.
    pub(crate) fn first_type(&self) -> EventType {
        self.config.events.first().copied().unwrap_or(EventType::EmailReceived)
    }

    /// What is sent for an event, signed.
    pub(crate) fn post(&self, envelope: &EventEnvelope, posting: Posting<'_>, policy: &WebhookPolicy) -> Attempt {
        let Rendered { body, content_type } = self.template.render(envelope, policy.profile);
        let signable = Signable {
            event_id: &envelope.id,
            event_type: envelope.event_type,
            delivery_id: posting.delivery_id,
            attempt: posting.attempt,
            timestamp: posting.now.unix_secs(),
            body: &body,
        };
        let previous = self.config.previous_at(posting.now);
        let headers = sign(&signable, &self.config.secret, previous);
        Attempt {
            url: self.url.clone(),
            headers,
            content_type,
            body,
        }
    }
}
