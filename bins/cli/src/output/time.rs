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

/// A span in its largest unit, rounded down.
pub(crate) fn span(span: Duration) -> String {
    let seconds = span.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}
