//! What is kept of a webhook, sealed, since it holds a secret (docs/spec/decisions.md, section 5).

use std::time::Duration;

use bytes::Bytes;
use restante_envelope::AtRestKey;
use restante_model::webhook::{FilterConfig, WebhookTemplate};
use restante_model::{EventType, Timestamp, WebhookId};
use restante_storage::{Idempotency, Topics};
use serde::{Deserialize, Serialize};

use crate::WebhookSecret;

/// How long the former secret stays valid after a rotation (docs/spec/interface.md, "Limits").
pub(crate) const ROTATION_GRACE: Duration = Duration::from_hours(1);
/// How long a repeated request is answered like the first one (docs/spec/decisions.md, section 2).
pub(crate) const REPEAT_WINDOW: Duration = Duration::from_mins(10);

/// Rotations of a webhook that are remembered, at most: each takes room in its configuration.
const ROTATIONS: usize = 16;

/// What a user wants a webhook to be, and its secrets.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Config {
    pub(crate) url: String,
    pub(crate) events: Vec<EventType>,
    pub(crate) template: Option<WebhookTemplate>,
    pub(crate) filter: Option<FilterConfig>,
    pub(crate) description: Option<String>,
    #[serde(with = "secret_text")]
    pub(crate) secret: WebhookSecret,
    pub(crate) previous: Option<PreviousSecret>,
    /// The latest rotations that the client may repeat, the oldest first.
    #[serde(default)]
    pub(crate) rotations: Vec<RotationMark>,
}

/// A secret that was rotated away.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PreviousSecret {
    #[serde(with = "secret_text")]
    pub(crate) secret: WebhookSecret,
    pub(crate) valid_until: Timestamp,
}

/// A rotation that the client may repeat, and what it was answered.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RotationMark {
    key: [u8; 32],
    body: [u8; 32],
    at: Timestamp,
    #[serde(with = "secret_text")]
    pub(crate) secret: WebhookSecret,
}

impl RotationMark {
    pub(crate) fn new(idempotency: Idempotency, at: Timestamp, secret: WebhookSecret) -> Self {
        let Idempotency { key, body } = idempotency;
        Self { key, body, at, secret }
    }

    /// Whether it may still be repeated.
    fn is_remembered(&self, now: Timestamp) -> bool {
        now < self.at.after(REPEAT_WINDOW)
    }

    pub(crate) fn has_body(&self, idempotency: &Idempotency) -> bool {
        self.body == idempotency.body
    }

    /// Until when the secret before stays valid.
    pub(crate) fn previous_valid_until(&self) -> Timestamp {
        self.at.after(ROTATION_GRACE)
    }
}

/// The bytes are no configuration of this webhook under this key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the stored configuration cannot be read")]
pub(crate) struct Unreadable;

impl Config {
    /// The rotation that a request with this key repeats.
    pub(crate) fn repeated(&self, idempotency: &Idempotency, now: Timestamp) -> Option<&RotationMark> {
        let mut remembered = self.rotations.iter().filter(|mark| mark.is_remembered(now));
        remembered.find(|mark| mark.key == idempotency.key)
    }

    /// Remembers a rotation beside the latest of the others that may be repeated.
    pub(crate) fn remember(&mut self, rotation: RotationMark, now: Timestamp) {
        self.rotations.retain(|mark| mark.is_remembered(now));
        let too_many = (self.rotations.len() + 1).saturating_sub(ROTATIONS);
        self.rotations.drain(..too_many);
        self.rotations.push(rotation);
    }

    /// Seals it for one webhook.
    pub(crate) fn seal(&self, key: &AtRestKey, id: WebhookId) -> Bytes {
        let json = serde_json::to_vec(self).expect("a configuration has no map with other keys than strings");
        let json = zeroize::Zeroizing::new(json);
        key.seal(&context(id), &json).into()
    }

    /// Opens what [`Config::seal`] gave.
    pub(crate) fn open(key: &AtRestKey, id: WebhookId, sealed: &[u8]) -> Result<Self, Unreadable> {
        let json = key.open(&context(id), sealed).ok_or(Unreadable)?;
        serde_json::from_slice(&json).map_err(|_| Unreadable)
    }

