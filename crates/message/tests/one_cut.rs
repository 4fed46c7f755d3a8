//! Whoever cuts a message with `RawMessage::split` sees the fields and the body that `parse` shows.

use proptest::prelude::*;
use restante_message::{RawMessage, parse};

fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(&b"From: a@x.test"[..]),
        Just(&b"from : b@x.test"[..]),
        Just(&b"From c@x.test"[..]),
        Just(&b"Subject:"[..]),
        Just(&b": "[..]),
        Just(&b"text"[..]),
        Just(&b"\r\n"[..]),
        Just(&b"\n"[..]),
        Just(&b"\r"[..]),
        Just(&b" "[..]),
        Just(&b"\t"[..]),
        Just(&b"\0"[..]),
    ];
    prop_oneof![
        prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat()),
        prop::collection::vec(0..0x80_u8, 0..200),
    ]
}

fn shown(text: Option<String>) -> String {
    text.unwrap_or_default().replace('\r', "").trim().to_owned()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn fields_and_body_are_those_that_are_shown(raw in pieces()) {
        let (cut, message) = (RawMessage::split(&raw), parse(&raw));
        let values = |name: &str| message.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        for (name, value) in &message.headers {
            prop_assert_eq!(cut.fields.iter().filter(|field| field.is(name)).count(), value.split('\n').count());
        }
        for field in &cut.fields {
            let name = String::from_utf8_lossy(field.name).trim_end().to_lowercase();
            prop_assert!(values(&name).is_some(), "{} is not shown", name);
        }
        // Without a Content-Type the whole body is one text.
        prop_assume!(values("content-type").is_none() && values("content-transfer-encoding").is_none());
        prop_assert_eq!(shown(message.text), shown(String::from_utf8(cut.body.to_vec()).ok()));
    }
}
