//! What the letters of macros stand for (RFC 7208 sections 7.2 and 7.3).

use std::net::IpAddr;

use restante_model::Timestamp;

use super::Place;
use crate::spf::target::Target;

/// What `%{r}` stands for: this server has no name of its own (RFC 7208 section 7.3).
const RECEIVER: &str = "unknown";

/// What `%{p}` stands for without a validated name (RFC 7208 section 7.3).
const NO_NAME: &str = "unknown";

/// Who sends, as macros tell it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::spf) struct Envelope {
    /// The client.
    pub(in crate::spf) ip: IpAddr,
    /// Local part of the sender.
    pub(in crate::spf) local_part: String,
    /// Domain of the sender.
    pub(in crate::spf) domain: String,
    /// What the client called itself.
    pub(in crate::spf) helo: String,
    /// When the message came.
    pub(in crate::spf) received_at: Timestamp,
}

/// What the macros of one record stand for.
#[derive(Debug)]
pub(in crate::spf) struct Values<'a> {
    /// Who sends.
    pub(in crate::spf) envelope: &'a Envelope,
    /// Whose record it is.
    pub(in crate::spf) domain: &'a Target,
    /// The name of the client, if it has one that points back.
    pub(in crate::spf) validated: Option<&'a str>,
}

/// What the letter of a macro asks for (RFC 7208 section 7.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Letter {
    /// `s`
    Sender,
    /// `l`
    LocalPart,
    /// `o`
    SenderDomain,
    /// `d`
    Domain,
    /// `i`
    Ip,
    /// `p`
    ValidatedName,
    /// `v`
    Family,
    /// `h`
    Helo,
    /// `c`
    ReadableIp,
    /// `r`
    Receiver,
    /// `t`
    Time,
}

impl Letter {
    /// Reads a letter of either case; three of them stand in explanations only.
    pub(super) fn parse(letter: char, place: Place) -> Option<Self> {
        Some(match letter.to_ascii_lowercase() {
            's' => Self::Sender,
            'l' => Self::LocalPart,
            'o' => Self::SenderDomain,
            'd' => Self::Domain,
            'i' => Self::Ip,
            'p' => Self::ValidatedName,
            'v' => Self::Family,
            'h' => Self::Helo,
            'c' if place == Place::Explanation => Self::ReadableIp,
            'r' if place == Place::Explanation => Self::Receiver,
            't' if place == Place::Explanation => Self::Time,
            _ => return None,
        })
    }

    /// What it stands for.
    pub(super) fn value(self, values: &Values<'_>) -> String {
        let envelope = values.envelope;
        match self {
            Self::Sender => format!("{}@{}", envelope.local_part, envelope.domain),
            Self::LocalPart => envelope.local_part.clone(),
            Self::SenderDomain => envelope.domain.clone(),
            Self::Domain => values.domain.as_str().to_owned(),
            Self::Ip => dotted(envelope.ip),
            Self::ValidatedName => values.validated.unwrap_or(NO_NAME).to_owned(),
            Self::Family => if envelope.ip.is_ipv4() { "in-addr" } else { "ip6" }.to_owned(),
            Self::Helo => envelope.helo.clone(),
            Self::ReadableIp => envelope.ip.to_string(),
            Self::Receiver => RECEIVER.to_owned(),
            Self::Time => envelope.received_at.unix_secs().to_string(),
        }
    }
}

/// An address with dots: the nibbles of one of IPv6.
fn dotted(ip: IpAddr) -> String {
    match ip {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => {
            let nibbles = ip.octets().into_iter().flat_map(|octet| [octet >> 4, octet & 15]);
            nibbles
                .map(|nibble| format!("{nibble:x}"))
                .collect::<Vec<_>>()
                .join(".")
        }
    }
}
