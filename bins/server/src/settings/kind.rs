//! What a setting may hold: the text of a flag or variable becomes a [`Value`] or is refused.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use restante_ingest::IpNet;
use restante_model::Domain;
use url::Url;

use crate::listen::ListenHost;
use crate::secrets::ApiKey;

/// Characters of a [`Kind::Line`], at most: with the longest host name a greeting stays within the 512 octets of a
/// reply line (RFC 5321 section 4.5.3.1.5).
const LINE_MAX: usize = 200;
/// The port of a [`Kind::Server`] that names none: that of DNS.
const DNS_PORT: u16 = 53;

/// What a setting may hold.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// `true/1/yes/on` or `false/0/no/off`.
    Switch,
    /// A whole number within bounds, both included.
    Number {
        /// The least.
        min: u64,
        /// The greatest.
        max: u64,
    },
    /// A TCP port; 0 takes any free one.
    Port,
    /// A TCP port, where 0 takes any free one, or `off`.
    PortOrOff,
    /// An address to listen on: IPv4, IPv6 with or without brackets, or `localhost`.
    Host,
    /// One of some words.
    Choice(&'static [&'static str]),
    /// A domain name.
    Domain,
    /// Domain names with commas between them, at least one.
    Domains,
    /// Texts with commas between them; empty is an empty list.
    List,
    /// Networks in CIDR form, or single addresses, with commas between them; empty is an empty list.
    Networks,
    /// The address of a DNS server, with or without a port: IPv6 in brackets.
    Server,
    /// Printable ASCII on one line.
    Line,
    /// Where something answers over HTTP: a base that paths are added to.
    HttpUrl,
    /// A path of the file system.
    Path,
    /// An API key.
    ApiKey,
    /// A text that is never shown.
    Password,
}

/// What a setting holds. It has no `Debug`: passwords are among it.
#[derive(Clone, PartialEq)]
pub enum Value {
    /// Nothing: the setting has no value, or is `off`.
    Unset,
    /// A [`Kind::Switch`].
    Switch(bool),
    /// A [`Kind::Number`], [`Kind::Port`] or [`Kind::PortOrOff`].
    Number(u64),
    /// A [`Kind::Host`].
    Host(ListenHost),
    /// A [`Kind::Domain`] or [`Kind::Domains`].
    Domains(Vec<Domain>),
    /// A [`Kind::List`].
    List(Vec<String>),
    /// A [`Kind::Networks`].
    Networks(Vec<IpNet>),
    /// A [`Kind::Server`].
    Server(SocketAddr),
    /// A [`Kind::Choice`], [`Kind::Line`], [`Kind::HttpUrl`] or [`Kind::Password`].
    Text(String),
    /// A [`Kind::Path`].
    Path(PathBuf),
    /// A [`Kind::ApiKey`].
    ApiKey(ApiKey),
}

impl Kind {
    /// Whether values are kept out of every output.
    pub fn is_secret(self) -> bool {
        matches!(self, Self::ApiKey | Self::Password)
    }

    /// Whether a value that is not what was expected stays out of the error: a URL with a user has a password, perhaps.
    pub fn may_hold_secret(self, text: &str) -> bool {
        self.is_secret() || (matches!(self, Self::HttpUrl) && text.contains('@'))
    }

    /// What was expected, as error messages and the reference page say it.
    pub fn expected(self) -> String {
        match self {
            Self::Switch => "true, 1, yes, on, false, 0, no or off".into(),
            Self::Number { min, max } => format!("a number from {min} to {max}"),
            Self::Port => "a port from 0 to 65535 (0 takes any free one)".into(),
            Self::PortOrOff => "a port from 0 to 65535 (0 takes any free one), or off".into(),
            Self::Host => "an IPv4 or IPv6 address, or localhost".into(),
            Self::Choice(words) => alternatives(words),
            Self::Domain => "a domain name".into(),
            Self::Domains => "domain names with commas between them".into(),
            Self::List => "a list with commas between its entries".into(),
            Self::Networks => "networks such as 10.0.0.0/8 or addresses, with commas between them".into(),
            Self::Server => "an IPv4 or [IPv6] address, with :port or without".into(),
            Self::Line => format!("1 to {LINE_MAX} printable ASCII characters"),
            Self::HttpUrl => "an http:// or https:// URL without user, query and fragment".into(),
            Self::Path => "a path".into(),
            Self::ApiKey => format!("at least {} characters", ApiKey::MIN_CHARS),
            Self::Password => "a text that is not empty".into(),
        }
    }

