//! How long a handler may take.

use std::time::Duration;

use axum::http::Method;

/// A handler answers within this time; streams answer at once and then go on.
const DEADLINE: Duration = Duration::from_mins(1);
/// The last segment of the routes that wait for somebody else: `POST .../webhooks/{id}/test`.
const TEST: &str = "test";

/// The time for a request. A test of a webhook answers what became of it, also when that is that its time is over:
/// `webhook_timeout` comes on top.
pub(crate) fn of(method: &Method, path: &str, webhook_timeout: Duration) -> Duration {
    let is_test = method == Method::POST && path.rsplit('/').next() == Some(TEST);
    if is_test { DEADLINE + webhook_timeout } else { DEADLINE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_test_of_a_webhook_gets_the_time_of_its_target() {
        let minute = Duration::from_mins(1);
        let time = |method, path| of(&method, path, minute);
        for path in ["/api/webhooks/whk_x/test", "/api/inboxes/a@b/webhooks/whk_x/test"] {
            assert_eq!(time(Method::POST, path), 2 * minute, "{path}");
            assert_eq!(time(Method::GET, path), minute, "{path}");
        }
        assert_eq!(time(Method::POST, "/api/webhooks/test/rotate-secret"), minute);
        assert_eq!(time(Method::POST, "/api/webhooks"), minute);
    }
}
