//! The header of the PROXY protocol, version 2: a proxy says for whom it speaks.
//!
//! Written here because no library reads it from a stream without reading beyond it (docs/adr/0012): what follows, SMTP
//! or a TLS handshake, is left to its own reader.
//!
//! Source: section 2.2 of <https://www.haproxy.org/download/3.0/doc/proxy-protocol.txt>.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::io::{AsyncRead, AsyncReadExt as _};

const SIGNATURE: [u8; 12] = *b"\r\n\r\n\0\r\nQUIT\n";

/// Version 2 and the command, in one byte.
const LOCAL: u8 = 0x20;
const PROXY: u8 = 0x21;

/// Address family and transport, in one byte.
const UNSPEC: u8 = 0x00;
const TCP_OVER_IPV4: u8 = 0x11;
const TCP_OVER_IPV6: u8 = 0x21;
const UNIX_STREAM: u8 = 0x31;

/// Why there is no header.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProxyError {
    #[error("the connection ended before it did")]
    Read(#[from] io::Error),
    #[error("the first bytes are none of it")]
    Signature,
    #[error("it is of another version, or has an unknown command")]
    Version,
    #[error("it is not about TCP")]
    Transport,
    #[error("it is too short for its addresses")]
    Length,
}

/// Reads a header; the address of the client, unless the proxy speaks for itself or does not know.
pub(crate) async fn read_header<S: AsyncRead + Unpin>(stream: &mut S) -> Result<Option<SocketAddr>, ProxyError> {
    let mut signature = [0; SIGNATURE.len()];
    stream.read_exact(&mut signature).await?;
    if signature != SIGNATURE {
        return Err(ProxyError::Signature);
    }
    let (command, transport, length) = (
        stream.read_u8().await?,
        stream.read_u8().await?,
        stream.read_u16().await?,
    );
    let mut rest = stream.take(u64::from(length));
    let client = match (command, transport) {
        // A health check of the proxy: whatever else the header says is to be ignored.
        (LOCAL, _) | (PROXY, UNSPEC | UNIX_STREAM) => None,
        (PROXY, TCP_OVER_IPV4) if length >= 12 => Some(ipv4_source(&mut rest).await?),
        (PROXY, TCP_OVER_IPV6) if length >= 36 => Some(ipv6_source(&mut rest).await?),
        (PROXY, TCP_OVER_IPV4 | TCP_OVER_IPV6) => return Err(ProxyError::Length),
        (PROXY, _) => return Err(ProxyError::Transport),
        _ => return Err(ProxyError::Version),
    };
    // Extensions (type-length-value), at most 64 KiB by the field of their length.
    tokio::io::copy(&mut rest, &mut tokio::io::sink()).await?;
    match rest.limit() {
        0 => Ok(client),
        _ => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
    }
}

/// The source of: two addresses, two ports.
async fn ipv4_source<R: AsyncRead + Unpin>(header: &mut R) -> io::Result<SocketAddr> {
    let (ip, _destination) = (header.read_u32().await?, header.read_u32().await?);
    let (port, _destination) = (header.read_u16().await?, header.read_u16().await?);
    Ok(SocketAddr::from((Ipv4Addr::from_bits(ip), port)))
}

