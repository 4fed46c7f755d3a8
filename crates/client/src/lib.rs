//! The Rust SDK of restante: create an inbox, let your application send, wait for the mail, look at it.
//!
//! # The paved path
//!
//! ```no_run
#![doc = include_str!("../examples/first_mail.rs")]
//! ```
//!
//! The same without `async` is in [`blocking`].
//!
//! # Encrypted inboxes
//!
//! The key of an encrypted inbox is made here and never sent; its mail reads like any other.
//! An export takes the inbox to another process, which needs nothing else.
//!
//! ```no_run
#![doc = include_str!("../examples/sealed.rs")]
//! ```
//!
//! # Live
//!
//! A [`Watch`] delivers the mail of any number of inboxes as it arrives; what waits for one email is built on it.
//!
//! ```no_run
#![doc = include_str!("../examples/live.rs")]
//! ```
//!
//! # Webhooks
//!
//! Those who receive them verify what came before they believe it: [`webhooks`].
//!
//! # Mail that fails on purpose
//!
//! An inbox can be told to refuse, to delay and to lose mail, so that a test shows what the application makes of it:
//! [`chaos`].
//! [`Client::send_test_email`] has the server make mail that fails SPF, DKIM or DMARC.
//!
//! # Which servers
//!
//! It speaks with restante servers, in both wire profiles: `service` and `vaultsandbox`.
//! It reads what they answer strictly: an id of another form than theirs, or a missing field, is
//! [`Error::UnexpectedAnswer`] and never a guess.
//!
//! # What it refuses to know
//!
//! How mail is sent: that is your application's part.
//! Where you keep exports and keys: it writes the file that you name, and nothing else.
//! The environment and configuration files, but for the discovery file of a server on the same machine
//! ([`Client::local`]).
//! Which test framework you use, and what you assert.
//!
//! # What always holds
//!
//! - What is sealed is opened only after its signature was verified with the server key that was pinned when the inbox
//!   was created; another key is [`SignatureError::ServerKeyMismatch`], and nothing is opened.
//! - Every mail that arrives after a [`Watch`] began is delivered exactly once, in every [`Strategy`], whatever happens to
//!   the connection.
//! - What is waited for may have come already: a wait looks at what is there first.
//! - A request that creates something may be repeated: the server answers the repetition as the first one.
//! - No error and no `Debug` shows a key, a secret or anything of a mail's content.
//! - The keys and secrets that the client holds are wiped when they are dropped. What is under way is not: the HTTP
//!   library has buffers of its own, in which the API key goes with each request.
//! - [`Client::close`] ends everything that is under way, in all clones; dropping a wait or a watch ends that one.
//!
//! Modules, in reading order: `client`, `builder`, `settings`, `local`, [`error`]; `http`, `routes`, `record`; `inbox`,
//! `new_inbox`, `registry`, `reader`, `email`, `attachment`, `listing`, [`auth`]; [`chaos`], `test_email`; `matcher`,
//! `watch`, `wait`; `export`, `import`, `export_file`; [`webhooks`]; [`metrics`]; [`blocking`].

mod attachment;
pub mod auth;
pub mod blocking;
mod builder;
pub mod chaos;
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
pub mod metrics;
mod new_inbox;
mod reader;
mod record;
mod registry;
mod routes;
mod settings;
mod test_email;
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
pub use test_email::TestEmail;
pub use wait::{WaitForEmail, WaitForEmails, WaitForNone};
pub use watch::{Arrival, Existing, Watch};
pub use webhooks::{EventType, NewWebhook, WebhookEvent, WebhookResource, WebhookUpdate, Webhooks, verify_signature};

pub use restante_model::content::{Headers, To};
pub use restante_model::spam::{SpamAnalysis, SpamScore, SpamSymbol};
pub use restante_model::{
    AttachmentData, AuthResults, Base64, Clock, DeliveryId, EmailId, InboxHash, Metadata, ParsedContent, SystemClock,
    Timestamp, WebhookId,
};
pub use restante_wire::{Health, InboxResource, ServerInfo, SyncResource};
