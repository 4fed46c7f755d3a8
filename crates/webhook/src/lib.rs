//! Webhooks (docs/spec/interface.md, "Webhook", "Events", "Limits"; docs/spec/decisions.md, section 7).

pub mod filter;
pub mod payload;
pub mod resolver;
pub mod schedule;
pub mod secret;
pub mod sender;
pub mod signature;
pub mod target;
pub mod template;

pub use filter::{Filter, FilterError};
pub use payload::{EventEnvelope, PayloadLimits};
pub use resolver::{DnsLookup, Lookup, SystemLookup, Unresolved};
pub use schedule::Schedule;
pub use secret::WebhookSecret;
pub use sender::{Attempt, Outcome, Sender, SenderConfig, SenderError};
pub use signature::{Signable, sign};
pub use target::{Forbidden, Guard, TargetUrl, TargetUrlError};
pub use template::{Rendered, Template, TemplateError};
