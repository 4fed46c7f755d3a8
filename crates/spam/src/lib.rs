//! Spam analysis: asks an rspamd about one message and says what it answered, in the words of the interface.
//!
//! It never refuses a message: a filter that is away, slow or makes no sense is an outcome too.
//! It knows nothing of inboxes, and keeps nothing of a message.
//! Source: interface additions, "Spam analysis"; rspamd's protocol, `POST /checkv2`.
//!
//! ```
//! use std::time::Duration;
//!
//! use restante_spam::{SpamFilter, SpamSettings};
//!
//! let settings = SpamSettings {
//!     url: "http://localhost:11333".parse()?,
//!     timeout: Duration::from_secs(5),
//!     password: None,
//! };
//! let filter = SpamFilter::new(settings)?;
//! # let _ = filter;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Modules, in reading order: [`settings`], [`filter`] asks and measures, `request` is what rspamd is told, `answer` what it
//! says, `failure` why it says nothing, `client` and `resolver` are below them.
//!
//! - No analysis takes longer than its timeout, and no answer more memory than [`filter::ANSWER_BYTES`].
//! - Nothing that the network says can make a request that is not sent: what cannot stand in a header is left out.
//! - No text of an outcome has the URL or the password of rspamd in it, or what it said instead of an answer.

mod answer;
mod client;
mod failure;
pub mod filter;
mod request;
mod resolver;
pub mod settings;

pub use filter::SpamFilter;
pub use settings::{SpamError, SpamSettings};
