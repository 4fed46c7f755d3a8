//! Messages at and beyond the limits: what is surplus is left unparsed and named, and nothing is refused.

use restante_message::{ParsedMessage, parse};

fn parsed(raw: &str) -> ParsedMessage {
    parse(raw.as_bytes())
}

fn is_told(message: &ParsedMessage, what: &str) -> bool {
    message.defects.iter().any(|defect| defect.contains(what))
}

#[test]
fn header_blocks_of_200_kilobytes_are_read_in_every_shape() {
    let one_line = format!("Subject: {}\r\n", "a".repeat(200_000));
    let folded = format!("Subject: a\r\n{}", " b\r\n".repeat(50_000));
    let fields = (0..999).fold("Subject: a\r\n".to_owned(), |block, n| {
        format!("{block}X-{n}: {}\r\n", "v".repeat(200))
    });
    let words = format!("Subject: {}\r\n", "=?utf-8?q?=C3=A9?= ".repeat(10_000));
    let recipients = format!("Subject: a\r\nTo: {}\r\n", "Bob <bob@x.test>,\r\n ".repeat(10_000));
    for (block, subject_len, headers, to) in [
        (one_line, 200_000, 1, 0),
        (folded, 100_001, 1, 0),
        (fields, 1, 1000, 0),
        (words, 20_000, 1, 0),
        (recipients, 1, 2, 10_000),
    ] {
        assert!(block.len() >= 190_000);
        let message = parsed(&format!("{block}\r\nbody"));
        assert_eq!(message.subject.map(|subject| subject.len()), Some(subject_len));
        assert_eq!((message.headers.len(), message.to.len()), (headers, to));
        assert_eq!(message.text.as_deref(), Some("body"));
    }
}

#[test]
fn a_thousand_fields_are_read_and_one_more_is_named() {
    let message = |fields| parsed(&format!("{}\r\nbody", "X: v\r\n".repeat(fields)));
    let named = "Header fields beyond the first 1000";
    assert!(!is_told(&message(1000), named));
    assert!(is_told(&message(1001), named));
    assert_eq!(message(1001).headers[0].1.lines().count(), 1000);
    assert_eq!(message(5000).text.as_deref(), Some("body"));
}

#[test]
fn a_thousand_fields_of_a_part_are_read_and_one_more_is_named() {
    let message = |fields| {
        let block = "X: v\r\n".repeat(fields);
        parsed(&format!(
            "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n{block}Content-Type: a/b\r\n\r\nx\r\n--b--\r\n"
        ))
    };
    assert_eq!(message(999).attachments[0].content_type, "a/b");
    assert_eq!(message(1000).text.as_deref(), Some("x"));
    assert!(is_told(&message(1000), "Header fields beyond the first 1000"));
}

#[test]
fn a_thousand_parts_are_read_and_one_more_is_named() {
    let message = |parts| {
        let parts = "--b\r\nContent-Type: a/b\r\n\r\nx\r\n".repeat(parts);
        parsed(&format!(
            "Content-Type: multipart/mixed; boundary=b\r\n\r\n{parts}--b--\r\n"
        ))
    };
    let named = "Parts beyond the first 1000";
    // the multipart itself is one of them
    let (fits, surplus) = (message(999), message(1000));
    assert_eq!((fits.attachments.len(), is_told(&fits, named)), (999, false));
    assert_eq!((surplus.attachments.len(), is_told(&surplus, named)), (999, true));
}

#[test]
fn a_hundred_levels_are_read_and_one_more_is_named() {
    let message = |levels| {
        let levels = (0..levels).fold(String::new(), |outer, n| {
            format!("{outer}Content-Type: multipart/mixed; boundary=b{n}\r\n\r\n--b{n}\r\n")
        });
        parsed(&format!("{levels}\r\nthe innermost"))
    };
    let named = "Parts nested deeper than 100";
    let (fits, surplus) = (message(100), message(101));
    assert_eq!(fits.text.as_deref(), Some("the innermost"));
    assert!(!is_told(&fits, named));
    assert_eq!(surplus.text, None);
    assert_eq!(surplus.attachments[0].content_type, "multipart/mixed");
    assert!(is_told(&surplus, named));
    assert!(is_told(&message(20_000), named));
}
