//! The `Received:` field that `raw` shows on top of a message.

use std::net::IpAddr;

use restante_model::{SessionFacts, TlsFacts};

/// Octets of a name that are shown: a domain has no more (RFC 5321 section 4.5.3.1.2).
const TOKEN_MAX: usize = 255;

/// Octets of a path that are shown: a longest local part, the `@` and a longest domain fit, so whole paths always do.
const PATH_MAX: usize = 400;

/// The trace field of a message, folded and ended with CRLF, made from what its session knew.
///
/// It stands only in what `raw` returns: the stored bytes stay as they came.
/// Control characters and what would break out of a clause are left out of every value, whoever made `facts`, and no
/// line is longer than the 998 octets of RFC 5322.
/// A message whose first byte is a space or a tab reads as a fold of this field, as it would of any other: the field
/// still ends where the message begins, and nothing between the two could be right and leave the bytes as they came.
///
/// Source: RFC 5321 section 4.4, with the protocol keyword of RFC 3848; the encryption and the reverse-path, for which
/// it has no clause, are comments as mail servers write them.
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
    let sender = comment(&path(&facts.reverse_path));
    let date = facts.received_at.rfc5322();
    format!(
        "Received: from {helo} ({literal})\r\n\tby {by} with {protocol}{tls}\r\n\tid {id}\r\n\tfor <{recipient}>\r\n\t\
         (envelope-from <{sender}>); {date}\r\n"
    )
}

fn tls_comment(tls: &TlsFacts) -> String {
    format!("\r\n\t({} {})", token(&tls.version), token(&tls.cipher))
}

/// A value without white space, control characters and the characters that end a clause; `unknown` if nothing is left.
fn token(value: &str) -> String {
    let kept = value
        .chars()
        .filter(|c| !c.is_whitespace() && !c.is_control() && !"()<>;,\\\"".contains(*c));
    let kept = start(kept, TOKEN_MAX);
    if kept.is_empty() { "unknown".into() } else { kept }
}

/// An address between angle brackets: a quoted local part may have spaces, nothing may have control characters.
fn path(value: &str) -> String {
    let kept = value.chars().filter(|c| !c.is_control() && !"<>".contains(*c));
    start(kept, PATH_MAX)
}

/// A text inside a comment, where brackets and backslashes are quoted pairs (RFC 5322 section 3.2.2).
fn comment(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '(' | ')' | '\\') {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted
}

/// The characters that fit into so many octets.
fn start(characters: impl Iterator<Item = char>, octets_max: usize) -> String {
    let mut octets = 0;
    characters
        .take_while(|c| {
            octets += c.len_utf8();
            octets <= octets_max
        })
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
             (TLSv1.3 TLS_AES_256_GCM_SHA384)\r\n\tid msg_1\r\n\tfor <Bob+tag@restante.test>\r\n\t\
             (envelope-from <app@client.test>); Sun, 25 Jan 2026 11:41:16 +0000\r\n"
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

    fn sender(reverse_path: &str) -> String {
        let reverse_path = reverse_path.into();
        let field = trace(
            &SessionFacts {
                reverse_path,
                ..facts()
            },
            "mx",
            "msg_1",
        );
        let (_, comment) = field.split_once("\r\n\t(envelope-from <").unwrap();
        comment.rsplit_once(">); ").unwrap().0.to_owned()
    }

    #[test]
    fn the_reverse_path_is_a_comment_that_nothing_in_it_can_end() {
        for (reverse_path, shown) in [
            ("", ""),
            ("a+b=c@client.test", "a+b=c@client.test"),
            ("jörg@bücher.test", "jörg@bücher.test"),
            (r#""a (b) \" c"@client.test"#, r#""a \(b\) \\" c"@client.test"#),
            ("a)b(@client.test", r"a\)b\(@client.test"),
            ("a>); x\r\nBcc: y\0@z", r"a\); xBcc: y@z"),
        ] {
            assert_eq!(sender(reverse_path), shown, "{reverse_path:?}");
        }
    }

    #[test]
    fn longest_paths_are_whole_and_no_line_is_too_long() {
        let longest = format!("{}@{}", "(".repeat(64), "d".repeat(255));
        assert_eq!(sender(&longest).replace('\\', ""), longest);
        let endless = "é(".repeat(5000);
        let facts = SessionFacts {
            helo: endless.clone(),
            reverse_path: endless.clone(),
            forward_path: endless.clone(),
            ..facts()
        };
        let field = trace(&facts, &endless, &endless);
        assert!(field.split("\r\n").all(|line| line.len() <= 998), "{field}");
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
            reverse_path: "x>)\r\nBcc: y\0@z".into(),
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
