//! Timestamps as the clients of all languages write them.

use restante_model::Timestamp;
use time::format_description::well_known::Iso8601;
use time::{OffsetDateTime, PrimitiveDateTime};

use super::ImportError;
use super::fields::Value;

/// The moment that a field names.
pub(super) fn read(field: &'static str, value: &Value<'_>) -> Result<Timestamp, ImportError> {
    let moment = value.text().and_then(|text| parse(&text));
    moment.ok_or_else(|| ImportError::Timestamp {
        field,
        found: value.shown_text(),
    })
}

/// An ISO 8601 date and time in its extended or basic format; without an offset it is taken for UTC.
///
/// Digits below the millisecond are dropped, and what is before 1970 becomes its beginning: both are in the past.
fn parse(text: &str) -> Option<Timestamp> {
    Timestamp::parse(text).or_else(|| {
        let moment = OffsetDateTime::parse(text, &Iso8601::PARSING)
            .or_else(|_| PrimitiveDateTime::parse(text, &Iso8601::PARSING).map(PrimitiveDateTime::assume_utc));
        let ms = moment.ok()?.unix_timestamp_nanos() / 1_000_000;
        Some(Timestamp::from_unix_ms(u64::try_from(ms).unwrap_or(0)))
    })
}

#[cfg(test)]
mod tests {
    use super::parse;
    use restante_model::Timestamp;

    #[test]
    fn one_moment_in_the_spellings_of_all_clients() {
        let moment = Timestamp::from_unix_ms(1_769_341_260_000);
        for text in [
            "2026-01-25T11:41:00.000Z",
            "2026-01-25T11:41:00Z",
            "2026-01-25t11:41:00z",
            "2026-01-25T11:41:00+00:00",
            "2026-01-25T11:41:00.000000+00:00",
            "2026-01-25T11:41:00.000000Z",
            "2026-01-25T11:41:00.0000000Z",
            "2026-01-25T11:41:00.000000000Z",
            "2026-01-25T06:41:00-05:00",
            "2026-01-25 11:41:00Z",
            "2026-01-25T11:41Z",
            "2026-01-25T12:41+01",
            "2026-01-25T11:41:00.000",
            "2026-01-25T11:41:00",
            "20260125T114100Z",
            "20260125T114100+0000",
        ] {
            assert_eq!(parse(text), Some(moment), "{text}");
        }
    }

    #[test]
    fn what_is_below_a_millisecond_is_dropped() {
        let moment = Timestamp::from_unix_ms(1_769_341_276_123);
        assert_eq!(parse("2026-01-25T11:41:16.123999Z"), Some(moment));
        assert_eq!(parse("2026-01-25T11:41:16.123999"), Some(moment));
    }

    #[test]
    fn what_is_before_1970_is_its_beginning() {
        for text in ["0001-01-01T00:00:00Z", "1969-12-31T23:59:59.999Z"] {
            assert_eq!(parse(text), Some(Timestamp::from_unix_ms(0)), "{text}");
        }
    }

    #[test]
    fn what_is_no_date_and_time_is_none() {
        for text in [
            "",
            "soon",
            "1769341276",
            "2026-01-25",
            "11:41:00Z",
            "2026-02-30T11:41:00Z",
            "2026-01-25T25:41:00Z",
            "2026-01-25T11:41:00Z ",
            " 2026-01-25T11:41:00Z",
            "2026-01-25T11:41:00Zulu",
            "Sun, 25 Jan 2026 11:41:00 +0000",
            "25.01.2026 11:41",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
