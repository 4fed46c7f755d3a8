//! The RFC 5321 receive session as a state machine: bytes in, actions out.

pub mod config;
pub mod reply;
pub mod session;
pub mod transaction;

pub use config::{SessionConfig, StartTls};
pub use reply::{Enhanced, Reply};
pub use session::{Action, Answer, CloseReason, Phase, Session};
pub use transaction::{BodyType, MailParameters, Transaction};
