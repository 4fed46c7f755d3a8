//! The paths of the API (interface, "Endpoints").

use std::fmt::Write as _;

/// A path whose segments are percent-encoded (RFC 3986 section 3.3), `@` left as it is.
pub(crate) fn path<const N: usize>(segments: [&str; N]) -> String {
    let mut path = String::from("/api");
    for segment in segments {
        path.push('/');
        for byte in segment.bytes() {
            match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'@' => path.push(byte.into()),
                _ => {
                    let _ = write!(path, "%{byte:02X}");
                }
            }
        }
    }
    path
}
