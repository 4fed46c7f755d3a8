//! TLS of the listeners: one certificate for SMTP and HTTPS, from files that may change while they are in use, or from
//! an authority of its own.
//!
//! It knows nothing of SMTP and HTTP but the name that HTTP has in a handshake (ALPN).
//! The crypto provider is always given, never taken from the process: no other library can change it.
//!
//! ```
//! use std::time::Duration;
//! use restante_model::Timestamp;
//! use restante_tls::{Acceptor, LocalAuthority, Protocol, Tls};
//!
//! # let directory = tempfile::tempdir()?;
//! let authority = LocalAuthority::new(directory.path().join("tls"), [], []);
//! authority.renew(Timestamp::from_unix_ms(1_790_000_000_000))?;
//! let tls = Tls::load(authority.files())?;
//! let smtp: Acceptor = tls.acceptor(Protocol::Smtp, Duration::from_secs(10));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Modules, in reading order: [`certificate`] reads and checks files, `validity` looks into a certificate, [`tls`] is the
//! certificate that holds and follows its files, [`acceptor`] does handshakes, [`authority`] makes certificates,
//! `replace` writes files, `provider`.
//!
//! Invariants: a certificate in use has passed every check of [`certificate`]; files that fail one change nothing.

pub mod acceptor;
pub mod authority;
pub mod certificate;
mod provider;
mod replace;
#[cfg(test)]
mod testing;
pub mod tls;
mod validity;

pub use acceptor::{Acceptor, Protocol, facts};
pub use authority::{AuthorityError, LocalAuthority, Renewal};
pub use certificate::{Certificate, CertificateError, CertificateFiles};
pub use tls::{CertificateInUse, Tls};
pub use tokio_rustls::server::TlsStream;
pub use validity::Validity;
