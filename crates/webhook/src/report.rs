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

#[cfg(test)]
mod tests {
    use zeroize::Zeroizing;

    use super::*;

    fn outcome(status: Option<u16>, response: &[u8]) -> Outcome {
        Outcome {
            status,
            duration_ms: 7,
            error: None,
            response: Bytes::copy_from_slice(response),
        }
    }

    #[test]
    fn a_report_opens_for_its_delivery_only() {
        let key = AtRestKey::new(Zeroizing::new([1; 32]));
        let (id, other) = (DeliveryId::from_bytes([1; 16]), DeliveryId::from_bytes([2; 16]));
        let report = Report::of(&outcome(Some(200), b"what they got"));
        let sealed = report.seal(&key, id);
        assert_eq!(Report::open(&key, id, &sealed), Some(report));
        assert_eq!(Report::open(&key, other, &sealed), None);
        assert!(!sealed.windows(4).any(|bytes| bytes == b"what"));
    }

    #[test]
    fn what_is_no_success_has_an_error() {
        assert_eq!(failure(&outcome(Some(204), b"")), None);
        for status in [None, Some(199), Some(301), Some(410), Some(500)] {
            assert!(failure(&outcome(status, b"")).is_some(), "{status:?}");
        }
    }

    #[test]
    fn a_response_is_cut_at_a_character() {
        let shown = |response: &[u8]| shown_response(&outcome(Some(200), response)).unwrap();
        assert_eq!(shown(b"short"), "short");
        assert_eq!(shown(&[b'a'; 2000]).len(), 1024);
        let shifted = format!("a{}", "\u{e9}".repeat(1000));
        assert_eq!(shown(shifted.as_bytes()), shifted[..1023]);
        assert!(shown(&[0xff; 2000]).len() <= 1024);
        assert_eq!(shown_response(&outcome(None, b"")), None);
    }
}
