//! The Date field (RFC 5322 section 3.3, with the obsolete forms of section 4.3).

use restante_model::Timestamp;

/// The moment that an unfolded field names; none if it is no date or lies before 1970.
pub(crate) fn parse(source: &str) -> Option<Timestamp> {
    // a comment may follow the zone: it mostly is the zone's name
    let date = source.split('(').next()?;
    let date = date.split_once(',').map_or(date, |(_weekday, date)| date);
    let mut words = date.split_ascii_whitespace();
    let (day, month, year) = (number(words.next()?)?, month(words.next()?)?, year(words.next()?)?);
    let mut clock = words.next()?.split(':');
    let (hour, minute) = (number(clock.next()?)?, number(clock.next()?)?);
    // a leap second is the second before it
    let second = clock.next().map_or(Some(0), number)?.min(59);
    let zone = zone(words.next().unwrap_or("GMT"))?;
    Timestamp::parse(&format!(
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{zone}"
    ))
}

fn number(digits: &str) -> Option<u32> {
    let is_number = (1..=4).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten()
}

fn month(name: &str) -> Option<usize> {
    let months = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ];
    let name = name.get(..3)?.to_ascii_lowercase();
    months.iter().position(|month| *month == name).map(|index| index + 1)
}

/// Two digits mean 1950 to 2049, three count from 1900.
fn year(digits: &str) -> Option<u32> {
    let year = number(digits)?;
    Some(match digits.len() {
        2 if year < 50 => year + 2000,
        2 | 3 => year + 1900,
        _ => year,
    })
}

/// The offset of a zone as RFC 3339 writes it; a name that is not known says nothing, so it counts as UTC.
fn zone(zone: &str) -> Option<String> {
    if let Some(digits) = zone.strip_prefix(['+', '-']) {
        number(digits).filter(|_| digits.len() == 4)?;
        return Some(format!("{}{}:{}", &zone[..1], &digits[..2], &digits[2..]));
    }
    let offset = match zone.to_ascii_uppercase().as_str() {
        "EDT" => "-04:00",
        "EST" | "CDT" => "-05:00",
        "CST" | "MDT" => "-06:00",
        "MST" | "PDT" => "-07:00",
        "PST" => "-08:00",
        _ => "+00:00",
    };
    Some(offset.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_moments() {
        for (source, shown) in [
            ("Sun, 25 Jan 2026 12:41:16 +0100", Some("2026-01-25T11:41:16.000Z")),
            ("25 Jan 2026 11:41 GMT", Some("2026-01-25T11:41:00.000Z")),
            (
                "Sun, 25 Jan 2026 11:41:16 +0000 (UTC)",
                Some("2026-01-25T11:41:16.000Z"),
            ),
            ("Sun,  5 january 26 06:41:16 EST", Some("2026-01-05T11:41:16.000Z")),
            ("5 Jan 126 11:41:16", Some("2026-01-05T11:41:16.000Z")),
            ("Wed, 31 Dec 2025 23:59:60 XYZ", Some("2025-12-31T23:59:59.000Z")),
            ("yesterday", None),
            ("", None),
            ("Sun, 25 Foo 2026 11:41:16 +0000", None),
            ("Sun, 45 Jan 2026 11:41:16 +0000", None),
            ("Sun, 25 Jan 2026 25:41:16 +0000", None),
            ("Sun, 25 Jan 2026 11:41:16 +99", None),
            ("Sun, 25 Jan 2026 11:41:16 +9999", None),
            ("25 J\u{e9}n 2026 11:41:16 +0000", None),
            ("Thu, 1 Jan 1960 00:00:00 +0000", None),
        ] {
            assert_eq!(
                parse(source).map(|moment| moment.to_string()).as_deref(),
                shown,
                "{source:?}"
            );
        }
    }
}
