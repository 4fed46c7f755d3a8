//! The terms of an SPF record, read strictly: mail-auth passes over mechanisms that it does not know, and over
//! the last digits of `ip4:192.0.2.999`, where RFC 7208 section 4.6 wants `permerror`.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// The first term that is neither a mechanism nor a modifier.
pub(super) fn malformed(record: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(record).ok()?;
    let mut terms = text.split(' ').skip(1).filter(|term| !term.is_empty());
    terms.find(|term| !is_modifier(term) && !is_mechanism(term))
}

/// A name, `=` and something: modifiers that are not known are for others (RFC 7208 section 6).
fn is_modifier(term: &str) -> bool {
    term.split_once('=').is_some_and(|(name, _)| {
        name.starts_with(|first: char| first.is_ascii_alphabetic())
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
    })
}

/// RFC 7208 section 5, with what each mechanism must or must not be given.
fn is_mechanism(term: &str) -> bool {
    let mechanism = term.strip_prefix(['+', '-', '~', '?']).unwrap_or(term);
    let end = mechanism.find([':', '/']).unwrap_or(mechanism.len());
    let (name, rest) = mechanism.split_at(end);
    let value = rest.strip_prefix(':');
    match name.to_ascii_lowercase().as_str() {
        "all" => rest.is_empty(),
        "include" | "exists" => value.is_some_and(|value| !value.is_empty()),
        "a" | "mx" | "ptr" => value != Some(""),
        "ip4" => value.is_some_and(|network| is_network::<Ipv4Addr>(network, 32)),
        "ip6" => value.is_some_and(|network| is_network::<Ipv6Addr>(network, 128)),
        _ => false,
    }
}

fn is_network<A: FromStr>(network: &str, bits: u8) -> bool {
    let (address, length) = network.split_once('/').unzip();
    let is_length = |length: &str| {
        length.bytes().all(|byte| byte.is_ascii_digit()) && length.parse().is_ok_and(|length: u8| length <= bits)
    };
    address.unwrap_or(network).parse::<A>().is_ok() && length.is_none_or(is_length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mechanisms_and_modifiers_pass() {
        for good in [
            "ip4:192.0.2.1",
            "-IP4:192.0.2.0/24",
            "ip6:2001:db8::/32",
            "~ip6:::1",
            "ip4:0.0.0.0/0",
            "a",
            "a/24",
            "a:mail.example/24//64",
            "MX",
            "?all",
            "include:%{d}.example",
            "exists:%{ir}.example",
            "redirect=example.test",
            "exp=why.%{d}",
            "unknown-modifier=a:b",
            "",
        ] {
            assert_eq!(malformed(format!("v=spf1 {good} -all").as_bytes()), None, "{good}");
        }
    }

    #[test]
    fn anything_else_is_named() {
        for bad in [
            "ip4:192.0.2.999",
            "ip4:192.0.2",
            "ip4:192.0.2.1/33",
            "?ip4:2001:db8::1",
            "ip6:192.0.2.1",
            "ip6:::1/129",
            "ip4:1.2.3.4/+8",
            "ip4",
            "include",
            "include:",
            "exists",
            "a:",
            "all:example",
            "--all",
            "postcard:example",
            "=x",
            "192.0.2.1",
        ] {
            assert_eq!(malformed(format!("v=spf1 {bad} -all").as_bytes()), Some(bad));
        }
    }
}
