//! Accepting a transaction: the one place that takes a complete message from the session to the inboxes.

use std::net::SocketAddr;

use bytes::Bytes;
use restante_inbox::{Announcement, Deposit, Recipient};
use restante_model::{AuthResults, EmailId, ForwardPath, SessionFacts, SpamAnalysis};
use restante_monitor::Happening;
use restante_smtp::Transaction;
use tokio::time::Instant;

use crate::chaos::Hangup;
use crate::chaos::meet::Sorted;
use crate::ingest::Ingest;
use crate::patience::{Impatience, Patience};
use crate::reply::{self, Refused};

/// A message that is taken.
#[derive(Debug)]
pub(crate) struct Accepted {
    /// The ids for the 250, in the order of the recipients.
    pub(crate) ids: Vec<EmailId>,
    /// To be dropped when the 250 is on the wire.
    pub(crate) announcements: [Option<Announcement>; 2],
}

/// Why a message is not taken: nothing of it is stored.
#[derive(Debug)]
pub(crate) enum NotTaken {
    Refused(Refused),
    /// The reply is the last one.
    Dismissed(Refused),
    /// The connection ends without a reply.
    HungUp(Hangup),
    /// The wait for a late reply was not to its end.
    Interrupted(Impatience),
}

impl From<Refused> for NotTaken {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

impl From<Impatience> for NotTaken {
    fn from(why: Impatience) -> Self {
        Self::Interrupted(why)
    }
}

impl Ingest {
    /// Stores the message for all its recipients; it is durable when this returns.
    ///
    /// # Errors
    /// What the client hears instead of a 250.
    pub(crate) async fn accept(
        &self,
        transaction: Transaction,
        peer: SocketAddr,
        patience: &Patience<'_>,
    ) -> Result<Accepted, NotTaken> {
        let counted = self.counts.count(peer.ip()).map_err(reply::too_much_mail)?;
        let recipients = self.recipients(&transaction.recipients).await?;
        let Sorted { mut kept, thrown_away } = self.meet_faults(&transaction, peer, recipients, patience).await?;
        // A delay that an inbox asked for is no work of ours.
        let began = Instant::now();
        let facts = self.facts(&transaction, peer);
        let raw = transaction.data;
        // Told before the others are stored: if the store fails in between, webhooks hear twice of a message that the
        // sender tries again, which is better than an inbox that gets it twice.
        let thrown = self.throw_away(&raw, &facts, thrown_away).await?;
        let stored = if kept.is_empty() {
            None
        } else {
            let first = EmailId::new(facts.received_at);
            self.check(&raw, &facts, &mut kept, first).await;
            self.note_checks(&kept);
            Some(self.store(raw, facts, kept, first, began).await?)
        };
        counted.keep();
        let ids = thrown.among(stored.iter().flat_map(Announcement::ids));
        Ok(Accepted {
            ids,
            announcements: [stored, thrown.announcement],
        })
    }

    async fn store(
        &self,
        raw: Bytes,
        facts: SessionFacts,
        recipients: Vec<Recipient>,
        first: EmailId,
        began: Instant,
    ) -> Result<Announcement, Refused> {
        let (peer, size) = (facts.peer, raw.len());
        let named = self.to_be_named(&recipients);
        let deposit = Deposit { facts, raw, recipients };
        let prepared = self.inboxes.prepare_as(first, deposit).await.map_err(reply::deposit)?;
        let announcement = self.inboxes.deposit(prepared).await.map_err(reply::deposit)?;
        self.monitor.note(Happening::MailStored {
            recipients: announcement.ids().count(),
            inboxes: &named,
            bytes: size,
            peer: peer.ip(),
            took: began.elapsed(),
        });
        tracing::debug!(%peer, size, ids = ?announcement.ids().map(|id| id.to_string()).collect::<Vec<_>>(), "stored");
        Ok(announcement)
    }

    /// Looks the recipients up again: an inbox may have expired since its RCPT.
    async fn recipients(&self, paths: &[ForwardPath]) -> Result<Vec<Recipient>, Refused> {
        let mut recipients = Vec::with_capacity(paths.len());
        for path in paths {
            let inbox = self
                .inboxes
                .recipient(path)
                .await
                .map_err(|error| reply::recipient(&error))?;
            recipients.push(Recipient {
                inbox,
                forward_path: path.to_string(),
                auth: AuthResults::skipped(),
                spam: SpamAnalysis::default(),
            });
        }
        Ok(recipients)
    }

    fn facts(&self, transaction: &Transaction, peer: SocketAddr) -> SessionFacts {
        SessionFacts {
            peer,
            helo: transaction.helo.clone(),
            protocol: transaction.protocol.to_owned(),
            tls: transaction.tls.clone(),
            reverse_path: transaction.reverse_path.as_str().to_owned(),
            forward_path: String::new(),
            received_at: self.clock.now(),
        }
    }
}
