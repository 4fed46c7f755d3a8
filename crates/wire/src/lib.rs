//! The JSON shapes of the API and the stream (interface, "Resources and their fields").
//!
//! The crate knows shapes only: no HTTP, no storage, no rules about who may see what.
//! Field order is the order of the JSON; an optional field that does not apply is absent, never `null`.
//!
//! ```
//! use restante_wire::ErrorBody;
//!
//! let error = ErrorBody::new(404, vec!["Inbox not found: a@x.test".into()], "Not Found");
//! assert_eq!(
//!     serde_json::to_string(&error).unwrap(),
//!     r#"{"statusCode":404,"message":"Inbox not found: a@x.test","error":"Not Found"}"#
//! );
//! ```
//!
//! Modules: [`server`], [`inbox`], [`email`], [`webhook`], [`metrics`], [`error`]; [`discovery`].

pub mod discovery;
pub mod email;
pub mod error;
pub mod inbox;
pub mod metrics;
pub mod server;
pub mod webhook;

pub use discovery::Discovery;
pub use email::{EmailRecord, RawContent, RawRecord, RecordContent, StreamItem, TestEmailResource};
pub use error::ErrorBody;
pub use inbox::{DeletedCount, InboxList, InboxResource, SyncResource};
pub use metrics::{ConsoleKind, ConsoleLine, Metrics, StorageMetrics};
pub use restante_model::Base64;
pub use server::{CheckKey, Health, HealthStatus, ServerInfo};
pub use webhook::{
    DeliveryList, DeliveryRecord, RedeliverAnswer, RotateSecretResponse, ShownSecret, TemplateList,
    TestWebhookResponse, WebhookList, WebhookMetrics, WebhookResource,
};
