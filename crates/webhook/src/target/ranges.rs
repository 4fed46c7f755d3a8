//! Which addresses are public.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};

/// Networks of IPv4 that no webhook may lead to, and what each is for.
///
/// Source: RFC 6890 and the IANA registry of special-purpose addresses; docs/spec/decisions.md, section 7.
const V4: [(Ipv4Net, &str); 16] = [
    v4([0, 0, 0, 0], 8, "this network"),
    v4([10, 0, 0, 0], 8, "private"),
    v4([100, 64, 0, 0], 10, "shared by carriers"),
    v4([127, 0, 0, 0], 8, "loopback"),
    // Where clouds hand out credentials, too.
    v4([169, 254, 0, 0], 16, "link-local"),
    v4([172, 16, 0, 0], 12, "private"),
    v4([192, 0, 0, 0], 24, "reserved for protocols"),
    v4([192, 0, 2, 0], 24, "documentation"),
    v4([192, 88, 99, 0], 24, "reserved for 6to4"),
    v4([192, 168, 0, 0], 16, "private"),
    v4([198, 18, 0, 0], 15, "benchmarking"),
    v4([198, 51, 100, 0], 24, "documentation"),
    v4([203, 0, 113, 0], 24, "documentation"),
    v4([224, 0, 0, 0], 4, "multicast"),
    v4([240, 0, 0, 0], 4, "reserved"),
    // Looks public; answers the machines of one cloud only, with facts about them.
    v4([168, 63, 129, 16], 32, "metadata of a cloud"),
];

/// The same of IPv6, the most specific first.
const V6: [(Ipv6Net, &str); 16] = [
    v6([0, 0, 0, 0, 0, 0, 0, 0], 128, "unspecified"),
    v6([0, 0, 0, 0, 0, 0, 0, 1], 128, "loopback"),
    v6([0, 0, 0, 0, 0, 0xffff, 0, 0], 96, "embedded IPv4"),
    v6([0, 0, 0, 0, 0, 0, 0, 0], 96, "embedded IPv4"),
    v6([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96, "embedded IPv4"),
    v6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48, "embedded IPv4"),
    v6([0x100, 0, 0, 0, 0, 0, 0, 0], 64, "discarded"),
    // Teredo is in it, whose addresses carry IPv4 ones.
    v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23, "reserved for protocols"),
    v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32, "documentation"),
    v6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16, "embedded IPv4"),
    v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20, "documentation"),
    v6([0x5f00, 0, 0, 0, 0, 0, 0, 0], 16, "segment routing"),
    v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7, "private"),
    v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10, "link-local"),
    v6([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10, "private"),
    v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8, "multicast"),
];

/// All that is assigned for use across the Internet (RFC 4291 section 2.4; IANA).
const GLOBAL_V6: Ipv6Net = Ipv6Net::new_assert(Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// What an address is for, if it is not public.
pub(super) fn not_public(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => V4.iter().find(|(net, _)| net.contains(&address)).map(|(_, what)| *what),
        IpAddr::V6(address) => {
            let special = V6.iter().find(|(net, _)| net.contains(&address)).map(|(_, what)| *what);
            let elsewhere = || (!GLOBAL_V6.contains(&address)).then_some("unassigned");
            special.or_else(elsewhere)
        }
    }
}

const fn v4(octets: [u8; 4], prefix: u8, what: &str) -> (Ipv4Net, &str) {
    (Ipv4Net::new_assert(Ipv4Addr::from_octets(octets), prefix), what)
}

const fn v6(segments: [u16; 8], prefix: u8, what: &str) -> (Ipv6Net, &str) {
    (Ipv6Net::new_assert(Ipv6Addr::from_segments(segments), prefix), what)
}