    /// Reads a value; `None` when the text is not what is [`expected`](Self::expected).
    pub fn read(self, text: &str) -> Option<Value> {
        match self {
            Self::Switch => switch(text).map(Value::Switch),
            Self::Number { min, max } => number(text, min, max),
            Self::PortOrOff if text == "off" => Some(Value::Unset),
            Self::Port | Self::PortOrOff => number(text, 0, 65535),
            Self::Host => host(text).map(Value::Host),
            Self::Choice(words) => words.contains(&text).then(|| Value::Text(text.into())),
            Self::Domain => Some(Value::Domains(vec![Domain::parse(text).ok()?])),
            Self::Domains => domains(text).map(Value::Domains),
            Self::List => Some(Value::List(entries(text).map(String::from).collect())),
            Self::Networks => Some(Value::Networks(entries(text).map(network).collect::<Option<_>>()?)),
            Self::Server => server(text).map(Value::Server),
            Self::Line => is_line(text).then(|| Value::Text(text.into())),
            Self::HttpUrl => is_http_url(text).then(|| Value::Text(text.into())),
            Self::Path => (!text.is_empty()).then(|| Value::Path(text.into())),
            Self::ApiKey => Some(Value::ApiKey(ApiKey::parse(text).ok()?)),
            Self::Password => (!text.is_empty()).then(|| Value::Text(text.into())),
        }
    }
}

fn alternatives(words: &[&str]) -> String {
    match words {
        [most @ .., last] if !most.is_empty() => format!("{} or {last}", most.join(", ")),
        words => words.concat(),
    }
}

fn switch(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Some(true),
        "false" | "0" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// Digits only: no sign, no space, no unit.
fn number(text: &str, min: u64, max: u64) -> Option<Value> {
    if !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let number = text.parse().ok()?;
    (min..=max).contains(&number).then_some(Value::Number(number))
}

fn host(text: &str) -> Option<ListenHost> {
    if text == "localhost" {
        return Some(ListenHost::Localhost);
    }
    let address = bracketed(text).or_else(|| text.parse().ok());
    address.map(ListenHost::Address)
}

/// `[::1]`
fn bracketed(text: &str) -> Option<IpAddr> {
    let inside = text.strip_prefix('[')?.strip_suffix(']')?;
    inside.parse().ok().map(IpAddr::V6)
}

/// A network whose address has bits beyond its length is another one than was meant, or a mistake. One of IPv4 in the
/// clothes of IPv6 (RFC 4291 section 2.5.5.2) is shown as what it is, as are the addresses that it is compared with.
fn network(text: &str) -> Option<IpNet> {
    let network: IpNet = match text.parse::<IpAddr>() {
        Ok(address) => address.into(),
        Err(_) => text.parse().ok()?,
    };
    let mapped = match network.addr() {
        IpAddr::V6(address) => address.to_ipv4_mapped().zip(network.prefix_len().checked_sub(96)),
        IpAddr::V4(_) => None,
    };
    let network = match mapped {
        Some((address, length)) => IpNet::new(address.into(), length).ok()?,
        None => network,
    };
    (network == network.trunc()).then_some(network)
}

fn server(text: &str) -> Option<SocketAddr> {
    if let Ok(address) = text.parse() {
        return Some(address);
    }
    let v4 = || text.parse::<Ipv4Addr>().ok().map(IpAddr::V4);
    let address = bracketed(text).or_else(v4)?;
    Some(SocketAddr::new(address, DNS_PORT))
}

/// Each domain once, in the order of its first mention.
fn domains(text: &str) -> Option<Vec<Domain>> {
    let mut domains = Vec::new();
    for entry in text.split(',') {
        let domain = Domain::parse(entry.trim()).ok()?;
        if !domains.contains(&domain) {
            domains.push(domain);
        }
    }
    Some(domains)
}

fn entries(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|entry| !entry.is_empty())
}

