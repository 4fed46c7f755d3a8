//! The `Received:` field that `raw` shows on top of a message.

use std::net::IpAddr;

use restante_model::{SessionFacts, TlsFacts};

/// The trace field of a message, folded and ended with CRLF, made from what its session knew.
///
/// It stands only in what `raw` returns: the stored bytes stay as they came.
/// Control characters and what would break out of a clause are left out of every value, whoever made `facts`.
///
/// Source: RFC 5321 section 4.4, with the protocol keyword of RFC 3848; the encryption is a comment.
pub fn trace(facts: &SessionFacts, hostname: &str, id: &str) -> String {
    let helo = token(&facts.helo);
    let literal = match facts.peer.ip().to_canonical() {
        IpAddr::V4(ip) => format!("[{ip}]"),
        IpAddr::V6(ip) => format!("[IPv6:{ip}]"),
    };
    let by = token(hostname);
    let protocol = token(&facts.protocol);
    let tls = facts.tls.as_ref().map(tls_comment).unwrap_or_default();
    let id = token(id);
    let recipient = path(&facts.forward_path);
    let date = facts.received_at.rfc5322();
    format!(
        "Received: from {helo} ({literal})\r\n\tby {by} with {protocol}{tls}\r\n\tid {id}\r\n\tfor <{recipient}>; {date}\r\n"
    )
}

fn tls_comment(tls: &TlsFacts) -> String {
    format!("\r\n\t({} {})", token(&tls.version), token(&tls.cipher))
}

/// A value without white space, control characters and the characters that end a clause; `unknown` if nothing is left.
fn token(value: &str) -> String {
    let kept: String = value
        .chars()
        .filter(|c| !c.is_whitespace() && !c.is_control() && !"()<>;,\\\"".contains(*c))
        .collect();
    if kept.is_empty() { "unknown".into() } else { kept }
}

/// An address between angle brackets: a quoted local part may have spaces, nothing may have control characters.
fn path(value: &str) -> String {
    value
        .chars()
        .filter(|c| !c.is_control() && !"<>".contains(*c))
        .collect()
}

#[cfg(test)]
mod tests {
    use restante_model::Timestamp;

    use super::*;

    fn facts() -> SessionFacts {
        SessionFacts {
            peer: "192.0.2.7:40000".parse().unwrap(),
            helo: "client.test".into(),
            protocol: "ESMTPS".into(),
            tls: Some(TlsFacts {
                version: "TLSv1.3".into(),
                cipher: "TLS_AES_256_GCM_SHA384".into(),
            }),
            reverse_path: "app@client.test".into(),
            forward_path: "Bob+tag@restante.test".into(),
            received_at: Timestamp::from_unix_ms(1_769_341_276_000),
        }
    }

    #[test]
    fn the_field_has_all_clauses() {
        assert_eq!(
            trace(&facts(), "mail.restante.test", "msg_1"),
            "Received: from client.test ([192.0.2.7])\r\n\tby mail.restante.test with ESMTPS\r\n\t\
             (TLSv1.3 TLS_AES_256_GCM_SHA384)\r\n\tid msg_1\r\n\tfor <Bob+tag@restante.test>; \
             Sun, 25 Jan 2026 11:41:16 +0000\r\n"
        );
    }

    #[test]
    fn without_tls_there_is_no_comment_and_ipv6_is_a_tagged_literal() {
        let facts = SessionFacts {
            peer: "[2001:db8::1]:25".parse().unwrap(),
            helo: "[IPv6:2001:db8::1]".into(),
            protocol: "SMTP".into(),
            tls: None,
            ..facts()
        };
        let field = trace(&facts, "mx", "msg_1");
        assert!(
            field.starts_with("Received: from [IPv6:2001:db8::1] ([IPv6:2001:db8::1])\r\n\tby mx with SMTP\r\n\tid")
        );
    }

    #[test]
    fn a_mapped_peer_is_shown_as_ipv4() {
        let facts = SessionFacts {
            peer: "[::ffff:192.0.2.7]:25".parse().unwrap(),
            ..facts()
        };
        assert!(trace(&facts, "mx", "msg_1").contains("([192.0.2.7])"));
    }

    #[test]
    fn nothing_given_can_add_a_line_or_a_clause() {
        let nasty = "a\r\nX-Evil: 1\0 (x) ; b";
        let tls = TlsFacts {
            version: nasty.into(),
            cipher: nasty.into(),
        };
        let facts = SessionFacts {
            helo: nasty.into(),
            protocol: nasty.into(),
            tls: Some(tls),
            forward_path: "x>\r\nBcc: y\0@z".into(),
            ..facts()
        };
        let field = trace(&facts, nasty, nasty);
        assert!(!field.contains('\0'));
        for line in field.strip_suffix("\r\n").unwrap().split("\r\n").skip(1) {
            assert!(line.starts_with('\t') && !line.contains(['\r', '\n']), "{line:?}");
        }
        assert_eq!(field.matches(';').count(), 1);
        assert_eq!(
            trace(
                &SessionFacts {
                    helo: "\0".into(),
                    ..facts
                },
                "mx",
                "i"
            )
            .matches("from unknown (")
            .count(),
            1
        );
    }
}
