//! Webhooks (docs/spec/interface.md, "Webhook", "Events", "Limits"; docs/spec/decisions.md, section 7).

pub mod filter;
pub mod payload;
pub mod template;

pub use filter::{Filter, FilterError};
pub use payload::{EventEnvelope, PayloadLimits};
pub use template::{Rendered, Template, TemplateError};
