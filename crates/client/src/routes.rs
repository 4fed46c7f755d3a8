//! The paths of the API (interface, "Endpoints").

use std::fmt::Write as _;

/// A path whose segments are percent-encoded (RFC 3986 section 3.3), `@` left as it is.
///
/// No segment makes it a path of another length: an empty one, `.` and `..`, which URLs drop or climb, get a space in
/// front of them and stay the name of nothing.
pub(crate) fn path<const N: usize>(segments: [&str; N]) -> String {
    let mut path = String::from("/api");
    for segment in segments {
        path.push('/');
        if matches!(segment, "" | "." | "..") {
            path.push_str("%20");
        }
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use url::Url;

    use super::*;

    /// The segments after `/team/api` that a server reads from the path, decoded.
    fn read(path: &str) -> Vec<String> {
        let mut url = Url::parse("http://mail.test/").unwrap();
        url.set_path(&format!("/team{path}"));
        assert_eq!((url.query(), url.fragment()), (None, None), "{path}");
        let mut segments = url.path().split('/').skip(1);
        assert_eq!(
            (segments.next(), segments.next()),
            (Some("team"), Some("api")),
            "{path}"
        );
        segments.map(decode).collect()
    }

    fn decode(segment: &str) -> String {
        let mut bytes = Vec::new();
        let mut rest = segment.as_bytes();
        while let Some((&first, others)) = rest.split_first() {
            let digits = others.get(..2).filter(|_| first == b'%');
            let decoded = digits.map(|digits| u8::from_str_radix(std::str::from_utf8(digits).unwrap(), 16).unwrap());
            bytes.push(decoded.unwrap_or(first));
            rest = if decoded.is_some() { &others[2..] } else { others };
        }
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn addresses_are_encoded_as_they_must_be() {
        for (address, expected) in [
            ("alice@restante.test", "alice@restante.test"),
            ("a+tag@b.test", "a%2Btag@b.test"),
            ("a b@c.test", "a%20b@c.test"),
            ("a/b@c.test", "a%2Fb@c.test"),
            ("a\\b?c#d@e.test", "a%5Cb%3Fc%23d@e.test"),
            ("100%25@a.test", "100%2525@a.test"),
            ("ü@b.test", "%C3%BC@b.test"),
            ("a\r\nb@c.test", "a%0D%0Ab@c.test"),
            ("", "%20"),
            (".", "%20."),
            ("..", "%20.."),
            ("...", "..."),
        ] {
            let path = path(["inboxes", address, "emails"]);
            assert_eq!(path, format!("/api/inboxes/{expected}/emails"), "{address:?}");
        }
    }

    proptest! {
        #[test]
        fn every_segment_arrives_as_one_segment(
            first in "\\PC*|[./%@]{0,6}",
            second in any::<String>(),
        ) {
            let padded = |segment: &str| match segment {
                "" | "." | ".." => format!(" {segment}"),
                _ => segment.to_owned(),
            };
            let read = read(&path(["inboxes", &first, &second]));
            prop_assert_eq!(read, ["inboxes".to_owned(), padded(&first), padded(&second)]);
        }
    }
}
