//! What the monitor is told of mail.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::Arc;

use restante_inbox::Recipient;
use restante_model::Inbox;
use restante_monitor::{Happening, Refusal};

use crate::ingest::Ingest;

impl Ingest {
    pub(crate) fn note_refusal(&self, cause: Refusal, peer: SocketAddr) {
        let peer = peer.ip();
        self.monitor.note(Happening::MailRefused { cause, peer });
    }

    /// The results of the checks, for each inbox once.
    pub(crate) fn note_checks(&self, recipients: &[Recipient]) {
        for to in distinct(recipients) {
            self.monitor.note(Happening::Authenticated {
                results: &to.auth,
                inbox: &to.inbox.address,
            });
        }
    }

    /// The inboxes that the console names, if anybody reads it.
    pub(crate) fn to_be_named(&self, recipients: &[Recipient]) -> Vec<Arc<Inbox>> {
        if !self.monitor.is_watched() {
            return Vec::new();
        }
        distinct(recipients).map(|to| Arc::clone(&to.inbox)).collect()
    }
}

/// Each inbox once: a message may come to several addresses of one, which gets it once.
fn distinct(recipients: &[Recipient]) -> impl Iterator<Item = &Recipient> {
    let mut seen = HashSet::new();
    recipients.iter().filter(move |to| seen.insert(to.inbox.key))
}
