//! Networks of addresses, as the mechanisms `ip4`, `ip6`, `a` and `mx` write them (RFC 7208 sections 5.3 to 5.6).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Bits of an IPv4 address.
const V4_BITS: u8 = 32;
/// Bits of an IPv6 address.
const V6_BITS: u8 = 128;

/// An address and how many of its first bits count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Network {
    address: IpAddr,
    length: u8,
}

impl Network {
    /// `ip4-network [ ip4-cidr-length ]`.
    pub(super) fn parse_v4(text: &str) -> Option<Self> {
        let (address, length) = split(text, V4_BITS)?;
        let address = address.parse::<Ipv4Addr>().ok()?.into();
        Some(Self { address, length })
    }

    /// `ip6-network [ ip6-cidr-length ]`.
    pub(super) fn parse_v6(text: &str) -> Option<Self> {
        let (address, length) = split(text, V6_BITS)?;
        let address = address.parse::<Ipv6Addr>().ok()?.into();
        Some(Self { address, length })
    }

    /// Whether an address lies in it; one of the other family never does.
    pub(super) fn contains(&self, ip: IpAddr) -> bool {
        match (self.address, ip) {
            (IpAddr::V4(ours), IpAddr::V4(theirs)) => {
                let differs = u32::from(ours) ^ u32::from(theirs);
                differs.leading_zeros() >= u32::from(self.length)
            }
            (IpAddr::V6(ours), IpAddr::V6(theirs)) => {
                let differs = u128::from(ours) ^ u128::from(theirs);
                differs.leading_zeros() >= u32::from(self.length)
            }
            _ => false,
        }
    }
}

/// How many bits count of the addresses that a name has, by family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lengths {
    v4: u8,
    v6: u8,
}

impl Lengths {
    /// Takes a `dual-cidr-length` off the end of a term: `/24`, `//64` or `/24//64`; all bits count without one.
    ///
    /// None if what looks like a length is none; a slash without digits is left to the domain.
    pub(super) fn split_off(text: &str) -> Option<(&str, Self)> {
        let (text, v6) = match last_length(text) {
            Some((before, digits)) if before.ends_with('/') => {
                (&before[..before.len() - 1], parse_length(digits, V6_BITS)?)
            }
            _ => (text, V6_BITS),
        };
        let (text, v4) = match last_length(text) {
            Some((before, digits)) => (before, parse_length(digits, V4_BITS)?),
            None => (text, V4_BITS),
        };
        Some((text, Self { v4, v6 }))
    }

    /// The network around an address.
    pub(super) fn around(self, address: IpAddr) -> Network {
        let length = if address.is_ipv4() { self.v4 } else { self.v6 };
        Network { address, length }
    }
}

/// The digits after the last slash, and what is before it.
fn last_length(text: &str) -> Option<(&str, &str)> {
    text.rsplit_once('/')
        .filter(|(_, digits)| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

fn split(text: &str, bits: u8) -> Option<(&str, u8)> {
    match text.split_once('/') {
        Some((address, length)) => Some((address, parse_length(length, bits)?)),
        None => Some((text, bits)),
    }
}

/// A number without a sign or leading zeros, up to `bits`.
fn parse_length(digits: &str, bits: u8) -> Option<u8> {
    let canonical = digits == "0" || digits.starts_with(|first: char| matches!(first, '1'..='9'));
    let length = digits.parse().ok().filter(|length| *length <= bits);
    length.filter(|_| canonical)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_lies_in_networks_of_its_own_family() {
        let v4 = |text| Network::parse_v4(text).expect("a network");
        let v6 = |text| Network::parse_v6(text).expect("a network");
        for (network, ip, contained) in [
            (v4("192.0.2.10"), "192.0.2.10", true),
            (v4("192.0.2.10"), "192.0.2.11", false),
            (v4("192.0.2.0/24"), "192.0.2.255", true),
            (v4("192.0.2.0/24"), "192.0.3.0", false),
            (v4("192.0.2.0/0"), "8.8.8.8", true),
            (v4("0.0.0.0/0"), "::1", false),
            (v6("2001:db8::/32"), "2001:db8:ffff::1", true),
            (v6("2001:db8::/32"), "2001:db9::1", false),
            (v6("::/0"), "2001:db8::1", true),
            (v6("::/0"), "192.0.2.10", false),
            (v6("::ffff:0:0/96"), "192.0.2.10", false),
        ] {
            let ip = ip.parse().expect("an address");
            assert_eq!(network.contains(ip), contained, "{network:?} {ip}");
        }
    }

    #[test]
    fn what_is_no_network_is_refused() {
        for text in [
            "",
            "192.0.2",
            "192.0.2.999",
            "192.0.2.010",
            "192.0.2.1/33",
            "192.0.2.1/",
            "192.0.2.1/032",
            "192.0.2.1/+8",
            "192.0.2.1//32",
            "192.0.2.1:25",
            "2001:db8::1",
        ] {
            assert_eq!(Network::parse_v4(text), None, "{text}");
        }
        for text in ["", "g", "192.0.2.1", "::1/129", "::1/", "::1/064", "::1%eth0"] {
            assert_eq!(Network::parse_v6(text), None, "{text}");
        }
    }

    #[test]
    fn lengths_come_off_the_end() {
        let lengths = |v4, v6| Lengths { v4, v6 };
        for (text, expected) in [
            ("", Some(("", lengths(32, 128)))),
            ("/24", Some(("", lengths(24, 128)))),
            ("//64", Some(("", lengths(32, 64)))),
            (":a.test/24//64", Some((":a.test", lengths(24, 64)))),
            (":a.test/0//0", Some((":a.test", lengths(0, 0)))),
            (":a/b.test", Some((":a/b.test", lengths(32, 128)))),
            (":a.test/", Some((":a.test/", lengths(32, 128)))),
            (":a.test/24//", Some((":a.test/24//", lengths(32, 128)))),
            (":a.test/33", None),
            (":a.test/032", None),
            (":a.test//129", None),
            (":a.test/00", None),
            (":a.test/24/64", None),
        ] {
            assert_eq!(Lengths::split_off(text), expected, "{text}");
        }
    }
}
