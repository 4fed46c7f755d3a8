//! Accepting a transaction: the one place that takes a complete message from the session to the inboxes.

use std::net::SocketAddr;

use restante_inbox::{Announcement, Deposit, Recipient};
use restante_model::{AuthResults, ForwardPath, SessionFacts, SpamAnalysis};
use restante_smtp::{Reply, Transaction};

use crate::ingest::Ingest;
use crate::reply;

impl Ingest {
    /// Stores the message for all its recipients; it is durable when this returns.
    ///
    /// # Errors
    /// The reply for the client; nothing is stored then.
    pub(crate) async fn accept(&self, transaction: Transaction, peer: SocketAddr) -> Result<Announcement, Reply> {
        let counted = self.counts.count(peer.ip()).map_err(reply::too_much_mail)?;
        let mut recipients = self.recipients(&transaction.recipients).await?;
        let facts = self.facts(&transaction, peer);
        let raw = transaction.data;
        self.authenticate(&raw, &facts, &mut recipients).await;
        let deposit = Deposit { facts, raw, recipients };
        let size = deposit.raw.len();
        let prepared = self.inboxes.prepare(deposit).await.map_err(reply::deposit)?;
        let announcement = self.inboxes.deposit(prepared).await.map_err(reply::deposit)?;
        counted.keep();
        tracing::debug!(%peer, size, ids = ?announcement.ids().map(|id| id.to_string()).collect::<Vec<_>>(), "stored");
        Ok(announcement)
    }

    /// Looks the recipients up again: an inbox may have expired since its RCPT.
    async fn recipients(&self, paths: &[ForwardPath]) -> Result<Vec<Recipient>, Reply> {
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
