//! Moments as people say them: `in 58 min`, `3 s ago`.

use std::time::Duration;

use restante_client::Timestamp;

/// A moment seen from `now`.
pub(crate) fn relative(moment: Timestamp, now: Timestamp) -> String {
    if moment > now {
        format!("in {}", span(now.until(moment)))
    } else {
        format!("{} ago", span(moment.until(now)))
    }
}

/// A span in its largest fitting unit, rounded to the nearest.
pub(crate) fn span(span: Duration) -> String {
    let seconds = (span.as_millis() + 500) / 1000;
    let minutes = (seconds + 30) / 60;
    let hours = (minutes + 30) / 60;
    let days = (hours + 12) / 24;
    match (seconds, minutes, hours) {
        (0..60, ..) => format!("{seconds} s"),
        (_, 0..60, _) => format!("{minutes} min"),
        (_, _, 0..48) => format!("{hours} h"),
        _ => format!("{days} days"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_has_the_unit_that_people_would_take() {
        for (ms, shown) in [
            (0, "0 s"),
            (499, "0 s"),
            (500, "1 s"),
            (59_499, "59 s"),
            (59_500, "1 min"),
            (89_499, "1 min"),
            (599_900, "10 min"),
            (3_569_000, "59 min"),
            (3_570_000, "1 h"),
            (7_200_000, "2 h"),
            (86_400_000, "24 h"),
            (2 * 86_400_000, "2 days"),
            (7 * 86_400_000 - 1, "7 days"),
        ] {
            assert_eq!(span(Duration::from_millis(ms)), shown, "{ms} ms");
        }
    }

    #[test]
    fn a_moment_is_before_or_after_now() {
        let at = |seconds: u64| Timestamp::from_unix_ms(seconds * 1000);
        for (moment, shown) in [
            (1000 + 58 * 60, "in 58 min"),
            (1000, "0 s ago"),
            (997, "3 s ago"),
            (1001, "in 1 s"),
        ] {
            assert_eq!(relative(at(moment), at(1000)), shown);
        }
    }
}
