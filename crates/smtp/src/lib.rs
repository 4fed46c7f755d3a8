//! The RFC 5321 receive session as a state machine: bytes in, actions out.

pub mod action;
mod body;
mod chunk;
mod command;
pub mod config;
mod data;
mod line;
mod path;
pub mod reply;
pub mod session;
pub mod transaction;
mod wording;

pub use action::{Action, Answer, CloseReason, Phase};
pub use config::{SessionConfig, StartTls};
pub use reply::{Enhanced, Reply};
pub use session::Session;
pub use transaction::{BodyType, MailParameters, Transaction};
