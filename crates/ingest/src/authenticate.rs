//! Email authentication of a complete message, for the recipients whose inboxes ask for it.

use std::panic::AssertUnwindSafe;

use bytes::Bytes;
use futures_util::FutureExt as _;
use restante_inbox::Recipient;
use restante_model::{AuthResults, SessionFacts};

use crate::ingest::Ingest;

impl Ingest {
    /// Checks the message once if an inbox asks for it, and gives the results to each that does.
    pub(crate) async fn authenticate(&self, raw: &Bytes, facts: &SessionFacts, recipients: &mut [Recipient]) {
        let Some(authenticator) = &self.authenticator else {
            return;
        };
        if !recipients.iter().any(|to| to.inbox.email_auth) {
            return;
        }
        // On the heap: a connection that brings nothing to check has no room for it.
        let results = Box::pin(or_skipped(authenticator.check(raw, facts), facts)).await;
        for recipient in recipients.iter_mut().filter(|to| to.inbox.email_auth) {
            recipient.auth = results.clone();
        }
    }
}

/// The results of a check; one that panics costs the message its results, never more.
async fn or_skipped(check: impl Future<Output = AuthResults>, facts: &SessionFacts) -> AuthResults {
    AssertUnwindSafe(check).catch_unwind().await.unwrap_or_else(|_| {
        tracing::error!(peer = %facts.peer, "a check of email authentication panicked: its mail is stored unchecked");
        let mut results = AuthResults::skipped();
        results.spf.details = Some("the check failed inside the server".into());
        results
    })
}

#[cfg(test)]
mod tests {
    use restante_model::Timestamp;
    use restante_model::auth::SpfVerdict;

    use super::*;

    #[tokio::test]
    async fn a_check_that_panics_is_skipped() {
        let facts = SessionFacts {
            peer: "192.0.2.1:40000".parse().unwrap(),
            helo: "client.test".into(),
            protocol: "ESMTP".into(),
            tls: None,
            reverse_path: String::new(),
            forward_path: String::new(),
            received_at: Timestamp::from_unix_ms(0),
        };
        let results = or_skipped(async { panic!("a parser met a message") }, &facts).await;
        assert_eq!(results.spf.result, SpfVerdict::Skipped);
        assert_eq!(
            results.spf.details.as_deref(),
            Some("the check failed inside the server")
        );
        assert_eq!(results.dkim, AuthResults::skipped().dkim);
        let mut passed = AuthResults::skipped();
        passed.spf.result = SpfVerdict::Pass;
        assert_eq!(or_skipped(async { passed.clone() }, &facts).await, passed);
    }
}
