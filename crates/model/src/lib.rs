//! The nouns of restante: what every other crate means by an address, an inbox, an email, an event.
//!
//! A value of a type of this crate has been checked: each type is made by a `parse` (or an equivalent constructor)
//! at the edge, and what holds one need not check again.
//! The crate knows no socket, no file, no task and no HTTP; time comes in through [`Clock`].
//!
//! ```
//! use restante_model::{Domain, InboxAddress};
//!
//! let address = InboxAddress::parse("Bob+invoice@Restante.test").unwrap();
//! assert_eq!(address.as_str(), "bob@restante.test");
//! assert_eq!(address.domain(), &Domain::parse("restante.test").unwrap());
//! ```
//!
//! Modules, in reading order: [`clock`], [`address`], [`id`], [`inbox`], [`chaos`], [`email`], [`auth`], [`spam`],
//! [`content`], [`event`], [`webhook`].

pub mod address;
pub mod auth;
pub mod chaos;
pub mod clock;
pub mod content;
pub mod email;
pub mod event;
pub mod id;
pub mod inbox;
pub mod spam;
pub mod webhook;

pub use address::{AddressError, Domain, ForwardPath, InboxAddress, ReversePath};
pub use auth::AuthResults;
pub use chaos::ChaosConfig;
pub use clock::{Clock, SystemClock, Timestamp};
pub use content::{AttachmentData, Base64, Metadata, ParsedContent};
pub use email::{SessionFacts, TlsFacts};
pub use event::{ArrivalEvent, EventType, RemovalReason};
pub use id::{DeliveryId, EmailId, EventId, InboxHash, InboxKey, WebhookId};
pub use inbox::{Inbox, InboxMode, Ttl};
pub use restante_envelope::WireProfile;
pub use spam::SpamAnalysis;
