//! The header of a POST that a client may repeat (decisions, section 2).

use axum::http::HeaderMap;
use restante_envelope::digest::sha256;
use restante_inbox::Idempotency;

use crate::error::ApiError;

const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// Characters of an idempotency key, at most.
const IDEMPOTENCY_KEY_MAX: usize = 255;

/// What makes a request with this body the same as an earlier one; `None` if the client does not ask for that.
///
/// # Errors
/// 400 if the key is empty or too long.
pub(crate) fn idempotency(headers: &HeaderMap, body: &[u8]) -> Result<Option<Idempotency>, ApiError> {
    let Some(key) = headers.get(IDEMPOTENCY_KEY) else {
        return Ok(None);
    };
    if !(1..=IDEMPOTENCY_KEY_MAX).contains(&key.len()) {
        return Err(ApiError::invalid(format!(
            "Idempotency-Key must have 1 to {IDEMPOTENCY_KEY_MAX} characters"
        )));
    }
    Ok(Some(Idempotency {
        key: sha256(key.as_bytes()),
        body: sha256(body),
    }))
}
