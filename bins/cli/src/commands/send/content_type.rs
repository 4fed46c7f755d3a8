//! The content type of a file, by the ending of its name.

/// What a file is sent as; `application/octet-stream` if nobody can tell.
pub(super) fn content_type(file_name: &str) -> &'static str {
    let ending = file_name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let known = TYPES
        .iter()
        .find(|(endings, _)| endings.iter().any(|known| known.eq_ignore_ascii_case(ending)));
    known.map_or("application/octet-stream", |(_, content_type)| content_type)
}

/// What test mails carry (media types of IANA).
const TYPES: &[(&[&str], &str)] = &[
    (&["txt", "log", "md"], "text/plain; charset=utf-8"),
    (&["html", "htm"], "text/html; charset=utf-8"),
    (&["csv"], "text/csv; charset=utf-8"),
    (&["ics"], "text/calendar; charset=utf-8"),
    (&["vcf"], "text/vcard; charset=utf-8"),
    (&["xml"], "application/xml"),
    (&["json"], "application/json"),
    (&["pdf"], "application/pdf"),
    (&["zip"], "application/zip"),
    (&["gz", "tgz"], "application/gzip"),
    (&["tar"], "application/x-tar"),
    (&["rtf"], "application/rtf"),
    (&["doc"], "application/msword"),
    (&["xls"], "application/vnd.ms-excel"),
    (&["ppt"], "application/vnd.ms-powerpoint"),
    (
        &["docx"],
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ),
    (
        &["xlsx"],
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ),
    (
        &["pptx"],
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ),
    (&["odt"], "application/vnd.oasis.opendocument.text"),
    (&["ods"], "application/vnd.oasis.opendocument.spreadsheet"),
    (&["png"], "image/png"),
    (&["jpg", "jpeg"], "image/jpeg"),
    (&["gif"], "image/gif"),
    (&["webp"], "image/webp"),
    (&["svg"], "image/svg+xml"),
    (&["bmp"], "image/bmp"),
    (&["tif", "tiff"], "image/tiff"),
    (&["ico"], "image/vnd.microsoft.icon"),
    (&["mp3"], "audio/mpeg"),
    (&["wav"], "audio/wav"),
    (&["mp4"], "video/mp4"),
    (&["webm"], "video/webm"),
    (&["p7s"], "application/pkcs7-signature"),
    (&["asc", "sig"], "application/pgp-signature"),
];

#[cfg(test)]
mod tests {
    use lettre::message::header::ContentType;

    use super::*;

    #[test]
    fn endings_count_whatever_their_case() {
        for (name, expected) in [
            ("a.PDF", "application/pdf"),
            ("a.b.jpeg", "image/jpeg"),
            ("pdf", "application/octet-stream"),
            ("a.", "application/octet-stream"),
            ("a.unheard-of", "application/octet-stream"),
        ] {
            assert_eq!(content_type(name), expected, "{name}");
        }
    }

    #[test]
    fn every_type_can_stand_in_a_header_and_every_ending_is_named_once() {
        let mut endings: Vec<&str> = Vec::new();
        for (known, content_type) in TYPES {
            assert!(ContentType::parse(content_type).is_ok(), "{content_type}");
            endings.extend(*known);
        }
        let count = endings.len();
        endings.sort_unstable();
        endings.dedup();
        assert_eq!(endings.len(), count);
    }
}
