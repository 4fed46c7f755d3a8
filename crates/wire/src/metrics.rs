//! What the server counts of its work, and what its console tells (docs/spec/additions.md, "Metrics" and "Console").
//!
//! Numbers are since the server was started, unless they say otherwise.

use restante_model::Timestamp;
use serde::{Deserialize, Serialize};

/// `GET /api/metrics`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metrics {
    /// Whole seconds since the start.
    pub uptime_seconds: u64,
    /// Of SMTP clients.
    pub connections: ConnectionMetrics,
    /// Of inboxes.
    pub inboxes: InboxMetrics,
    /// Of mail that was stored.
    pub emails: EmailMetrics,
    /// Of mail that was not.
    pub rejections: RejectionMetrics,
    /// Of email authentication.
    pub auth: AuthMetrics,
    /// Of the spam filter.
    pub spam: SpamMetrics,
    /// Of faults that inboxes asked for.
    pub chaos: ChaosMetrics,
    /// Of the certificate in use; absent without TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<CertificateMetrics>,
}

/// SMTP connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionMetrics {
    /// Taken.
    pub total: u64,
    /// Of these, open now.
    pub active: u64,
    /// Turned away because there were too many; not among the total.
    pub rejected: u64,
}

/// Inboxes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct InboxMetrics {
    /// Created.
    pub created: u64,
    /// Ended: deleted, or expired.
    pub deleted: u64,
    /// Of these, expired.
    pub expired: u64,
    /// Those that there are now, also from before the start.
    pub active: u64,
}

/// Mail that came by SMTP and was stored.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EmailMetrics {
    /// Messages.
    pub received: u64,
    /// Emails: a message is one in each inbox that it came to.
    pub recipients: u64,
    /// Bytes of the messages, each once.
    pub received_bytes: u64,
    /// Test emails that were stored; they come over HTTP and are not among the others.
    #[serde(default)]
    pub test_emails: u64,
    /// Milliseconds from the end of a message's data until it was durable, on average.
    pub processing_time_ms: f64,
    /// The same of all messages together.
    pub processing_time_total_ms: u64,
}

/// Recipients and messages that were refused, by cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RejectionMetrics {
    /// All of them.
    pub total: u64,
    /// No inbox has the address.
    pub no_inbox: u64,
    /// The domain is not served.
    pub domain: u64,
    /// More recipients than a message may have.
    pub recipients: u64,
    /// More mail than a client may bring.
    pub rate: u64,
    /// The message, or its header, is too large.
    pub size: u64,
    /// The disk, or the memory for messages in flight, has no room.
    pub no_room: u64,
    /// The storage is unavailable.
    pub storage: u64,
    /// The inbox asked for it.
    pub chaos: u64,
}

/// Checks of email authentication. Every email counts once in each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuthMetrics {
    /// Sender Policy Framework.
    pub spf: VerdictMetrics,
    /// The best of an email's signatures.
    pub dkim: VerdictMetrics,
    /// DMARC.
    pub dmarc: VerdictMetrics,
    /// Reverse DNS.
    pub reverse_dns: VerdictMetrics,
}

/// How a check came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictMetrics {
    /// `pass`.
    pub pass: u64,
    /// `fail`.
    pub fail: u64,
    /// Any other result of a check that was made, for example `none` or `softfail`.
    pub other: u64,
    /// No check was made.
    pub skipped: u64,
}

/// What the spam filter said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SpamMetrics {
    /// It answered.
    pub analyzed: u64,
    /// Of these, taken for spam.
    pub spam: u64,
    /// It was not asked.
    pub skipped: u64,
    /// It did not answer.
    pub errors: u64,
    /// Milliseconds of all analyses together.
    pub processing_time_total_ms: u64,
}

/// Faults that inboxes asked for and that struck, by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChaosMetrics {
    /// Replies that came late.
    pub latency: u64,
    /// Dropped connections.
    pub connection_drop: u64,
    /// Refused at random.
    pub random_error: u64,
    /// Greylisted.
    pub greylist: u64,
    /// Taken and thrown away.
    pub blackhole: u64,
}

/// The certificate in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CertificateMetrics {
    /// Whole days that it is still good; 0 when its time is over.
    pub days_left: u64,
    /// The end of its time.
    pub expires_at: Timestamp,
}

/// `GET /api/metrics/storage`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StorageMetrics {
    /// Bytes that the emails of all inboxes take.
    pub used_bytes: u64,
    /// Bytes that mail may still take before some is evicted or refused.
    pub available_bytes: u64,
    /// Bytes that mail may take in all; absent without a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    /// Bytes that everything takes: emails, inboxes, webhooks with their events and deliveries.
    pub live_bytes: u64,
    /// Emails that there are.
    pub stored_emails: u64,
    /// Emails that went for other mail, or for their age, since the start.
    pub evicted_emails: u64,
    /// Whole seconds since the oldest email arrived; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest_email_age_seconds: Option<u64>,
    /// Whole seconds since the newest email arrived; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newest_email_age_seconds: Option<u64>,
}

/// A line of `GET /api/sse-console/stream`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsoleLine {
    /// What it means.
    #[serde(rename = "type")]
    pub kind: ConsoleKind,
    /// What happened.
    pub text: String,
    /// When.
    pub timestamp: Timestamp,
}

/// What a line of the console means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ConsoleKind {
    /// Something happened.
    Info,
    /// Something worked.
    Success,
    /// Somebody did not get what it wanted.
    Warning,
    /// Something does not work.
    Error,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_apply_is_absent() {
        let storage = StorageMetrics {
            used_bytes: 1,
            available_bytes: 2,
            max_bytes: None,
            live_bytes: 3,
            stored_emails: 4,
            evicted_emails: 5,
            oldest_email_age_seconds: None,
            newest_email_age_seconds: None,
        };
        let text = r#"{"usedBytes":1,"availableBytes":2,"liveBytes":3,"storedEmails":4,"evictedEmails":5}"#;
        assert_eq!(serde_json::to_string(&storage).unwrap(), text);
        assert_eq!(serde_json::from_str::<StorageMetrics>(text).unwrap(), storage);
    }

    #[test]
    fn a_line_of_the_console_has_three_fields() {
        for (kind, word) in [
            (ConsoleKind::Info, "info"),
            (ConsoleKind::Success, "success"),
            (ConsoleKind::Warning, "warning"),
            (ConsoleKind::Error, "error"),
        ] {
            let line = ConsoleLine {
                kind,
                text: "Hello".into(),
                timestamp: Timestamp::from_unix_ms(1_769_341_276_000),
            };
            let text = format!(r#"{{"type":"{word}","text":"Hello","timestamp":"2026-01-25T11:41:16.000Z"}}"#);
            assert_eq!(serde_json::to_string(&line).unwrap(), text);
            assert_eq!(serde_json::from_str::<ConsoleLine>(&text).unwrap(), line);
        }
    }
}
