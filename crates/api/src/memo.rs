//! What repeated requests are answered that leave no mark in the store (decisions, section 2).
//!
//! A test of a webhook and a redelivery are remembered here, in memory only; what creates or rotates something is
//! remembered with it and survives a restart.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Response, StatusCode};
use bytes::Bytes;
use quick_cache::sync::Cache;
use restante_inbox::Idempotency;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use crate::answer;
use crate::error::ApiError;

/// How long an answer is remembered.
const REMEMBERED: Duration = Duration::from_mins(10);
/// Answers that are remembered; beyond, the least used are forgotten.
const ANSWERS: usize = 1024;

/// An answer that can be given again.
#[derive(Debug, Clone)]
pub(crate) struct Answered {
    status: StatusCode,
    body: Bytes,
}

/// The first answer to a request, and what the request said.
#[derive(Debug)]
struct First {
    body: [u8; 32],
    at: Instant,
    answered: Answered,
}

/// Held while the first request is worked on, so that its repetitions wait for the answer; empty if there is none.
type Entry = Arc<Mutex<Option<First>>>;

/// The answers of the last ten minutes.
#[derive(Debug)]
pub(crate) struct Memo {
    entries: Cache<[u8; 32], Entry>,
}

impl Answered {
    /// A JSON answer.
    pub(crate) fn json(status: StatusCode, shape: &impl serde::Serialize) -> Self {
        Self {
            status,
            body: answer::to_bytes(shape),
        }
    }

    fn response(self) -> Response<Body> {
        answer::with_body(self.status, Body::from(self.body))
    }
}

impl Memo {
    pub(crate) fn new() -> Self {
        Self {
            entries: Cache::new(ANSWERS),
        }
    }

    /// Answers a request by `work`, or, if it is repeated, like the first time; refusals are not remembered.
    ///
    /// The work of a request that may be repeated goes on in `tasks` when its client hangs up: that client will ask again.
    ///
    /// # Errors
    /// Those of `work`; 409 if the key came with another body before.
    pub(crate) async fn once(
        &self,
        tasks: &TaskTracker,
        request: Option<Idempotency>,
        work: impl Future<Output = Result<Answered, ApiError>> + Send + 'static,
    ) -> Result<Response<Body>, ApiError> {
        let answered = match request {
            None => work.await?,
            Some(request) => {
                let entry = self.entry(request.key);
                let answering = tasks.spawn(async move { first_or(&entry, request.body, work).await });
                answering.await.unwrap_or(Err(ApiError::Internal))?
            }
        };
        Ok(answered.response())
    }

    fn entry(&self, key: [u8; 32]) -> Entry {
        let found = self
            .entries
            .get_or_insert_with(&key, || Ok::<_, ApiError>(Entry::default()));
        found.unwrap_or_default()
    }
}

/// What the first request was answered, or else this one.
async fn first_or(
    entry: &Mutex<Option<First>>,
    body: [u8; 32],
    work: impl Future<Output = Result<Answered, ApiError>>,
) -> Result<Answered, ApiError> {
    let mut first = entry.lock().await;
    match first.as_ref().filter(|first| first.at.elapsed() < REMEMBERED) {
        Some(first) if first.body == body => return Ok(first.answered.clone()),
        Some(_) => return Err(ApiError::IDEMPOTENCY_REUSED),
        None => {}
    }
    let answered = work.await?;
    *first = Some(First {
        body,
        at: Instant::now(),
        answered: answered.clone(),
    });
    Ok(answered)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU16, Ordering};

    use http_body_util::BodyExt as _;
    use tokio::sync::Notify;

    use super::*;

    const REQUEST: Idempotency = Idempotency {
        key: [1; 32],
        body: [2; 32],
    };

    /// Counts how often the work was done, and answers the count.
    #[derive(Default)]
    struct Work {
        done: AtomicU16,
        go: Notify,
    }

    impl Work {
        async fn run(self: Arc<Self>, waits: bool, fails: bool) -> Result<Answered, ApiError> {
            if waits {
                self.go.notified().await;
            }
            let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
            if fails {
                return Err(ApiError::Unavailable);
            }
            Ok(Answered::json(StatusCode::ACCEPTED, &done))
        }
    }

    struct World {
        memo: Memo,
        tasks: TaskTracker,
        work: Arc<Work>,
    }

    impl World {
        fn new() -> Self {
            Self {
                memo: Memo::new(),
                tasks: TaskTracker::new(),
                work: Arc::default(),
            }
        }

        async fn ask(&self, request: Option<Idempotency>, waits: bool, fails: bool) -> Result<String, ApiError> {
            let work = Arc::clone(&self.work).run(waits, fails);
            let response = self.memo.once(&self.tasks, request, work).await?;
            assert_eq!(response.status(), StatusCode::ACCEPTED);
            let body = response.into_body().collect().await.unwrap().to_bytes();
            Ok(String::from_utf8(body.to_vec()).unwrap())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_repetition_is_answered_like_the_first_for_ten_minutes() {
        let world = World::new();
        assert_eq!(world.ask(Some(REQUEST), false, false).await.unwrap(), "1");
        tokio::time::advance(Duration::from_millis(599_999)).await;
        assert_eq!(world.ask(Some(REQUEST), false, false).await.unwrap(), "1");
        let reused = Idempotency {
            body: [3; 32],
            ..REQUEST
        };
        let answer = world.ask(Some(reused), false, false).await;
        assert_eq!(answer, Err(ApiError::IDEMPOTENCY_REUSED));
        let other = Idempotency {
            key: [4; 32],
            ..REQUEST
        };
        assert_eq!(world.ask(Some(other), false, false).await.unwrap(), "2");
        assert_eq!(world.ask(None, false, false).await.unwrap(), "3");
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(world.ask(Some(reused), false, false).await.unwrap(), "4");
    }

    #[tokio::test]
    async fn a_refusal_is_not_remembered() {
        let world = World::new();
        assert_eq!(world.ask(Some(REQUEST), false, true).await, Err(ApiError::Unavailable));
        assert_eq!(world.ask(Some(REQUEST), false, false).await.unwrap(), "2");
    }

    #[tokio::test]
    async fn repetitions_at_the_same_time_wait_for_the_first() {
        let world = World::new();
        world.work.go.notify_one();
        let ask = || world.ask(Some(REQUEST), true, false);
        let answers = tokio::join!(ask(), ask(), ask());
        assert_eq!(answers, (Ok("1".into()), Ok("1".into()), Ok("1".into())));
    }

    #[tokio::test]
    async fn the_work_goes_on_when_the_client_hangs_up() {
        let world = World::new();
        {
            let mut asking = std::pin::pin!(world.ask(Some(REQUEST), true, false));
            assert!(futures_util::poll!(asking.as_mut()).is_pending());
        }
        world.work.go.notify_one();
        world.tasks.close();
        world.tasks.wait().await;
        assert_eq!(world.ask(Some(REQUEST), true, false).await.unwrap(), "1");
    }
}
