//! The use cases of restante: create an inbox, deposit mail, read, mark, remove, expire, watch.
//!
//! [`Inboxes`] is the one door to stored mail: the SMTP side and the HTTP side call it, and it alone calls the store.
//! It knows no socket and no JSON of the API; time comes from a [`Clock`](restante_model::Clock).
//!
//! What comes out of an encrypted inbox is a [`SealedPayload`](restante_envelope::SealedPayload);
//! the content of a plain one is the bytes themselves. [`Content`] and [`Source`] are one or the other by the inbox's mode,
//! so that a plain body of an encrypted inbox cannot be built.
//!
//! Modules, in reading order: [`policy`], [`inboxes`], [`create`], [`chaos`], [`deposit`], `tell`, [`prepare`], [`parser`], [`content`],
//! [`arrival_event`], [`read`], [`view`], [`remove`], [`expire`], [`usage`], [`watch`], [`test_email`]; below them `parts` (the bytes of a stored part), [`budget`] and `lanes` (memory and
//! processor time).

pub mod arrival_event;
pub mod budget;
pub mod chaos;
pub mod content;
pub mod create;
pub mod deposit;
pub mod expire;
pub mod inboxes;
mod lanes;
pub mod parser;
mod parts;
pub mod policy;
pub mod prepare;
pub mod read;
pub mod remove;
mod tell;
pub mod test_email;
pub mod usage;
pub mod view;
pub mod watch;

pub use arrival_event::EventRules;
pub use budget::{Budget, Reservation};
pub use create::{ClientKey, CreateError, CreateRequest, FieldError, TtlWish};
pub use deposit::{Announcement, Deposit, DepositError, Recipient};
pub use inboxes::{Inboxes, Parts, SealKeys};
pub use parser::Parser;
pub use policy::{ChoicePolicy, EncryptionChoice, InboxPolicy};
pub use prepare::Prepared;
pub use read::{EmailList, ListRequest, ReadError, RecipientError};
pub use restante_storage::Idempotency;
pub use test_email::{ForcedVerdicts, TestEmail, TestEmailError};
pub use usage::StorageUsage;
pub use view::{Content, EmailView, Source};
pub use watch::{Watch, WatchError, Watched};
