//! What a client sends: flights of bytes, the next of which begins where a TLS handshake ends.

/// Stands between two flights; it is not sent itself.
const SEPARATOR: &[u8] = b"~~tls~~";

/// All that a client sends.
///
/// What follows STARTTLS in the same flight came in clear, and must not be taken for something said under TLS; the next
/// flight is what the client says then. Where no handshake is made, one flight follows the other.
#[derive(Debug)]
pub(crate) struct Wire {
    bytes: Vec<u8>,
    /// Where each flight ends.
    ends: Vec<usize>,
}

impl Wire {
    pub(crate) fn read(input: &[u8]) -> Self {
        let mut wire = Self {
            bytes: Vec::with_capacity(input.len()),
            ends: Vec::new(),
        };
        let mut rest = input;
        while let Some(at) = rest.windows(SEPARATOR.len()).position(|window| window == SEPARATOR) {
            wire.push(&rest[..at]);
            rest = &rest[at + SEPARATOR.len()..];
        }
        wire.push(rest);
        wire
    }

    /// One flight of these bytes, whatever they are.
    pub(crate) fn plain(bytes: Vec<u8>) -> Self {
        let ends = vec![bytes.len()];
        Self { bytes, ends }
    }

    fn push(&mut self, flight: &[u8]) {
        self.bytes.extend_from_slice(flight);
        self.ends.push(self.bytes.len());
    }

    /// All bytes, without separators.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The flights, in order.
    pub(crate) fn flights(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.bytes[start..end])
    }

    /// Where the flight begins that comes after the one with the byte before `at`.
    pub(crate) fn next_flight(&self, at: usize) -> Option<usize> {
        let (_, inner) = self.ends.split_last()?;
        inner.iter().copied().find(|&end| end >= at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flights_are_told_apart() {
        let wire = Wire::read(b"ab~~tls~~~~tls~~c");
        assert_eq!(wire.bytes(), b"abc");
        assert_eq!(wire.flights().collect::<Vec<_>>(), [&b"ab"[..], b"", b"c"]);
        assert_eq!(
            (wire.next_flight(1), wire.next_flight(2), wire.next_flight(3)),
            (Some(2), Some(2), None)
        );
    }
}
