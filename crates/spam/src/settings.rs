//! Where rspamd is, and why it cannot be asked there.

use std::fmt;
use std::time::Duration;

use url::Url;
use zeroize::Zeroizing;

/// Where the filter is, and how long it may take.
#[derive(Clone)]
pub struct SpamSettings {
    /// Base URL of rspamd's worker, for example `http://localhost:11333`; it may have a path.
    pub url: Url,
    /// Time for one answer, from the look-up of the name to its last byte.
    pub timeout: Duration,
    /// Its password, if it wants one.
    pub password: Option<Zeroizing<String>>,
}

impl fmt::Debug for SpamSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpamSettings")
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// Why there can be no analysis.
#[derive(Debug, thiserror::Error)]
pub enum SpamError {
    /// The HTTP client cannot be made.
    #[error("the HTTP client for rspamd cannot be made: {0}")]
    Client(#[from] reqwest::Error),
    /// Not a URL below which there can be a path.
    #[error("the URL of rspamd must be an http:// or https:// URL")]
    Url,
    /// A URL with TLS, and nobody to trust.
    #[error("rspamd cannot be asked over https://: the system has no certificate authorities")]
    NoAuthorities,
    /// A password that cannot be sent.
    #[error("the password of rspamd must have no line ends and no control characters")]
    Password,
}
