//! Which attempts are of the same sender.

use std::net::IpAddr;

use restante_envelope::digest::sha256;
use restante_model::InboxKey;
use restante_model::chaos::TrackBy;

use super::Sender;

/// A sender at an inbox: a digest, so that a long reverse-path takes no more memory than a short one.
pub(super) type SenderKey = [u8; 32];

/// What attempts are counted by.
pub(super) fn sender_key(inbox: InboxKey, by: TrackBy, sender: &Sender) -> SenderKey {
    let ip = match sender.ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    };
    let (ip, path) = (ip.octets(), sender.reverse_path.as_bytes());
    let (kind, ip, path): (u8, &[u8], &[u8]) = match by {
        TrackBy::Ip => (0, &ip, b""),
        TrackBy::Sender => (1, b"", path),
        TrackBy::IpSender => (2, &ip, path),
    };
    // Only the last piece varies in length under one kind.
    sha256(&[inbox.as_bytes(), &[kind][..], ip, path].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sender(ip: &str, reverse_path: &str) -> Sender {
        Sender {
            ip: ip.parse().unwrap(),
            reverse_path: reverse_path.to_owned(),
        }
    }

    #[test]
    fn senders_are_told_apart_by_what_was_asked_for() {
        let inbox = InboxKey::from_bytes([1; 16]);
        let first = sender("192.0.2.1", "a@sender.test");
        let other_ip = sender("192.0.2.2", "a@sender.test");
        let other_path = sender("192.0.2.1", "b@sender.test");
        for (by, same_for_other_ip, same_for_other_path) in [
            (TrackBy::Ip, false, true),
            (TrackBy::Sender, true, false),
            (TrackBy::IpSender, false, false),
        ] {
            let key = |sender| sender_key(inbox, by, sender);
            assert_eq!(key(&first) == key(&other_ip), same_for_other_ip, "{by:?}");
            assert_eq!(key(&first) == key(&other_path), same_for_other_path, "{by:?}");
            let elsewhere = sender_key(InboxKey::from_bytes([2; 16]), by, &first);
            assert_ne!(key(&first), elsewhere, "each inbox counts for itself");
        }
    }

    #[test]
    fn what_is_counted_in_one_way_does_not_count_in_another() {
        let (inbox, null) = (InboxKey::from_bytes([1; 16]), sender("192.0.2.1", ""));
        let keys = [TrackBy::Ip, TrackBy::Sender, TrackBy::IpSender].map(|by| sender_key(inbox, by, &null));
        assert!(keys[0] != keys[1] && keys[1] != keys[2] && keys[0] != keys[2]);
    }
}
