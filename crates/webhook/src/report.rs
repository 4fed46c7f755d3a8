//! What an attempt came to, as the log keeps it: sealed, since targets may repeat what they got.

use bytes::Bytes;
use restante_envelope::AtRestKey;
use restante_model::DeliveryId;
use serde::{Deserialize, Serialize};

use crate::Outcome;

/// How much of a response is shown.
const RESPONSE_BYTES: usize = 1024;

/// What is known of the last attempt of a delivery.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) status: Option<u16>,
    pub(crate) duration_ms: Option<u64>,
    pub(crate) error: Option<String>,
    pub(crate) response: Option<String>,
}

impl Report {
    /// The report of an attempt that was sent.
    pub(crate) fn of(outcome: &Outcome) -> Self {
        Self {
            status: outcome.status,
            duration_ms: Some(outcome.duration_ms),
            error: failure(outcome),
            response: shown_response(outcome),
        }
    }

    /// The report of an attempt that could not be sent.
    pub(crate) fn unsent(why: &str) -> Self {
        Self {
            error: Some(why.to_owned()),
            ..Self::default()
        }
    }

    /// What is shown in the place of a report that cannot be opened.
    pub(crate) fn unreadable() -> Self {
        Self::unsent("the report of the last attempt cannot be read")
    }

    /// Seals it for one delivery.
    pub(crate) fn seal(&self, key: &AtRestKey, delivery: DeliveryId) -> Bytes {
        let json = serde_json::to_vec(self).expect("a report has no map with other keys than strings");
        key.seal(&context(delivery), &json).into()
    }

    /// Opens what [`Report::seal`] gave.
    pub(crate) fn open(key: &AtRestKey, delivery: DeliveryId, sealed: &[u8]) -> Option<Self> {
        let json = key.open(&context(delivery), sealed)?;
        serde_json::from_slice(&json).ok()
    }
}

/// Why an outcome is no success; always there if it is none.
pub(crate) fn failure(outcome: &Outcome) -> Option<String> {
    if outcome.is_success() {
        return None;
    }
    let status = || {
        outcome
            .status
            .map_or_else(|| "no answer".to_owned(), |status| format!("status {status}"))
    };
    Some(outcome.error.clone().unwrap_or_else(status))
}

/// The start of what the target answered, if it answered anything.
pub(crate) fn shown_response(outcome: &Outcome) -> Option<String> {
    outcome.status?;
    let bytes = &outcome.response[..outcome.response.len().min(RESPONSE_BYTES)];
    let mut text = String::from_utf8_lossy(bytes).into_owned();
    // A replacement character takes more room than the byte that it stands for.
    text.truncate(text.floor_char_boundary(RESPONSE_BYTES));
    Some(text)
}

fn context(delivery: DeliveryId) -> Vec<u8> {
    [b"delivery report".as_slice(), delivery.as_bytes()].concat()
}
