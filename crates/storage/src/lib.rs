//! Where mail is kept: the [`Store`] trait, its conformance suite, the embedded backend, and the [`Bus`].
//!
//! A method of [`Store`] is an operation of the domain and one atomic, durable step.
//! The crate knows nothing of SMTP, HTTP, sealing or the JSON of the interface: the parts of an email are opaque bytes to it.
//!
//! Modules, in reading order: [`store`], [`webhook_store`], [`queue_item`], [`bus`], [`embedded`], [`transfer`], `conformance` (with the feature of that name, for the tests of a backend).

pub mod bus;
mod chaos_json;
#[cfg(any(test, feature = "conformance"))]
#[expect(clippy::unwrap_used, reason = "a broken rule panics, as a test does")]
pub mod conformance;
pub mod embedded;
pub mod queue_item;
pub mod store;
pub mod transfer;
pub mod webhook_store;

pub use bus::{Bus, Notice, Subscription};
pub use embedded::{Accepted, Embedded, EmbeddedConfig, OpenError, Recovery, Stamp, ToolError};
pub use queue_item::{QueueItem, QueuePage, QueuePlace};
pub use store::{
    AcceptError, Arrival, CreateError, Created, EmailPage, Evicted, Idempotency, InboxPage, ListPage, NewEmail,
    NewInbox, Part, ReadError, Reaped, Retention, Store, StoredEmail, SyncStatus, TellError, ThrownAway, Unavailable,
    Usage,
};
pub use webhook_store::{
    Activity, AttemptVerdict, Claim, Claimed, CreateWebhookError, CreatedWebhook, DeliveriesAfter, DeliveryPage,
    DeliveryState, Happening, LastAttempt, Lease, LeasedDelivery, NewDelivery, NewWebhook, ORPHAN_LIFE, ReapedWebhooks,
    RedeliverError, START_SPREAD, SettleRules, Settled, Settlement, StoredDelivery, StoredEvent, StoredWebhook, Switch,
    Topic, Topics, UpdateWebhookError, WebhookPage, WebhookScope, WebhookStore, WebhookUpdate,
};
