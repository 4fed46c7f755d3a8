//! Webhooks: who is told of what, in which words, how it is proven, and when it is tried again.
//!
//! Source: docs/spec/interface.md, "Webhook", "Events", "Limits"; docs/spec/decisions.md, section 7.
//!
//! [`Webhooks`] holds the use cases, global and by inbox alike ([`Owner`]), and [`Webhooks::run_dispatcher`], the one task
//! that delivers. The crate knows no route and no JSON of the API, and nothing of how mail arrives: an event is a row that
//! the store wrote in the same step as the email, and the store keeps everything else that must not be lost as well.
//!
//! What decides does no input or output: [`filter`], [`template`], [`payload`], [`signature`], [`schedule`].
//!
//! ```
//! use restante_model::{EventType, Timestamp};
//! use restante_webhook::{EventEnvelope, Schedule, Signable, Template, WebhookSecret, sign};
//!
//! let now = Timestamp::from_unix_ms(1_769_341_276_000);
//! let envelope = EventEnvelope::test(EventType::EmailReceived, now);
//! let rendered = Template::compile(None)?.render(&envelope, restante_model::WireProfile::Service);
//! let signable = Signable {
//!     event_id: &envelope.id,
//!     event_type: envelope.event_type,
//!     delivery_id: "dlv_test_000000000000000000000000000000",
//!     attempt: 1,
//!     timestamp: now.unix_secs(),
//!     body: &rendered.body,
//! };
//! let headers = sign(&signable, &WebhookSecret::generate(), None);
//! assert!(headers.iter().any(|(name, _)| *name == "X-Vault-Signature"));
//! let retry = Schedule::new(5).retry_at(1, now).expect("four attempts remain");
//! assert_eq!(now.until(retry).as_secs(), 30);
//! # Ok::<(), restante_webhook::TemplateError>(())
//! ```
//!
//! Modules, in reading order: [`webhooks`] (the use cases), [`request`] and [`view`] (what they take and give), [`policy`];
//! `config` (what is kept of a webhook) and `compiled` (the same, ready to be used); [`filter`], [`payload`],
//! [`template`]; [`secret`], [`signature`], [`schedule`]; [`target`] (URL and guard), [`resolver`], [`sender`];
//! `dispatcher` (`router`: events to deliveries, `courier`: deliveries to outcomes) and `report` (the log's view of one).
//!
//! What always holds:
//!
//! - each event reaches each webhook that wants it at least once, or the log says why it did not; ids never change between
//!   attempts, timestamp and signatures are fresh at each;
//! - the signed bytes are the sent bytes, and the checked address is the one connected to;
//! - URL, template and secret are read when an attempt is made, so that a change holds for what is queued;
//! - at most 10 attempts of one webhook and 100 in all are under way, those of the webhook with the fewest go first, and
//!   memory does not grow with what is queued;
//! - configurations, events and reports are sealed at rest; secrets, queries of URLs and content of mail are in no log;
//! - the dispatcher never polls: it sleeps until it is told, or until what is queued is due.

mod compiled;
mod config;
mod dispatcher;
pub mod filter;
pub mod payload;
pub mod policy;
mod report;
pub mod request;
pub mod resolver;
pub mod schedule;
pub mod secret;
pub mod sender;
pub mod signature;
pub mod target;
pub mod template;
pub mod view;
pub mod webhooks;

pub use filter::{Filter, FilterError};
pub use payload::{EventEnvelope, PayloadLimits};
pub use policy::WebhookPolicy;
pub use request::{CreateRequest, DeliveriesRequest, Owner, Patch, UpdateRequest};
pub use resolver::{DnsLookup, Lookup, SystemLookup, Unresolved};
pub use restante_storage::{Activity, Idempotency, LastAttempt, Switch};
pub use schedule::Schedule;
pub use secret::WebhookSecret;
pub use sender::{Attempt, Outcome, Sender, SenderConfig, SenderError};
pub use signature::{Signable, sign};
pub use target::{Forbidden, Guard, TargetUrl, TargetUrlError};
pub use template::{Rendered, Template, TemplateError};
pub use view::{DeliveryList, DeliveryStatus, DeliveryView, Metrics, Rotation, TestOutcome, WebhookView};
pub use webhooks::{WebhookError, Webhooks, WebhooksParts};
