//! Where to listen, and opening sockets there.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use rustix::io::Errno;
use rustix::net::sockopt::set_ipv6_v6only;
use tokio::net::{TcpListener, TcpSocket};

/// Connections that wait with the system until they are accepted.
const BACKLOG: u32 = 1024;
/// How often a port that is free for IPv4 is looked for that is free for IPv6, too.
const FREE_PORT_TRIES: usize = 16;

/// A host to listen on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListenHost {
    /// One address, or every one: `[::]` takes IPv4 as well.
    Address(IpAddr),
    /// Both loopback addresses, as far as the machine has them.
    Localhost,
}

/// A host and a port to listen on; port 0 takes any free one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListenAddress {
    /// The host.
    pub host: ListenHost,
    /// The port.
    pub port: u16,
}

impl ListenHost {
    /// Whether only this machine reaches it.
    pub fn is_loopback(self) -> bool {
        match self {
            Self::Address(address) => address.is_loopback(),
            Self::Localhost => true,
        }
    }
}

impl ListenAddress {
    /// Opens the sockets, at least one; all have the same port.
    ///
    /// # Errors
    /// When an address is not this machine's, a port is taken, or nobody may have it.
    pub fn bind(self) -> io::Result<Vec<TcpListener>> {
        match self.host {
            ListenHost::Address(IpAddr::V6(Ipv6Addr::UNSPECIFIED)) => Ok(vec![everywhere(self.port)?]),
            ListenHost::Address(address) => Ok(vec![socket(address, self.port)?]),
            ListenHost::Localhost => localhost(self.port),
        }
    }
}

impl fmt::Display for ListenHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(IpAddr::V4(address)) => write!(f, "{address}"),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
            Self::Localhost => f.write_str("localhost"),
        }
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// Every address of both kinds; of IPv4 alone where the machine has no IPv6, as many containers.
fn everywhere(port: u16) -> io::Result<TcpListener> {
    match socket(Ipv6Addr::UNSPECIFIED.into(), port) {
        Err(error) if has_no_ipv6(&error) => socket(Ipv4Addr::UNSPECIFIED.into(), port),
        outcome => outcome,
    }
}

fn localhost(port: u16) -> io::Result<Vec<TcpListener>> {
    let mut tries = FREE_PORT_TRIES;
    loop {
        let v4 = socket(Ipv4Addr::LOCALHOST.into(), port)?;
        match socket(Ipv6Addr::LOCALHOST.into(), v4.local_addr()?.port()) {
            Ok(v6) => return Ok(vec![v4, v6]),
            Err(error) if has_no_ipv6(&error) => return Ok(vec![v4]),
            // The free port of IPv4 is somebody else's of IPv6.
            Err(error) if port == 0 && tries > 0 && error.kind() == io::ErrorKind::AddrInUse => tries -= 1,
            Err(error) => return Err(error),
        }
    }
}

fn socket(address: IpAddr, port: u16) -> io::Result<TcpListener> {
    let socket = match address {
        IpAddr::V4(_) => TcpSocket::new_v4()?,
        IpAddr::V6(_) => TcpSocket::new_v6()?,
    };
    if address == IpAddr::V6(Ipv6Addr::UNSPECIFIED) {
        // The machine may be set to keep the kinds apart (net.ipv6.bindv6only).
        set_ipv6_v6only(&socket, false)?;
    }
    // A server that has just ended leaves connections that would keep its port.
    socket.set_reuseaddr(true)?;
    socket.bind(SocketAddr::new(address, port))?;
    socket.listen(BACKLOG)
}

/// Not compiled in, or switched off.
fn has_no_ipv6(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(Errno::AFNOSUPPORT | Errno::ADDRNOTAVAIL)
    )
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use super::*;

    fn sockets(host: ListenHost) -> (Vec<TcpListener>, u16) {
        let sockets = ListenAddress { host, port: 0 }.bind().unwrap();
        let port = sockets[0].local_addr().unwrap().port();
        (sockets, port)
    }

    fn is_reached(address: IpAddr, port: u16) -> bool {
        TcpStream::connect((address, port)).is_ok()
    }

    fn machine_has_ipv6() -> bool {
        std::net::TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok()
    }

    #[tokio::test]
    async fn every_address_is_of_both_kinds() {
        let (_sockets, port) = sockets(ListenHost::Address(Ipv6Addr::UNSPECIFIED.into()));
        assert!(is_reached(Ipv4Addr::LOCALHOST.into(), port));
        assert_eq!(is_reached(Ipv6Addr::LOCALHOST.into(), port), machine_has_ipv6());
    }

    #[tokio::test]
    async fn localhost_is_both_loopback_addresses() {
        let (sockets, port) = sockets(ListenHost::Localhost);
        assert!(is_reached(Ipv4Addr::LOCALHOST.into(), port));
        assert_eq!(is_reached(Ipv6Addr::LOCALHOST.into(), port), machine_has_ipv6());
        assert!(!is_reached(Ipv4Addr::new(127, 0, 0, 2).into(), port));
        assert!(sockets.iter().all(|socket| socket.local_addr().unwrap().port() == port));
    }

    #[tokio::test]
    async fn a_port_that_is_taken_is_refused() {
        let (_sockets, port) = sockets(ListenHost::Address(Ipv4Addr::LOCALHOST.into()));
        for host in [ListenHost::Localhost, ListenHost::Address(Ipv6Addr::UNSPECIFIED.into())] {
            let error = ListenAddress { host, port }.bind().unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AddrInUse, "{host}");
        }
    }

    #[test]
    fn addresses_are_shown_as_clients_spell_them() {
        let shown = |host, port| ListenAddress { host, port }.to_string();
        assert_eq!(
            shown(ListenHost::Address(Ipv4Addr::LOCALHOST.into()), 25),
            "127.0.0.1:25"
        );
        assert_eq!(shown(ListenHost::Address(Ipv6Addr::UNSPECIFIED.into()), 25), "[::]:25");
        assert_eq!(shown(ListenHost::Localhost, 0), "localhost:0");
    }
}
