//! What rspamd is told of the session: headers beside the message.

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use restante_model::SessionFacts;

use crate::SpamError;

/// The header of the password.
pub(crate) const PASSWORD: HeaderName = HeaderName::from_static("password");

const IP: HeaderName = HeaderName::from_static("ip");
const HELO: HeaderName = HeaderName::from_static("helo");
const FROM: HeaderName = HeaderName::from_static("from");
const RCPT: HeaderName = HeaderName::from_static("rcpt");
const QUEUE_ID: HeaderName = HeaderName::from_static("queue-id");
const TLS_VERSION: HeaderName = HeaderName::from_static("tls-version");
const TLS_CIPHER: HeaderName = HeaderName::from_static("tls-cipher");

/// Recipients are told up to so many bytes: rspamd closes the connection where a head has more than it reads.
const RECIPIENT_BYTES: usize = 32 * 1024;

/// The facts of a session, as far as they can stand in a header.
pub(crate) fn headers(facts: &SessionFacts, recipients: &[String], queue_id: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let mut add = |name: HeaderName, text: &str| {
        if let Some(value) = value(text) {
            headers.append(name, value);
        }
    };
    add(IP, &facts.peer.ip().to_canonical().to_string());
    add(HELO, &facts.helo);
    // Empty, it would say that the sender is not known, not that it is the null one (RFC 5321 section 4.5.5).
    add(
        FROM,
        Some(facts.reverse_path.as_str())
            .filter(|path| !path.is_empty())
            .unwrap_or("<>"),
    );
    let mut room = RECIPIENT_BYTES;
    for recipient in recipients {
        let Some(left) = room.checked_sub(recipient.len()) else {
            break;
        };
        room = left;
        add(RCPT, recipient);
    }
    add(QUEUE_ID, queue_id);
    if let Some(tls) = &facts.tls {
        add(TLS_VERSION, &tls.version);
        add(TLS_CIPHER, &tls.cipher);
    }
    headers
}

/// The value of the header of the password, which no `Debug` shows.
pub(crate) fn password(password: &str) -> Result<HeaderValue, SpamError> {
    let mut value = value(password).ok_or(SpamError::Password)?;
    value.set_sensitive(true);
    Ok(value)
}

/// UTF-8 is sent as it is; an empty text, and one with control characters, is nothing.
fn value(text: &str) -> Option<HeaderValue> {
    let is_plain = !text.is_empty() && !text.chars().any(char::is_control);
    is_plain.then(|| HeaderValue::from_bytes(text.as_bytes()).ok())?
}

#[cfg(test)]
mod tests {
    use restante_model::{Timestamp, TlsFacts};

    use super::*;

    fn facts() -> SessionFacts {
        SessionFacts {
            peer: "192.0.2.1:40000".parse().unwrap(),
            helo: "client.test".into(),
            protocol: "ESMTPS".into(),
            tls: Some(TlsFacts {
                version: "TLSv1.3".into(),
                cipher: "TLS_AES_256_GCM_SHA384".into(),
            }),
            reverse_path: "alice@sender.test".into(),
            forward_path: String::new(),
            received_at: Timestamp::from_unix_ms(0),
        }
    }

    fn shown(headers: &HeaderMap) -> Vec<String> {
        let lines = headers.iter().map(|(name, value)| {
            let value = std::str::from_utf8(value.as_bytes()).unwrap();
            format!("{name}: {value}")
        });
        lines.collect()
    }

    #[test]
    fn every_fact_has_its_header() {
        let to = ["bob@restante.test".to_owned(), "Postmaster".to_owned()];
        let expected = [
            "ip: 192.0.2.1",
            "helo: client.test",
            "from: alice@sender.test",
            "rcpt: bob@restante.test",
            "rcpt: Postmaster",
            "queue-id: msg_1",
            "tls-version: TLSv1.3",
            "tls-cipher: TLS_AES_256_GCM_SHA384",
        ];
        assert_eq!(shown(&headers(&facts(), &to, "msg_1")), expected);
    }

    #[test]
    fn what_cannot_stand_in_a_header_is_left_out() {
        for (helo, expected) in [
            ("", None),
            ("a\r\nIp: 127.0.0.1", None),
            ("a\nb", None),
            ("a\0b", None),
            ("a\tb", None),
            ("a\x7fb", None),
            ("a\u{85}b", None),
            ("jörg.test", Some("jörg.test")),
            ("[IPv6:2001:db8::1]", Some("[IPv6:2001:db8::1]")),
        ] {
            let facts = SessionFacts {
                helo: helo.into(),
                ..facts()
            };
            let headers = headers(&facts, &[], "");
            let sent = headers
                .get(HELO)
                .map(|value| std::str::from_utf8(value.as_bytes()).unwrap());
            assert_eq!(sent, expected, "{helo:?}");
            assert_eq!(headers.len(), 4 + usize::from(expected.is_some()), "{headers:?}");
        }
    }

    #[test]
    fn the_null_sender_is_told_and_an_address_has_one_spelling() {
        let facts = SessionFacts {
            peer: "[::ffff:192.0.2.1]:40000".parse().unwrap(),
            reverse_path: String::new(),
            tls: None,
            ..facts()
        };
        let headers = shown(&headers(&facts, &[], "q"));
        assert_eq!(
            headers,
            ["ip: 192.0.2.1", "helo: client.test", "from: <>", "queue-id: q"]
        );
    }

    #[test]
    fn recipients_are_told_as_long_as_there_is_room() {
        let to = vec!["r".repeat(1024); 33];
        for (count, told) in [(31, 31), (32, 32), (33, 32)] {
            let headers = headers(&facts(), &to[..count], "q");
            assert_eq!(headers.get_all(RCPT).iter().count(), told);
        }
    }

    #[test]
    fn a_password_is_hidden_or_refused() {
        let value = password("s€same").unwrap();
        assert_eq!(value.as_bytes(), "s€same".as_bytes());
        assert!(!format!("{value:?}").contains("same"));
        for bad in ["a\nb", "a\r", "\0"] {
            assert!(matches!(password(bad), Err(SpamError::Password)), "{bad:?}");
        }
    }
}
