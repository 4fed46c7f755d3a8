//! Spans of time as people write them: `90`, `90s`, `10m`, `2h`, `7d`.

use std::time::Duration;

/// Reads a span; a bare number means seconds.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let expected = || format!("expected a number of seconds or a span such as 90s, 10m, 2h or 7d, got {text:?}");
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let seconds: u64 = match &text[digits.len()..] {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return Err(expected()),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(expected());
    }
    let count: u64 = digits.parse().map_err(|_| expected())?;
    count.checked_mul(seconds).map(Duration::from_secs).ok_or_else(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_a_unit_or_mean_seconds() {
        for (text, seconds) in [
            ("90", 90),
            ("90s", 90),
            ("10m", 600),
            ("2h", 7200),
            ("7d", 604_800),
            ("0", 0),
            ("007", 7),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused_with_what_is_expected() {
        for text in [
            "",
            "s",
            "m",
            "-1",
            "+1",
            "1.5h",
            "10 m",
            "10min",
            "1h30m",
            "ten",
            "1M",
            "１０",
            "99999999999999999999",
            "999999999999999999d",
        ] {
            let error = parse(text).unwrap_err();
            assert!(
                error.contains("90s, 10m, 2h or 7d") && error.contains(&format!("{text:?}")),
                "{error}"
            );
        }
    }
}
