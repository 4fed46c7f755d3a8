//! Whether an attempt may have gone over a connection that was kept.

use std::sync::Arc;

use quick_cache::sync::Cache;
use tokio::time::Instant;

use super::client::LONGEST_IDLE;
use crate::TargetUrl;

/// Targets that are remembered; one that is forgotten counts as one that never answered.
const MOST_TARGETS: usize = 1024;

/// When targets last answered: only to those that did so within the longest idle time can there be a kept connection.
///
/// The HTTP client does not tell whether a request that failed went over a new connection.
#[derive(Debug, Clone)]
pub(super) struct Answered(Arc<Cache<String, Instant>>);

impl Answered {
    pub(super) fn new() -> Self {
        Self(Arc::new(Cache::new(MOST_TARGETS)))
    }

    /// The target answered now.
    pub(super) fn note(&self, url: &TargetUrl, now: Instant) {
        self.0.insert(origin(url), now);
    }

    /// Whether it has answered lately.
    pub(super) fn is_recent(&self, url: &TargetUrl, now: Instant) -> bool {
        let last = self.0.get(&origin(url));
        last.is_some_and(|last| now.saturating_duration_since(last) <= LONGEST_IDLE)
    }
}

/// What connections are kept by: scheme, host and port.
fn origin(url: &TargetUrl) -> String {
    url.url().origin().ascii_serialization()
}
