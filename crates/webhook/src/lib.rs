//! Webhooks (docs/spec/interface.md, "Webhook", "Events", "Limits"; docs/spec/decisions.md, section 7).

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
