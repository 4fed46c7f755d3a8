//! Which URLs are of this machine.

use std::net::{IpAddr, UdpSocket};

use url::{Host, Url};

use crate::http::is_local;

/// Whether a URL names this machine: by loopback, or by an address of one of its own.
pub(super) fn is_meant(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| is_local(&url) || is_own(&url))
}

/// A server may listen at one address of the network alone. Only an address of this machine can be taken; nothing is sent.
fn is_own(url: &Url) -> bool {
    let address: IpAddr = match url.host() {
        Some(Host::Ipv4(address)) => address.into(),
        Some(Host::Ipv6(address)) => address.into(),
        Some(Host::Domain(_)) | None => return false,
    };
    UdpSocket::bind((address, 0)).is_ok()
}
