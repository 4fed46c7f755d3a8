//! The Date field (RFC 5322 section 3.3, with the obsolete forms of section 4.3).

use restante_model::Timestamp;

use crate::comment;

/// The moment that an unfolded field names; none if it is no date or lies before 1970.
///
/// Also read are the forms of other standards that mail has: `Sunday, 25-Jan-26 11:41:16 GMT` (RFC 850),
/// `Sun Jan 25 11:41:16 2026` (asctime), and a zone without a space before it.
pub(crate) fn parse(source: &str) -> Option<Timestamp> {
    let tokens = tokens(&comment::strip(source));
    let mut tokens = tokens.iter().map(String::as_str).peekable();
    tokens.next_if(|token| is_word(token) && month(token).is_none());
    let (day, month, mut year) = if tokens.peek().is_some_and(|token| is_word(token)) {
        let month = month(tokens.next()?)?;
        (number(tokens.next()?)?, month, None)
    } else {
        let day = number(tokens.next()?)?;
        (day, month(tokens.next()?)?, Some(self::year(tokens.next()?)?))
    };
    let hour = number(tokens.next()?)?;
    let minute = tokens.next_if_eq(&":").and(tokens.next()).and_then(number)?;
    let second = match tokens.next_if_eq(&":") {
        Some(_) => number(tokens.next()?)?,
        None => 0,
    };
    if year.is_none() {
        year = Some(self::year(tokens.next()?)?);
    }
    let zone = zone(tokens.next().unwrap_or("GMT"), tokens.next().unwrap_or_default())?;
    // a leap second is the second before it
    Timestamp::parse(&format!(
        "{:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{:02}{zone}",
        year?,
        if second == 60 { 59 } else { second }
    ))
}

/// Words, numbers, colons, and signs after the first colon; what else stands between them is dropped, so commas,
/// white space, and the `-` that RFC 850 has between day and month.
fn tokens(date: &str) -> Vec<String> {
    let mut tokens = Vec::<String>::new();
    let (mut last, mut in_time) = (' ', false);
    for c in date.chars() {
        let continues = c.is_alphabetic() && last.is_alphabetic() || c.is_ascii_digit() && last.is_ascii_digit();
        match tokens.last_mut() {
            Some(token) if continues => token.push(c),
            _ if c.is_alphanumeric() || c == ':' || in_time && "+-".contains(c) => tokens.push(c.into()),
            _ => {}
        }
        in_time |= c == ':';
        last = c;
    }
    tokens
}

fn is_word(token: &str) -> bool {
    token.starts_with(char::is_alphabetic)
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
fn zone(name_or_sign: &str, digits: &str) -> Option<String> {
    if matches!(name_or_sign, "+" | "-") {
        number(digits).filter(|_| digits.len() == 4)?;
        return Some(format!("{name_or_sign}{}:{}", &digits[..2], &digits[2..]));
    }
    let offset = match name_or_sign.to_ascii_uppercase().as_str() {
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
            (
                "Fri, 21 Nov 1997 09(comment):   55  :  06 -0600",
                Some("1997-11-21T15:55:06.000Z"),
            ),
            ("21 Nov 97 09:55:06 GMT", Some("1997-11-21T09:55:06.000Z")),
            ("(day) Sun(day) ,25 Jan 2026 11:41 Z", Some("2026-01-25T11:41:00.000Z")),
            ("Sun 25 Jan 2026 11:41:16 -0000", Some("2026-01-25T11:41:16.000Z")),
            ("25 Jan 2026 11:41:16 A", Some("2026-01-25T11:41:16.000Z")), // RFC 5322: military zones say nothing
            ("Sunday, 25-Jan-26 11:41:16 GMT", Some("2026-01-25T11:41:16.000Z")),
            ("Sun Jan 25 11:41:16 2026", Some("2026-01-25T11:41:16.000Z")),
            ("01 Jan 2001 00:01+0100", Some("2000-12-31T23:01:00.000Z")),
            ("01 Jan 2001 00:01-0130", Some("2001-01-01T01:31:00.000Z")),
            ("25 Jan 2026 11.41", None),
            ("25 Jan 2026 11:", None),
            ("Sun, 30 Feb 2026 11:41:16 +0000", None),
            ("25 Jan 2026 11:41:61 +0000", None),
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
