//! Time as a parameter: [`Timestamp`] is a moment, [`Clock`] tells the present one.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use time::OffsetDateTime;
use time::format_description::well_known::{Rfc2822, Rfc3339};
use time::macros::format_description;

/// A moment in UTC, in whole milliseconds since the Unix epoch.
///
/// Shown, and serialised, as ISO 8601 with milliseconds and `Z`: `2026-01-25T11:41:16.000Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The last millisecond of the year 9999, the last that ISO 8601 writes with four digits.
    pub const MAX: Self = Self(253_402_300_799_999);

    /// A moment from milliseconds since the Unix epoch, cut at [`Timestamp::MAX`].
    pub const fn from_unix_ms(ms: u64) -> Self {
        if ms > Self::MAX.0 { Self::MAX } else { Self(ms) }
    }

    /// Milliseconds since the Unix epoch.
    pub const fn unix_ms(self) -> u64 {
        self.0
    }

    /// Whole seconds since the Unix epoch.
    pub const fn unix_secs(self) -> u64 {
        self.0 / 1000
    }

    /// Reads an ISO 8601 moment with an offset (RFC 3339 profile); sub-millisecond digits are dropped.
    pub fn parse(text: &str) -> Option<Self> {
        let moment = OffsetDateTime::parse(text, &Rfc3339).ok()?;
        let ms = u64::try_from(moment.unix_timestamp_nanos() / 1_000_000).ok()?;
        Some(Self::from_unix_ms(ms))
    }

    /// The moment `duration` later, cut at [`Timestamp::MAX`].
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        let ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        Self::from_unix_ms(self.0.saturating_add(ms))
    }

    /// How long until `later`; zero if it is not later.
    pub fn until(self, later: Self) -> Duration {
        Duration::from_millis(later.0.saturating_sub(self.0))
    }

    /// The date as a message header shows it (RFC 5322 section 3.3), for example `Sun, 25 Jan 2026 11:41:16 +0000`.
    pub fn rfc5322(self) -> String {
        self.datetime()
            .format(&Rfc2822)
            .expect("years 1970 to 9999 have an RFC 5322 form")
    }

    fn datetime(self) -> OffsetDateTime {
        OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0) * 1_000_000)
            .expect("a Timestamp is at most the year 9999")
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let iso = format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");
        f.write_str(&self.datetime().format(iso).map_err(|_| fmt::Error)?)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("expected an ISO 8601 timestamp"))
    }
}

/// Where the present moment comes from: the system in the server, the test in tests.
pub trait Clock: Send + Sync + fmt::Debug {
    /// The present moment.
    fn now(&self) -> Timestamp;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that asks the machine for the time"
    )]
    fn now(&self) -> Timestamp {
        let since_epoch = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap_or_default();
        Timestamp::from_unix_ms(u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_milliseconds_and_z() {
        assert_eq!(
            Timestamp::from_unix_ms(1_769_341_276_000).to_string(),
            "2026-01-25T11:41:16.000Z"
        );
        assert_eq!(
            Timestamp::from_unix_ms(1_769_341_276_007).to_string(),
            "2026-01-25T11:41:16.007Z"
        );
        assert_eq!(Timestamp::MAX.to_string(), "9999-12-31T23:59:59.999Z");
    }

    #[test]
    fn reads_what_it_shows_and_other_offsets() {
        let moment = Timestamp::from_unix_ms(1_769_341_276_123);
        assert_eq!(Timestamp::parse(&moment.to_string()), Some(moment));
        assert_eq!(Timestamp::parse("2026-01-25T12:41:16.1239+01:00"), Some(moment));
        assert_eq!(Timestamp::parse("2026-01-25"), None);
        assert_eq!(Timestamp::parse("1969-12-31T23:59:59Z"), None);
    }

    #[test]
    fn message_dates_follow_rfc_5322() {
        assert_eq!(
            Timestamp::from_unix_ms(1_769_341_276_000).rfc5322(),
            "Sun, 25 Jan 2026 11:41:16 +0000"
        );
    }

    #[test]
    fn arithmetic_saturates() {
        assert_eq!(Timestamp::MAX.after(Duration::from_secs(1)), Timestamp::MAX);
        assert_eq!(Timestamp::MAX.until(Timestamp::from_unix_ms(0)), Duration::ZERO);
    }
}
