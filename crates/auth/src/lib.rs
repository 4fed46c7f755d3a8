//! Email authentication: SPF, DKIM, DMARC and reverse DNS of one message, as the interface shows them.
//!
//! Answers "would another receiver believe that this mail is from whom it says?", with the reason in words.
//! The crate refuses to decide anything: it knows no inbox, rejects no mail, and never fails; what cannot be found out
//! in time is `temperror` (SPF) or `none`, and says so.
//!
//! ```
//! use std::time::Duration;
//! use bytes::Bytes;
//! use restante_auth::{AuthSettings, Authenticator};
//! use restante_model::{AuthResults, SessionFacts};
//!
//! async fn results(raw: &Bytes, facts: &SessionFacts) -> AuthResults {
//!     let settings = AuthSettings {
//!         spf: true,
//!         dkim: true,
//!         dmarc: true,
//!         reverse_dns: true,
//!         timeout: Duration::from_secs(5),
//!         resolver: Some(([127, 0, 0, 1], 53).into()),
//!     };
//!     let authenticator = Authenticator::new(settings).expect("a server is named");
//!     authenticator.check(raw, facts).await
//! }
//! ```
//!
//! What comes from mail-auth: DKIM keys, the canonical form of header fields and the signature itself.
//! What does not, because its answers differ from the RFCs or lack what the interface shows (record 0013):
//! SPF, DMARC, reading signatures, choosing signed fields, the body hash, and reverse DNS.
//!
//! # Invariants
//!
//! - What passes speaks for what is shown: `restante-message` says where fields, body and author are.
//! - All checks of a message end within [`AuthSettings::timeout`]; what was found in time is kept.
//! - Work grows linearly with the message: at most ten signatures are verified, each with at most 500 signed fields.
//! - No copy of the message is made; a message over 64 KiB is hashed on a thread that may block.
//! - Text from strangers is shown without control characters.
//!
//! Modules, in reading order: `settings`, `authenticator` (the one deadline), `spf`, `dkim`, `reverse_dns`, `dmarc`,
//! and below them `author`, `name`, `dns`, `resolver`, `shown`.

mod authenticator;
mod author;
mod dkim;
mod dmarc;
mod dns;
mod name;
mod resolver;
mod reverse_dns;
mod settings;
mod shown;
mod spf;

pub use authenticator::Authenticator;
pub use resolver::ResolverError;
pub use settings::AuthSettings;
