//! When a certificate ends: the one field that rustls keeps to itself.
//!
//! Source: RFC 5280, section 4.1.

use restante_model::Timestamp;

/// Tag of the version, the one optional field before the serial number.
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// `notAfter` of a certificate in DER; `None` if the certificate is not made as the RFC says.
pub(crate) fn not_after(certificate: &[u8]) -> Option<Timestamp> {
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
    let (_, _not_before, rest) = element(validity)?;
    let (tag, digits, _) = element(rest)?;
    moment(tag, std::str::from_utf8(digits).ok()?)
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
    fn the_end_of_a_certificate_is_found() {
        for end in ["2027-01-25T11:41:16.000Z", "2061-01-25T11:41:16.000Z"] {
            let end = Timestamp::parse(end).unwrap();
            assert_eq!(not_after(&Pair::ending("a.test", end).der), Some(end));
        }
    }

    #[test]
    fn no_cut_certificate_is_read_beyond_its_end() {
        let der = Pair::new("a.test").der;
        for length in 0..der.len() {
            assert_eq!(not_after(&der[..length]), None, "{length}");
        }
    }
}
