//! Whether a delivery was sent by the server that knows the secret, and lately: for those who receive webhooks.
//!
//! Any web framework will do: headers come as texts, the body as the bytes that were received. Verify before you parse,
//! and verify those very bytes, not JSON that was written anew.
//!
//! ```
//! # use std::collections::HashMap;
//! use restante_client::webhooks::{DeliveryError, SignatureHeaders, WebhookEvent};
//!
//! fn receive(headers: &HashMap<String, String>, body: &[u8], secret: &str) -> Result<(), DeliveryError> {
//!     let headers = SignatureHeaders::find(|name| headers.get(name).map(String::as_str))?;
//!     let event = WebhookEvent::verify(secret, &headers, body)?;
//!     println!("{} {}", event.id, event.event_type());
//!     Ok(())
//! }
//! ```
//!
//! Source: interface, "Delivery"; decisions, section 7.

use std::time::Duration;

use restante_envelope::digest::{ct_eq, hmac_sha256};
use restante_model::Timestamp;

/// How far the time of a delivery may be from that of its receiver, unless the receiver says otherwise: 5 minutes, in
/// both directions.
pub const TOLERANCE: Duration = Duration::from_mins(5);

const TIMESTAMP: &str = "x-vault-timestamp";
const SIGNATURE: &str = "x-vault-signature";
const PREVIOUS_SIGNATURE: &str = "x-vault-signature-previous";

/// Why a delivery is not to be believed, or not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeliveryError {
    /// A header that every delivery has is not there.
    #[error("the header {0} is missing")]
    Missing(&'static str),
    /// A header is not what it should be: Unix seconds, or `sha256=` and 64 hex digits.
    #[error("the header {0} is malformed")]
    Malformed(&'static str),
    /// What was given as the secret is none: it begins with `whsec_`.
    #[error("the secret does not begin with whsec_: nothing is verified without one")]
    Secret,
    /// No signature is that of the secret: somebody else sent it, or the body was changed.
    #[error("the signature is not that of the secret")]
    Mismatch,
    /// It was signed too long ago: somebody may be sending it once more.
    #[error("the delivery was signed {} s ago", .0.as_secs())]
    TooOld(Duration),
    /// It was signed in what is the future here: one of the two clocks is wrong.
    #[error("the delivery was signed {} s in the future", .0.as_secs())]
    TooNew(Duration),
    /// The body is no event of the interface: the webhook has a template, perhaps.
    #[error("the body is no event: {0}")]
    NotAnEvent(String),
}

/// The headers of a delivery that prove it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignatureHeaders<'a> {
    /// `X-Vault-Timestamp`.
    pub timestamp: &'a str,
    /// `X-Vault-Signature`.
    pub signature: &'a str,
    /// `X-Vault-Signature-Previous`, which is there for an hour after a rotation: a receiver that still has the former
    /// secret goes by it.
    pub previous_signature: Option<&'a str>,
}

impl<'a> SignatureHeaders<'a> {
    /// Asks for each header by its name in lowercase.
    ///
    /// # Errors
    /// [`DeliveryError::Missing`].
    pub fn find(header: impl Fn(&'static str) -> Option<&'a str>) -> Result<Self, DeliveryError> {
        let required = |name| header(name).ok_or(DeliveryError::Missing(name));
        Ok(Self {
            timestamp: required(TIMESTAMP)?,
            signature: required(SIGNATURE)?,
            previous_signature: header(PREVIOUS_SIGNATURE),
        })
    }
}

/// Verifies a delivery: that one of its signatures is that of the secret over timestamp and body, compared in constant
/// time, and that it was signed at most `tolerance` before or after `now`.
///
/// [`WebhookEvent::verify`](super::WebhookEvent::verify) does so by the machine's clock, and reads the event.
///
/// # Errors
/// Each kind of [`DeliveryError`] but `Missing` and `NotAnEvent`; the time is looked at last, so that what is called too
/// old or too new did come from the server.
pub fn verify_signature(
    secret: &str,
    headers: &SignatureHeaders<'_>,
    body: &[u8],
    tolerance: Duration,
    now: Timestamp,
) -> Result<(), DeliveryError> {
    if secret.strip_prefix("whsec_").is_none_or(str::is_empty) {
        return Err(DeliveryError::Secret);
    }
    let signed_at = moment(headers.timestamp).ok_or(DeliveryError::Malformed(TIMESTAMP))?;
    let signature = code(headers.signature).ok_or(DeliveryError::Malformed(SIGNATURE))?;
    let previous = headers.previous_signature.map(code);
    let previous = previous.map(|code| code.ok_or(DeliveryError::Malformed(PREVIOUS_SIGNATURE)));
    let previous = previous.transpose()?;

    let message = [headers.timestamp.as_bytes(), b".", body].concat();
    let expected = hmac_sha256(secret.as_bytes(), &message);
    if !(ct_eq(&expected, &signature) || previous.is_some_and(|previous| ct_eq(&expected, &previous))) {
        return Err(DeliveryError::Mismatch);
    }
    let (age, ahead) = (signed_at.until(now), now.until(signed_at));
    match (age > tolerance, ahead > tolerance) {
        (true, _) => Err(DeliveryError::TooOld(age)),
        (_, true) => Err(DeliveryError::TooNew(ahead)),
        _ => Ok(()),
    }
}

fn moment(unix_seconds: &str) -> Option<Timestamp> {
    // `parse` alone takes a sign.
    let is_number = unix_seconds.bytes().all(|byte| byte.is_ascii_digit());
    let seconds: u64 = unix_seconds.parse().ok().filter(|_| is_number)?;
    Some(Timestamp::from_unix_ms(seconds.saturating_mul(1000)))
}

/// The 32 bytes of `sha256=<hex>`.
fn code(text: &str) -> Option<[u8; 32]> {
    let digits = text.strip_prefix("sha256=")?.as_bytes();
    let mut code = [0; 32];
    if digits.len() != 2 * code.len() {
        return None;
    }
    for (byte, pair) in code.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = nibble(pair[0])? << 4 | nibble(pair[1])?;
    }
    Some(code)
}

fn nibble(digit: u8) -> Option<u8> {
    let value = char::from(digit).to_digit(16)?;
    u8::try_from(value).ok()
}

#[cfg(test)]
mod tests;
