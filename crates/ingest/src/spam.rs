//! Spam analysis of a complete message, for the recipients whose inboxes ask for it.

use std::panic::AssertUnwindSafe;

use bytes::Bytes;
use futures_util::FutureExt as _;
use restante_inbox::Recipient;
use restante_model::{EmailId, SessionFacts, SpamAnalysis};
use restante_monitor::Happening;
use restante_spam::SpamFilter;
use tokio::time::Instant;

use crate::ingest::Ingest;

const SERVER_OFF: &str = "Spam analysis is off on this server";
const INBOX_OFF: &str = "Spam analysis is off for this inbox";

impl Ingest {
    /// Does all that the inboxes ask to be done with a message before it is stored, side by side.
    ///
    /// `id` is that of the first recipient's email: it names the message in rspamd's log, as it does in ours and in the 250.
    pub(crate) async fn check(&self, raw: &Bytes, facts: &SessionFacts, recipients: &mut [Recipient], id: EmailId) {
        let question = self.question(recipients);
        let analysis = async {
            let (filter, to) = question?;
            // On the heap: a connection that brings nothing to check has no room for it.
            Some(Box::pin(self.analyse(filter, raw, facts, &to, id)).await)
        };
        let (analysis, ()) = tokio::join!(analysis, self.authenticate(raw, facts, recipients));
        for recipient in recipients.iter_mut() {
            recipient.spam = match &analysis {
                _ if self.spam.is_none() => SpamAnalysis::skipped(SERVER_OFF),
                Some(analysis) if recipient.inbox.spam_analysis => analysis.clone(),
                Some(_) | None => SpamAnalysis::skipped(INBOX_OFF),
            };
        }
        if analysis.is_none()
            && let Some(skipped) = recipients.first()
        {
            // Once a message, as an analysis is.
            self.monitor.note(Happening::SpamAnalysed(&skipped.spam));
        }
    }

    /// Whom to ask, and of mail for whom; nobody if no inbox wants to know.
    fn question(&self, recipients: &[Recipient]) -> Option<(&SpamFilter, Vec<String>)> {
        let filter = self.spam.as_ref()?;
        let is_wanted = recipients.iter().any(|to| to.inbox.spam_analysis);
        is_wanted.then(|| (filter, recipients.iter().map(|to| to.forward_path.clone()).collect()))
    }

    async fn analyse(
        &self,
        filter: &SpamFilter,
        raw: &Bytes,
        facts: &SessionFacts,
        to: &[String],
        id: EmailId,
    ) -> SpamAnalysis {
        let queue_id = id.to_string();
        let analysis = or_error(filter.analyse(raw, facts, to, &queue_id), &queue_id).await;
        self.monitor.note(Happening::SpamAnalysed(&analysis));
        analysis
    }
}

/// What the analysis comes to; one that panics costs the message its result, never more.
async fn or_error(analysis: impl Future<Output = SpamAnalysis>, queue_id: &str) -> SpamAnalysis {
    let start = Instant::now();
    AssertUnwindSafe(analysis).catch_unwind().await.unwrap_or_else(|_| {
        tracing::error!(queue_id, "a spam analysis panicked: its mail is stored without it");
        SpamAnalysis::Error {
            info: "the analysis failed inside the server".into(),
            processing_time_ms: u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_analysis_that_panics_is_an_error() {
        let panics = async {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            panic!("a parser met an answer")
        };
        let expected = SpamAnalysis::Error {
            info: "the analysis failed inside the server".into(),
            processing_time_ms: 5,
        };
        assert_eq!(or_error(panics, "q").await, expected);
        let skipped = SpamAnalysis::skipped("why");
        assert_eq!(or_error(async { skipped.clone() }, "q").await, skipped);
    }
}
