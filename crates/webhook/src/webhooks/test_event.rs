//! Sending a test to a webhook.

use restante_model::WebhookId;
use serde_json::value::{RawValue, to_raw_value};

use super::{WebhookError, Webhooks};
use crate::compiled::{Compiled, Posting};
use crate::report::{failure, shown_response};
use crate::{EventEnvelope, Owner, TestOutcome};

/// The delivery that a test says it is (docs/spec/decisions.md, section 7).
const DELIVERY_ID: &str = "dlv_test_000000000000000000000000000000";

impl Webhooks {
    /// Sends a test to a webhook of the owner and waits for what comes of it.
    ///
    /// It is sent whatever [`WebhookView::switch`](crate::WebhookView::switch) says, as a delivery is, and counts nowhere.
    ///
    /// # Errors
    /// [`WebhookError::NoWebhook`], [`WebhookError::Unavailable`], [`WebhookError::Damaged`].
    pub async fn test(&self, owner: &Owner, id: WebhookId) -> Result<TestOutcome, WebhookError> {
        self.stored(owner, id).await?;
        let (_, config) = self.config(id).await?;
        let compiled = match Compiled::new(config, self.policy()) {
            Ok(compiled) => compiled,
            Err(why) => return Ok(TestOutcome::unsent(why)),
        };
        let now = self.now();
        let envelope = EventEnvelope::test(compiled.first_type(), now);
        let posting = Posting {
            delivery_id: DELIVERY_ID,
            attempt: 1,
            now,
        };
        let attempt = compiled.post(&envelope, posting, self.policy());
        let outcome = self.shared.sender.send(&attempt).await;
        Ok(TestOutcome {
            success: outcome.is_success(),
            status_code: outcome.status,
            response_time_ms: outcome.duration_ms.max(1),
            response_body: shown_response(&outcome),
            error: failure(&outcome),
            payload_sent: Some(shown(&attempt.body)),
        })
    }
}

impl TestOutcome {
    /// Nothing could be sent.
    fn unsent(why: String) -> Self {
        Self {
            success: false,
            status_code: None,
            response_time_ms: 1,
            response_body: None,
            error: Some(why),
            payload_sent: None,
        }
    }
}

/// What was sent: the JSON as it stands, since it was signed like that, else a string with the text.
fn shown(body: &[u8]) -> Box<RawValue> {
    serde_json::from_slice(body).unwrap_or_else(|_| {
        let text = String::from_utf8_lossy(body);
        to_raw_value(&text).expect("a string is JSON")
    })
}
