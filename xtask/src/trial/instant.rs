//! Instants of the API as numbers.

use anyhow::{Context as _, Result};

/// Milliseconds since the epoch of a text such as `2026-01-25T11:41:16.000Z`.
pub(crate) fn milliseconds(text: &str) -> Result<u64> {
    parsed(text).with_context(|| format!("not an instant: {text}"))
}

fn parsed(text: &str) -> Option<u64> {
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<u64>().ok();
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second, fraction) = (number(11, 13)?, number(14, 16)?, number(17, 19)?, number(20, 23)?);
    if text.len() != 24 || !text.ends_with('Z') {
        return None;
    }
    let seconds = ((days(year, month, day)? * 24 + hour) * 60 + minute) * 60 + second;
    Some(seconds * 1000 + fraction)
}

/// Days since the epoch, with years that begin in March, so that a leap day is the last.
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let leap_days = year / 4 - year / 100 + year / 400;
    (year * 365 + leap_days + (month * 153 + 2) / 5 + day - 1).checked_sub(719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_what_the_calendar_says() {
        for (text, expected) in [
            ("1970-01-01T00:00:00.000Z", 0),
            ("2000-02-29T12:00:00.500Z", 951_825_600_500),
            ("2026-11-21T08:08:09.001Z", 1_795_248_489_001),
        ] {
            assert_eq!(milliseconds(text).unwrap(), expected, "{text}");
        }
        milliseconds("2026-11-21T08:08:09Z").unwrap_err();
    }
}