/// The same for IPv6; an IPv4 address in its clothes is shown as what it is.
async fn ipv6_source<R: AsyncRead + Unpin>(header: &mut R) -> io::Result<SocketAddr> {
    let (ip, _destination) = (header.read_u128().await?, header.read_u128().await?);
    let (port, _destination) = (header.read_u16().await?, header.read_u16().await?);
    Ok(SocketAddr::new(Ipv6Addr::from_bits(ip).to_canonical(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header: command, transport, and what its length counts.
    fn header(command: u8, transport: u8, rest: &[u8]) -> Vec<u8> {
        let length = u16::try_from(rest.len()).unwrap().to_be_bytes();
        [&SIGNATURE[..], &[command, transport], &length, rest].concat()
    }

    /// Addresses of 203.0.113.7:40000, to 192.0.2.1:25.
    const IPV4: [u8; 12] = [203, 0, 113, 7, 192, 0, 2, 1, 0x9c, 0x40, 0, 25];

    fn ipv6(source: &str) -> Vec<u8> {
        let (source, destination): (Ipv6Addr, Ipv6Addr) = (source.parse().unwrap(), "2001:db8::25".parse().unwrap());
        [&source.octets()[..], &destination.octets(), &[0x9c, 0x40, 0, 25]].concat()
    }

    /// What a header says, and what is left after it.
    async fn read(wire: &[u8]) -> (Result<Option<SocketAddr>, ProxyError>, usize) {
        let mut stream = wire;
        (read_header(&mut stream).await, stream.len())
    }

    #[tokio::test]
    async fn a_client_is_named_and_nothing_beyond_the_header_is_read() {
        let mapped = ipv6("::ffff:203.0.113.7");
        for (transport, rest, client) in [
            (TCP_OVER_IPV4, IPV4.to_vec(), "203.0.113.7:40000"),
            (
                TCP_OVER_IPV4,
                [&IPV4[..], b"\x04\x00\x01x"].concat(),
                "203.0.113.7:40000",
            ),
            (
                TCP_OVER_IPV4,
                [&IPV4[..], &b"\0".repeat(65_523)].concat(),
                "203.0.113.7:40000",
            ),
            (TCP_OVER_IPV6, ipv6("2001:db8::7"), "[2001:db8::7]:40000"),
            (
                TCP_OVER_IPV6,
                [&ipv6("2001:db8::7")[..], &[9; 300]].concat(),
                "[2001:db8::7]:40000",
            ),
            (TCP_OVER_IPV6, mapped, "203.0.113.7:40000"),
        ] {
            let wire = [&header(PROXY, transport, &rest)[..], b"EHLO x\r\n"].concat();
            let (read, left) = read(&wire).await;
            assert_eq!((read.unwrap(), left), (Some(client.parse().unwrap()), 8));
        }
    }

    #[tokio::test]
    async fn a_proxy_may_speak_for_itself() {
        for (command, transport, rest) in [
            (LOCAL, UNSPEC, &b""[..]),
            (LOCAL, TCP_OVER_IPV4, &IPV4),
            (LOCAL, 0xff, b"whatever"),
            (PROXY, UNSPEC, b""),
            (PROXY, UNSPEC, b"\x04\x00\x01x"),
            (PROXY, UNIX_STREAM, &[b'/'; 216]),
        ] {
            let wire = [&header(command, transport, rest)[..], b"EHLO x\r\n"].concat();
            let (read, left) = read(&wire).await;
            assert_eq!((read.unwrap(), left), (None, 8), "{command:x} {transport:x}");
        }
    }

    #[tokio::test]
    async fn each_fault_has_its_error() {
        let whole = header(PROXY, TCP_OVER_IPV4, &IPV4);
        for (wire, expected) in [
            (&b"EHLO client.test\r\n"[..], "the first bytes are none of it"),
            (
                b"PROXY TCP4 203.0.113.7 192.0.2.1 40000 25\r\n",
                "the first bytes are none of it",
            ),
            (
                &header(0x11, TCP_OVER_IPV4, &IPV4),
                "it is of another version, or has an unknown command",
            ),
            (
                &header(0x22, TCP_OVER_IPV4, &IPV4),
                "it is of another version, or has an unknown command",
            ),
            (&header(PROXY, 0x12, &IPV4), "it is not about TCP"),
            (&header(PROXY, 0x41, &IPV4), "it is not about TCP"),
            (
                &header(PROXY, TCP_OVER_IPV4, &IPV4[..11]),
                "it is too short for its addresses",
            ),
            (
                &header(PROXY, TCP_OVER_IPV6, &IPV4),
                "it is too short for its addresses",
            ),
            (&whole[..whole.len() - 1], "the connection ended before it did"),
            (
                &header(LOCAL, UNSPEC, b"four")[..18],
                "the connection ended before it did",
            ),
            (b"", "the connection ended before it did"),
        ] {
            let (read, _) = read(wire).await;
            assert_eq!(read.unwrap_err().to_string(), expected, "{}", wire.escape_ascii());
        }
    }
}
