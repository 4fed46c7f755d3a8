//! From when to when a certificate is good: the fields that rustls keeps to itself.
//!
//! Source: RFC 5280, section 4.1.

use std::fmt;
use std::time::Duration;

use restante_model::Timestamp;

/// Tag of the version, the one optional field before the serial number.
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// What has less than this left should have been renewed.
const SOON: Duration = Duration::from_hours(7 * 24);

/// From when to when a certificate is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validity {
    /// `notBefore`.
    pub begin: Timestamp,
    /// `notAfter`.
    pub end: Timestamp,
}

/// What is wrong with a certificate at a moment. Its `Display` is for the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Untimely {
    /// It is not good before this.
    NotYet(Timestamp),
    /// It has less than a week left.
    EndsSoon(Timestamp),
    /// It is not good since this.
    Ended(Timestamp),
}

impl Validity {
    /// Whether the certificate is good at this moment.
    pub fn contains(&self, moment: Timestamp) -> bool {
        self.begin <= moment && moment <= self.end
    }

    /// What whoever runs the server should know at this moment.
    pub(crate) fn untimely(&self, now: Timestamp) -> Option<Untimely> {
        if now < self.begin {
            return Some(Untimely::NotYet(self.begin));
        }
        if now > self.end {
            return Some(Untimely::Ended(self.end));
        }
        (now.after(SOON) > self.end).then_some(Untimely::EndsSoon(self.end))
    }
}

impl fmt::Display for Untimely {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotYet(begin) => write!(f, "is not valid before {begin}; clients will refuse it"),
            Self::EndsSoon(end) => write!(f, "ends soon, at {end}"),
            Self::Ended(end) => write!(f, "has expired at {end}; clients will refuse it"),
        }
    }
}

/// The validity of a certificate in DER; `None` if the certificate is not made as the RFC says.
pub(crate) fn validity(certificate: &[u8]) -> Option<Validity> {
    let (_, certificate, _) = element(certificate)?;
    let (_, mut fields, _) = element(certificate)?;
    if fields.first() == Some(&VERSION) {
        (_, _, fields) = element(fields)?;
    }
    // The serial number, the signature algorithm, the issuer.
    for _ in 0..3 {
        (_, _, fields) = element(fields)?;
    }
    let (_, validity, _) = element(fields)?;
    let (begin, rest) = date(validity)?;
    let (end, _) = date(rest)?;
    Some(Validity { begin, end })
}

/// The first date, and what follows it.
fn date(der: &[u8]) -> Option<(Timestamp, &[u8])> {
    let (tag, digits, rest) = element(der)?;
    Some((moment(tag, std::str::from_utf8(digits).ok()?)?, rest))
}

/// The tag and content of a DER element, and what follows it.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = der.split_first()?;
    let (&short, rest) = rest.split_first()?;
    let (length, rest) = match short {
        0..=0x7f => (usize::from(short), rest),
        0x81..=0x84 => {
            let (long, rest) = rest.split_at_checked(usize::from(short & 0x7f))?;
            let length = long.iter().fold(0, |sum: usize, byte| (sum << 8) | usize::from(*byte));
            (length, rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}

/// `YYMMDDHHMMSSZ`, of the years 1950 to 2049, or `YYYYMMDDHHMMSSZ` (RFC 5280, section 4.1.2.5).
fn moment(tag: u8, digits: &str) -> Option<Timestamp> {
    let digits = match tag {
        UTC_TIME if digits.get(..2)? < "50" => format!("20{digits}"),
        UTC_TIME => format!("19{digits}"),
        GENERALIZED_TIME => digits.to_owned(),
        _ => return None,
    };
    let field = |from: usize, to: usize| digits.get(from..to);
    let (year, month, day) = (field(0, 4)?, field(4, 6)?, field(6, 8)?);
    let (hour, minute, second) = (field(8, 10)?, field(10, 12)?, digits.get(12..)?);
    Timestamp::parse(&format!("{year}-{month}-{day}T{hour}:{minute}:{second}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Pair;

    #[test]
    fn both_forms_of_a_date_are_read() {
        for (tag, digits, expected) in [
            (UTC_TIME, "270125114116Z", Some("2027-01-25T11:41:16.000Z")),
            (UTC_TIME, "991231235959Z", Some("1999-12-31T23:59:59.000Z")),
            (GENERALIZED_TIME, "20500101000000Z", Some("2050-01-01T00:00:00.000Z")),
            (GENERALIZED_TIME, "99991231235959Z", Some("9999-12-31T23:59:59.000Z")),
            (UTC_TIME, "271325114116Z", None),
            (UTC_TIME, "2701251141Z", None),
            (UTC_TIME, "", None),
            (0x04, "270125114116Z", None),
        ] {
            let read = moment(tag, digits).map(|moment| moment.to_string());
            assert_eq!(read.as_deref(), expected, "{tag:x} {digits}");
        }
    }

    #[test]
    fn both_dates_of_a_certificate_are_found() {
        for (begin, end) in [
            ("2026-01-25T11:41:16Z", "2027-01-25T11:41:16Z"),
            ("1999-12-31T23:59:59Z", "2061-01-25T11:41:16Z"),
            ("2055-01-01T00:00:00Z", "2061-01-25T11:41:16Z"),
        ] {
            let [begin, end] = [begin, end].map(|date| Timestamp::parse(date).unwrap());
            let pair = Pair::between("a.test", begin, end);
            assert_eq!(validity(&pair.der), Some(Validity { begin, end }));
        }
    }

    #[test]
    fn no_cut_certificate_is_read_beyond_its_end() {
        let der = Pair::new("a.test").der;
        for length in 0..der.len() {
            assert_eq!(validity(&der[..length]), None, "{length}");
        }
    }

    #[test]
    fn what_is_early_or_late_is_told() {
        let moment = |text: &str| Timestamp::parse(text).unwrap();
        let (begin, end) = (moment("2026-01-01T00:00:00Z"), moment("2026-02-01T00:00:00Z"));
        let validity = Validity { begin, end };
        for (now, expected) in [
            ("2025-12-31T23:59:59Z", Some(Untimely::NotYet(begin))),
            ("2026-01-01T00:00:00Z", None),
            ("2026-01-25T00:00:00Z", None),
            ("2026-01-25T00:00:01Z", Some(Untimely::EndsSoon(end))),
            ("2026-02-01T00:00:00Z", Some(Untimely::EndsSoon(end))),
            ("2026-02-01T00:00:01Z", Some(Untimely::Ended(end))),
        ] {
            let now = moment(now);
            assert_eq!(validity.untimely(now), expected, "{now}");
            let is_good = !matches!(expected, Some(Untimely::NotYet(_) | Untimely::Ended(_)));
            assert_eq!(validity.contains(now), is_good, "{now}");
        }
    }
}
