//! The headers that say what an attempt is, and prove whose.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use restante_envelope::digest::hmac_sha256;
use restante_model::EventType;

use crate::WebhookSecret;

/// What is signed: one attempt of a delivery.
#[derive(Debug, Clone, Copy)]
pub struct Signable<'a> {
    /// The id of the event, the same for all webhooks and attempts.
    pub event_id: &'a str,
    /// Its type.
    pub event_type: EventType,
    /// The id of the delivery, the same at every attempt.
    pub delivery_id: &'a str,
    /// Which attempt this is, from 1.
    pub attempt: u32,
    /// When it is made, in seconds since the Unix epoch.
    pub timestamp: u64,
    /// The bytes that are sent.
    pub body: &'a [u8],
}

/// The headers of an attempt, in the order in which they are sent; `previous` is the former secret while it is valid.
///
/// `X-Vault-Signature` is made with the whole secret over `<timestamp>.<body>`, `webhook-signature` as Standard Webhooks
/// has it.
///
/// Source: docs/spec/interface.md, "Delivery"; docs/spec/decisions.md, section 7.
pub fn sign(
    attempt: &Signable<'_>,
    secret: &WebhookSecret,
    previous: Option<&WebhookSecret>,
) -> Vec<(&'static str, String)> {
    let messages = Messages::of(attempt);
    let timestamp = attempt.timestamp.to_string();
    let mut headers = vec![("X-Vault-Signature", messages.vault_signature(secret))];
    let mut standard = messages.standard_signature(secret);
    if let Some(previous) = previous {
        headers.push(("X-Vault-Signature-Previous", messages.vault_signature(previous)));
        standard = format!("{standard} {}", messages.standard_signature(previous));
    }
    headers.extend([
        ("X-Vault-Event", attempt.event_type.as_str().to_owned()),
        ("X-Vault-Delivery", attempt.delivery_id.to_owned()),
        ("X-Vault-Timestamp", timestamp.clone()),
        ("X-Vault-Attempt", attempt.attempt.to_string()),
        ("webhook-id", attempt.event_id.to_owned()),
        ("webhook-timestamp", timestamp),
        ("webhook-signature", standard),
    ]);
    headers
}

/// The bytes under both signatures, of which one message is the end of the other.
struct Messages {
    /// `<event id>.<timestamp>.<body>`
    standard: Vec<u8>,
    /// Where `<timestamp>.<body>` begins.
    vault_from: usize,
}

impl Messages {
    fn of(attempt: &Signable<'_>) -> Self {
        let head = format!("{}.{}.", attempt.event_id, attempt.timestamp);
        Self {
            standard: [head.as_bytes(), attempt.body].concat(),
            vault_from: attempt.event_id.len() + 1,
        }
    }

    fn vault_signature(&self, secret: &WebhookSecret) -> String {
        let code = hmac_sha256(secret.vault_key(), &self.standard[self.vault_from..]);
        let hex = code.map(|byte| format!("{byte:02x}")).concat();
        format!("sha256={hex}")
    }

    fn standard_signature(&self, secret: &WebhookSecret) -> String {
        let code = hmac_sha256(&secret.standard_key(), &self.standard);
        format!("v1,{}", STANDARD.encode(code))
    }
}
