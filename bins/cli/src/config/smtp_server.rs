//! Where mail is delivered: `host:port`, or a URL of SMTP.

use std::fmt;

/// A mail server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SmtpServer {
    /// A name or an address; without brackets.
    pub(crate) host: String,
    /// The port.
    pub(crate) port: u16,
    /// Whether TLS begins at once (`smtps://`).
    pub(crate) implicit_tls: bool,
}

impl SmtpServer {
    /// Reads `host:port`, `smtp://host:port` or `smtps://host:port`; an IPv6 address stands in brackets.
    ///
    /// # Errors
    /// What is expected.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        const EXPECTED: &str = "a mail server such as 127.0.0.1:2525, [::1]:2525 or smtps://mail.example.test:465";
        let (implicit_tls, rest) = match text.split_once("://") {
            Some(("smtps", rest)) => (true, rest),
            Some(("smtp", rest)) => (false, rest),
            Some(_) => return Err(EXPECTED),
            None => (false, text),
        };
        let (host, port) = rest.trim_end_matches('/').rsplit_once(':').ok_or(EXPECTED)?;
        let host = match host.strip_prefix('[') {
            Some(address) => address.strip_suffix(']').ok_or(EXPECTED)?,
            None if host.contains(':') => return Err(EXPECTED),
            None => host,
        };
        let port = port.parse().ok().filter(|port| *port != 0).ok_or(EXPECTED)?;
        let is_host = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '%');
        if host.is_empty() || !host.chars().all(is_host) {
            return Err(EXPECTED);
        }
        Ok(Self {
            host: host.to_owned(),
            port,
            implicit_tls,
        })
    }
}

impl fmt::Display for SmtpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.implicit_tls { "smtps://" } else { "" };
        if self.host.contains(':') {
            write!(f, "{scheme}[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{scheme}{}:{}", self.host, self.port)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_a_host_and_a_port() {
        for (text, host, port, implicit_tls) in [
            ("127.0.0.1:2525", "127.0.0.1", 2525, false),
            ("[::1]:25", "::1", 25, false),
            ("mail.test:25", "mail.test", 25, false),
            ("smtps://mail.test:465", "mail.test", 465, true),
            ("smtps://[::1]:465", "::1", 465, true),
        ] {
            let server = SmtpServer::parse(text).unwrap();
            assert_eq!(
                (server.host.as_str(), server.port, server.implicit_tls),
                (host, port, implicit_tls),
                "{text}"
            );
            assert_eq!(server.to_string(), text);
        }
        assert_eq!(SmtpServer::parse("smtp://a:1/").unwrap().to_string(), "a:1");
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "host",
            "host:",
            ":25",
            "host:0",
            "host:65536",
            "host:x",
            "::1:25",
            "[::1:25",
            "http://a:25",
            "a b:25",
            "a/b:25",
            "user@a:25",
        ] {
            assert!(SmtpServer::parse(text).is_err(), "{text}");
        }
    }
}
