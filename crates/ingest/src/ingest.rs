//! What all connections share.

use std::sync::Arc;

use restante_inbox::{Budget, Inboxes};
use restante_model::Clock;
use restante_smtp::SessionConfig;

use crate::limits::{Connections, IngestLimits};

/// What all connections share: the inboxes, the settings, the memory, the places.
#[derive(Debug)]
pub struct Ingest {
    pub(crate) inboxes: Inboxes,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) session: Arc<SessionConfig>,
    pub(crate) limits: IngestLimits,
    pub(crate) budget: Budget,
    pub(crate) connections: Connections,
}

impl Ingest {
    /// Puts the SMTP side together.
    pub fn new(inboxes: Inboxes, clock: Arc<dyn Clock>, session: SessionConfig, limits: IngestLimits) -> Self {
        Self {
            inboxes,
            clock,
            session: Arc::new(session),
            budget: Budget::new(limits.max_inflight_bytes),
            limits,
            connections: Connections::default(),
        }
    }
}