fn is_http_url(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| {
        let is_http = matches!(url.scheme(), "http" | "https");
        let is_base = url.query().is_none() && url.fragment().is_none();
        is_http && is_base && url.username().is_empty() && url.password().is_none()
    })
}

fn is_line(text: &str) -> bool {
    (1..=LINE_MAX).contains(&text.len()) && text.bytes().all(|b| matches!(b, b' '..=b'~'))
}

impl Value {
    /// The value as a setting would spell it; secrets are hidden.
    pub fn shown(&self, kind: Kind) -> String {
        match self {
            Self::Unset if matches!(kind, Kind::PortOrOff) => "off".into(),
            Self::Unset => "(unset)".into(),
            _ if kind.is_secret() => "(hidden)".into(),
            Self::Switch(on) => on.to_string(),
            Self::Number(number) => number.to_string(),
            Self::Host(host) => host.to_string(),
            Self::Domains(domains) => domains.iter().map(Domain::as_str).collect::<Vec<_>>().join(","),
            Self::List(entries) => listed(entries),
            Self::Networks(networks) => listed(networks),
            Self::Server(address) => address.to_string(),
            Self::Text(text) => text.clone(),
            Self::Path(path) => path.display().to_string(),
            Self::ApiKey(_) => "(hidden)".into(),
        }
    }
}

