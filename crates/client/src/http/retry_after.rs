//! When a server asks to come again.

use std::time::Duration;

use restante_model::Timestamp;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;

/// Reads `Retry-After` (RFC 9110 section 10.2.3): seconds, or a date, of which the time from now on counts.
///
/// The two obsolete forms of a date are not read; whoever uses them is asked again as if there were none.
pub(super) fn parse(text: &str, now: Timestamp) -> Option<Duration> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // More than can be counted is still longer than anybody waits.
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
    }
    let date = OffsetDateTime::parse(text, &Rfc2822).ok()?;
    let ms = u64::try_from(date.unix_timestamp())
        .unwrap_or_default()
        .saturating_mul(1000);
    Some(now.until(Timestamp::from_unix_ms(ms)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_dates_are_read() {
        // Sun, 06 Nov 1994 08:49:37 GMT, and half a second.
        let now = Timestamp::from_unix_ms(784_111_777_500);
        for (text, expected) in [
            ("0", Some(Duration::ZERO)),
            (" 120 ", Some(Duration::from_mins(2))),
            ("99999999999999999999", Some(Duration::from_secs(u64::MAX))),
            ("Sun, 06 Nov 1994 08:50:07 GMT", Some(Duration::from_millis(29_500))),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(Duration::ZERO)),
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(Duration::ZERO)),
            ("Wed, 01 Jan 1908 00:00:00 GMT", Some(Duration::ZERO)),
            ("", None),
            ("-1", None),
            ("+1", None),
            ("1.5", None),
            ("soon", None),
            ("Sun Nov  6 08:49:37 1994", None),
        ] {
            assert_eq!(parse(text, now), expected, "{text:?}");
        }
    }
}
