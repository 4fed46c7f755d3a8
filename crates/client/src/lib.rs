//! The Rust SDK of restante: create an inbox, let your application send, wait for the mail, look at it.
//!
//! Modules, in reading order: `client`, `builder`, `settings`, `local`, [`error`]; `http`, `routes`, `record`; `inbox`,
//! `new_inbox`, `registry`, `reader`, `email`, `attachment`, `listing`, `auth`; `matcher`, `watch`, `wait`; [`webhooks`].

mod attachment;
mod auth;
mod builder;
mod client;
mod email;
pub mod error;
mod export;
mod export_file;
mod http;
mod import;
mod inbox;
mod listing;
mod local;
mod matcher;
mod new_inbox;
mod reader;
mod record;
mod registry;
mod routes;
mod settings;
mod wait;
mod watch;
pub mod webhooks;

pub use attachment::checksum_matches;
pub use auth::AuthSummary;
pub use builder::ClientBuilder;
pub use client::Client;
pub use email::{Email, EmailSummary};
pub use error::{ApiError, Error, SignatureError};
pub use export::ExportedInbox;
pub use import::{IfKnown, ImportError, JsonError};
pub use inbox::Inbox;
pub use listing::UnreadableEmail;
pub use local::LocalServer;
pub use matcher::EmailMatcher;
pub use new_inbox::{Encryption, NewInbox};
pub use settings::{PollingSettings, ReconnectSettings, RetrySettings, Settings, Strategy};
pub use wait::{WaitForEmail, WaitForEmails, WaitForNone};
pub use watch::{Arrival, Existing, Watch};
pub use webhooks::{NewWebhook, WebhookEvent, WebhookUpdate, Webhooks, verify_signature};

pub use restante_model::{
    AttachmentData, AuthResults, Base64, Clock, DeliveryId, EmailId, InboxHash, ParsedContent, SystemClock, Timestamp,
    WebhookId,
};
pub use restante_wire::{Health, InboxResource, ServerInfo, SyncResource};