fn listed<T: ToString>(entries: &[T]) -> String {
    match entries {
        [] => "(empty)".into(),
        entries => entries.iter().map(T::to_string).collect::<Vec<_>>().join(","),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Kind = Kind::Number { min: 2, max: 10 };
    const WORDS: Kind = Kind::Choice(&["red", "green"]);

    #[test]
    fn each_kind_reads_its_spellings() {
        let key = "k".repeat(32);
        for (kind, text, shown) in [
            (Kind::Switch, "true", "true"),
            (Kind::Switch, "1", "true"),
            (Kind::Switch, "YES", "true"),
            (Kind::Switch, "on", "true"),
            (Kind::Switch, "False", "false"),
            (Kind::Switch, "0", "false"),
            (Kind::Switch, "no", "false"),
            (Kind::Switch, "off", "false"),
            (SMALL, "2", "2"),
            (SMALL, "10", "10"),
            (SMALL, "007", "7"),
            (Kind::Port, "0", "0"),
            (Kind::Port, "65535", "65535"),
            (Kind::PortOrOff, "off", "off"),
            (Kind::PortOrOff, "465", "465"),
            (Kind::PortOrOff, "0", "0"),
            (Kind::Host, "127.0.0.1", "127.0.0.1"),
            (Kind::Host, "[::]", "[::]"),
            (Kind::Host, "::1", "[::1]"),
            (Kind::Host, "localhost", "localhost"),
            (WORDS, "green", "green"),
            (Kind::Domain, "Mail.Example.test", "mail.example.test"),
            (Kind::Domains, "a.test, B.test,a.TEST", "a.test,b.test"),
            (Kind::List, "", "(empty)"),
            (Kind::List, "a, b,,c ", "a,b,c"),
            (Kind::Networks, "", "(empty)"),
            (Kind::Networks, "10.0.0.0/8, fd00::/8,", "10.0.0.0/8,fd00::/8"),
            (Kind::Networks, "192.0.2.1,::1", "192.0.2.1/32,::1/128"),
            (
                Kind::Networks,
                "::ffff:10.0.0.0/104,::ffff:192.0.2.1",
                "10.0.0.0/8,192.0.2.1/32",
            ),
            (Kind::Networks, "::ffff:0:0/96,::/0", "0.0.0.0/0,::/0"),
            (Kind::Server, "192.0.2.53:5353", "192.0.2.53:5353"),
            (Kind::Server, "192.0.2.53", "192.0.2.53:53"),
            (Kind::Server, "[::1]:5353", "[::1]:5353"),
            (Kind::Server, "[::1]", "[::1]:53"),
            (Kind::Line, "hello there", "hello there"),
            (Kind::HttpUrl, "http://[::1]:11333/base", "http://[::1]:11333/base"),
            (Kind::Path, "./data", "./data"),
            (Kind::ApiKey, key.as_str(), "(hidden)"),
            (Kind::Password, "x", "(hidden)"),
        ] {
            let value = kind.read(text).unwrap_or_else(|| panic!("{kind:?} {text:?}"));
            assert_eq!(value.shown(kind), shown, "{kind:?} {text:?}");
        }
    }

    #[test]
    fn each_kind_refuses_everything_else() {
        let long = "x".repeat(LINE_MAX + 1);
        let short_key = "k".repeat(31);
        for (kind, text) in [
            (Kind::Switch, ""),
            (Kind::Switch, "2"),
            (Kind::Switch, "enabled"),
            (Kind::Switch, " true"),
            (SMALL, ""),
            (SMALL, "1"),
            (SMALL, "11"),
            (SMALL, "+5"),
            (SMALL, "-5"),
            (SMALL, "5 "),
            (SMALL, "5s"),
            (SMALL, "5.0"),
            (SMALL, "99999999999999999999999"),
            (Kind::Port, "65536"),
            (Kind::PortOrOff, "65536"),
            (Kind::PortOrOff, "Off"),
            (Kind::Host, ""),
            (Kind::Host, "[127.0.0.1]"),
            (Kind::Host, "[::1"),
            (Kind::Host, "example.test"),
            (Kind::Host, "127.0.0.1:25"),
            (WORDS, "Red"),
            (WORDS, ""),
            (Kind::Domain, "a_b.test"),
            (Kind::Domain, "a.test,b.test"),
            (Kind::Domains, ""),
            (Kind::Domains, "a.test,"),
            (Kind::Domains, "a@b.test"),
            (Kind::Networks, "10.0.0.0/33"),
            (Kind::Networks, "10.0.0.1/8"),
            (Kind::Networks, "::ffff:10.0.0.1/104"),
            (Kind::Networks, "::ffff:10.0.0.0/90"),
            (Kind::Networks, "10.0.0.0/8;::1"),
            (Kind::Networks, "localhost"),
            (Kind::Server, ""),
            (Kind::Server, "::1"),
            (Kind::Server, "[192.0.2.1]"),
            (Kind::Server, "dns.example.test:53"),
            (Kind::Server, "192.0.2.53:65536"),
            (Kind::Server, ":53"),
            (Kind::HttpUrl, ""),
            (Kind::HttpUrl, "localhost:11333"),
            (Kind::HttpUrl, "ftp://localhost"),
            (Kind::HttpUrl, "http://user@localhost"),
            (Kind::HttpUrl, "http://localhost/?a"),
            (Kind::Line, ""),
            (Kind::Line, "two\r\nlines"),
            (Kind::Line, "caf\u{e9}"),
            (Kind::Line, long.as_str()),
            (Kind::Path, ""),
            (Kind::ApiKey, short_key.as_str()),
            (Kind::Password, ""),
        ] {
            assert!(kind.read(text).is_none(), "{kind:?} {text:?}");
        }
    }

    #[test]
    fn expectations_name_the_bounds_and_the_words() {
        assert_eq!(SMALL.expected(), "a number from 2 to 10");
        assert_eq!(WORDS.expected(), "red or green");
        assert_eq!(Kind::Choice(&["a", "b", "c"]).expected(), "a, b or c");
        assert_eq!(Kind::Choice(&["a"]).expected(), "a");
        assert_eq!(Kind::ApiKey.expected(), "at least 32 characters");
    }
}