    /// What a webhook with this configuration listens to.
    ///
    /// Removals tell too little for a filter: only a webhook that filters nothing hears of them (decisions, section 7).
    pub(crate) fn topics(&self) -> Topics {
        let hears = |event| self.events.contains(&event);
        let filters = self.filter.as_ref().is_some_and(|filter| {
            let FilterConfig {
                rules, require_auth, ..
            } = filter;
            !rules.is_empty() || *require_auth == Some(true)
        });
        Topics {
            arrivals: hears(EventType::EmailReceived) || hears(EventType::EmailStored),
            removals: hears(EventType::EmailDeleted) && !filters,
        }
    }

    /// The former secret, while it is valid.
    pub(crate) fn previous_at(&self, now: Timestamp) -> Option<&WebhookSecret> {
        let previous = self.previous.as_ref()?;
        (now < previous.valid_until).then_some(&previous.secret)
    }
}

fn context(id: WebhookId) -> Vec<u8> {
    [b"webhook config".as_slice(), id.as_bytes()].concat()
}

/// A secret inside a configuration that is sealed as a whole.
mod secret_text {
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};
    use zeroize::Zeroizing;

    use crate::WebhookSecret;

    pub(super) fn serialize<S: Serializer>(secret: &WebhookSecret, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(secret.expose())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<WebhookSecret, D::Error> {
        let text = Zeroizing::new(String::deserialize(deserializer)?);
        WebhookSecret::parse(&text).ok_or_else(|| D::Error::custom("expected a secret"))
    }
}

#[cfg(test)]
mod tests {
    use restante_model::webhook::{FilterMode, FilterOperator, FilterRule};
    use zeroize::Zeroizing;

    use super::*;

    fn config(events: &[EventType], filter: Option<FilterConfig>) -> Config {
        Config {
            url: "https://example.com/".to_owned(),
            events: events.to_vec(),
            template: None,
            filter,
            description: None,
            secret: WebhookSecret::generate(),
            previous: None,
            rotations: Vec::new(),
        }
    }

    fn filter(require_auth: Option<bool>, rules: usize) -> FilterConfig {
        let rule = FilterRule {
            field: "subject".to_owned(),
            operator: FilterOperator::Exists,
            value: None,
            case_sensitive: false,
        };
        FilterConfig {
            mode: FilterMode::All,
            rules: vec![rule; rules],
            require_auth,
        }
    }

    #[test]
    fn a_sealed_configuration_opens_for_its_webhook_only_and_shows_no_secret() {
        let key = AtRestKey::new(Zeroizing::new([1; 32]));
        let (id, other) = (WebhookId::random(), WebhookId::random());
        let mut config = config(&EventType::ALL, Some(filter(Some(true), 1)));
        config.previous = Some(PreviousSecret {
            secret: WebhookSecret::generate(),
            valid_until: Timestamp::from_unix_ms(1000),
        });
        let sealed = config.seal(&key, id);
        let opened = Config::open(&key, id, &sealed).unwrap();
        assert_eq!(opened.secret.expose(), config.secret.expose());
        assert_eq!(
            (opened.url, opened.events, opened.filter),
            (config.url, config.events, config.filter)
        );
        assert!(Config::open(&key, other, &sealed).is_err());
        assert!(!sealed.windows(6).any(|bytes| bytes == b"whsec_"));
        let shown = format!("{:?}", Config::open(&key, id, &sealed).unwrap());
        assert!(!shown.contains(config.secret.expose()), "{shown}");
    }

    #[test]
    fn topics_are_those_that_any_default_could_let_through() {
        let topics = |events: &[EventType], filter| {
            let topics = config(events, filter).topics();
            (topics.arrivals, topics.removals)
        };
        assert_eq!(topics(&[EventType::EmailReceived], None), (true, false));
        assert_eq!(topics(&[EventType::EmailStored], None), (true, false));
        assert_eq!(topics(&[EventType::EmailDeleted], None), (false, true));
        assert_eq!(topics(&EventType::ALL, Some(filter(None, 0))), (true, true));
        assert_eq!(topics(&EventType::ALL, Some(filter(Some(false), 0))), (true, true));
        assert_eq!(topics(&EventType::ALL, Some(filter(Some(true), 0))), (true, false));
        assert_eq!(topics(&EventType::ALL, Some(filter(None, 1))), (true, false));
    }

    #[test]
    fn the_former_secret_is_valid_up_to_its_last_millisecond() {
        let mut config = config(&EventType::ALL, None);
        let valid_until = Timestamp::from_unix_ms(1000);
        let secret = WebhookSecret::generate();
        config.previous = Some(PreviousSecret { secret, valid_until });
        assert!(config.previous_at(Timestamp::from_unix_ms(999)).is_some());
        assert!(config.previous_at(valid_until).is_none());
    }
}
