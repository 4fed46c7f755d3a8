//! The memory for test emails, which bounds how many are read, composed and stored at a time. The others wait in line, with
//! their bodies still on the wire.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_LENGTH;
use axum::http::request::Parts;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::body::BODY_MAX;
use crate::error::ApiError;
use crate::state::Api;

/// Test emails of the largest size that are worked on at a time; of smaller ones there are more.
const LARGEST: usize = 16;
/// What a request takes for each byte of its body, at most: the body, the texts in it, and the message, whose buffer is one
/// and a half times as large. What the message is sealed in has a budget of its own.
const TIMES_BODY: usize = 4;
/// What it takes beside that.
const BASE_BYTES: usize = 16 * 1024;
/// Memory is counted in units of this size.
const UNIT_BYTES: usize = 1024;
/// With the time that a body may take, this is less than a handler has.
const PATIENCE: Duration = Duration::from_secs(20);

/// The line in which test emails wait. All of them together take about 17 MB.
#[derive(Debug)]
pub(crate) struct Turns {
    /// It is fair: a large one is not overtaken for ever.
    units: Arc<Semaphore>,
}

/// Memory that a test email holds until it is stored.
#[derive(Debug)]
pub(crate) struct Turn {
    _units: OwnedSemaphorePermit,
}

impl Turns {
    pub(crate) fn new() -> Self {
        Self {
            units: Arc::new(Semaphore::new(LARGEST * units(BODY_MAX) as usize)),
        }
    }

    /// Waits for the turn of a request with these headers.
    ///
    /// # Errors
    /// [`ApiError::Busy`] if it does not come in time.
    async fn wait(&self, headers: &HeaderMap) -> Result<Turn, ApiError> {
        let turn = Arc::clone(&self.units).acquire_many_owned(units(body_bytes(headers)));
        match timeout(PATIENCE, turn).await {
            Ok(Ok(units)) => Ok(Turn { _units: units }),
            _ => Err(ApiError::Busy),
        }
    }
}

/// An argument of the handler that stands before the body: that is read when the turn has come.
impl FromRequestParts<Arc<Api>> for Turn {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, api: &Arc<Api>) -> Result<Self, ApiError> {
        api.test_emails.wait(&parts.headers).await
    }
}

/// The size of a body as far as it will be read; one that does not say it may have any.
fn body_bytes(headers: &HeaderMap) -> usize {
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    let length = length.and_then(|length| length.parse().ok());
    length.map_or(BODY_MAX, |length: usize| length.min(BODY_MAX))
}

fn units(body_bytes: usize) -> u32 {
    let bytes = BASE_BYTES + TIMES_BODY * body_bytes.min(BODY_MAX);
    u32::try_from(bytes.div_ceil(UNIT_BYTES)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use tokio::time::Instant;

    use super::*;

    fn headers(length: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(CONTENT_LENGTH, HeaderValue::from_static(length))])
    }

    async fn largest(turns: &Turns) -> Vec<Turn> {
        let mut taken = Vec::new();
        for _ in 0..LARGEST {
            taken.push(turns.wait(&headers("262144")).await.unwrap());
        }
        taken
    }

    #[tokio::test(start_paused = true)]
    async fn who_finds_no_memory_waits_in_line_and_not_for_ever() {
        let turns = Turns::new();
        let mut taken = largest(&turns).await;
        let began = Instant::now();
        for length in ["262144", "0"] {
            assert_eq!(turns.wait(&headers(length)).await.err(), Some(ApiError::Busy));
        }
        assert_eq!(began.elapsed(), 2 * PATIENCE);
        let (first, next) = (headers("262144"), headers("0"));
        let waits = async {
            let first = turns.wait(&first).await;
            assert!(
                turns.units.available_permits() < units(0) as usize,
                "it had its turn first"
            );
            first
        };
        let ends = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            drop(taken.pop());
        };
        let (first, next, ()) = tokio::join!(waits, timeout(Duration::from_secs(2), turns.wait(&next)), ends);
        assert!(
            first.is_ok() && next.is_err(),
            "the small one stays behind the large one"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn all_comes_back_and_small_ones_take_little() {
        let turns = Turns::new();
        let all = turns.units.available_permits();
        drop(largest(&turns).await);
        assert_eq!(turns.units.available_permits(), all);
        let mut small = Vec::new();
        for _ in 0..50 * LARGEST {
            small.push(turns.wait(&headers("300")).await.unwrap());
        }
    }

    #[test]
    fn a_body_of_unknown_size_counts_as_the_largest() {
        for (length, bytes) in [
            ("0", 0),
            ("300", 300),
            ("262144", BODY_MAX),
            ("262145", BODY_MAX),
            ("x", BODY_MAX),
        ] {
            assert_eq!(body_bytes(&headers(length)), bytes, "{length}");
        }
        assert_eq!(body_bytes(&HeaderMap::new()), BODY_MAX);
    }
}
