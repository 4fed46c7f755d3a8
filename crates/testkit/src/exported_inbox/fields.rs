//! Exports that are no JSON object, or whose fields break a rule of their own.

use super::document::Document;
use super::{Vector, broken};

/// At least one for each rule from the first to that of `encrypted`.
pub(super) fn vectors() -> Vec<Vector> {
    [json(), versions(), required(), names()].concat()
}

fn json() -> Vec<Vector> {
    let plain = Document::plain().text();
    let cut = plain[..plain.len() - 3].to_owned();
    let text = |name, about, text: &str, says: &str| {
        let says = format!("the export is not a JSON object: {says}");
        broken(name, about, "json", &says, text.to_owned())
    };
    let twice = Document::encrypted().and("secretKey", "\"\"").text();
    let array = r#"[1, "alice@restante.test", "2026-01-25T12:41:16Z", "x", false, null, null, "2026-01-25T12:41:16Z"]"#;
    vec![
        text("json-empty", "nothing is no export", "", "it is empty"),
        text("json-blank", "white space is no export", " \r\n\t", "it is empty"),
        text(
            "json-cut",
            "a file that was cut off",
            &cut,
            "EOF while parsing an object at line 7 column 42",
        ),
        text("json-array", "the fields without their names", array, "it is an array"),
        text("json-text", "a text", "\"version\"", "it is a text"),
        text("json-null", "null", "null", "it is null"),
        text("json-number", "a number", " 1 ", "it is a number"),
        text(
            "json-words",
            "no JSON at all",
            "secret",
            "expected value at line 1 column 1",
        ),
        text(
            "json-byte-order-mark",
            "a byte order mark is not JSON",
            &format!("\u{feff}{plain}"),
            "it begins with a byte order mark; save it as UTF-8 without one",
        ),
        text(
            "json-two",
            "two exports in a file",
            &plain.repeat(2),
            "trailing characters at line 9 column 1",
        ),
        text(
            "json-comma",
            "a comma too many",
            "{\"version\": 1,}",
            "trailing comma at line 1 column 15",
        ),
        text(
            "json-single-quotes",
            "no quotes of JSON",
            "{'version': 1}",
            "key must be a string at line 1 column 2",
        ),
        text(
            "json-twice",
            "a key of which there are two is none",
            &twice,
            "duplicate field `secretKey` at line 10 column 13",
        ),
    ]
}

fn versions() -> Vec<Vector> {
    let version = |name, value, got| {
        let says = format!("version: expected 1, got {got}");
        broken(
            name,
            "the version is the number 1",
            "version",
            &says,
            Document::plain().with("version", value).text(),
        )
    };
    let missing = Document::plain().without("version").text();
    vec![
        broken(
            "version-missing",
            "the version is the number 1",
            "version",
            "version: expected 1, got nothing",
            missing,
        ),
        version("version-null", "null", "null"),
        version("version-0", "0", "0"),
        version("version-2", "2", "2"),
        version("version-negative", "-1", "-1"),
        version("version-fraction", "1.0", "1.0"),
        version("version-exponent", "1e0", "1e0"),
        version("version-text", "\"1\"", "a text"),
        version("version-boolean", "true", "a boolean"),
    ]
}

fn required() -> Vec<Vector> {
    let names = ["emailAddress", "expiresAt", "inboxHash", "encrypted", "exportedAt"];
    let mut vectors = vec![broken(
        "required-all-missing",
        "of several the first of the interface is named",
        "required",
        "emailAddress: every export has it, got nothing",
        Document::new(vec![("version", "1".to_owned())]).text(),
    )];
    for name in names {
        let kinds = [
            ("missing", "nothing", Document::plain().without(name)),
            ("null", "null", Document::plain().with(name, "null")),
        ];
        vectors.extend(kinds.map(|(kind, got, document)| {
            let says = format!("{name}: every export has it, got {got}");
            let vector_name = format!("required-{}-{kind}", name.to_lowercase());
            broken(
                &vector_name,
                "every export has the field, and not null",
                "required",
                &says,
                document.text(),
            )
        }));
    }
    vectors
}

fn names() -> Vec<Vector> {
    let field = |name, rule, field, value, says: &str| {
        let document = Document::plain().with(field, value);
        broken(
            name,
            "the rule of the field",
            rule,
            &format!("{field}: expected {says}"),
            document.text(),
        )
    };
    let address = |name, value, got| {
        let says = format!("a text with exactly one @, got {got}");
        field(name, "email-address", "emailAddress", value, &says)
    };
    let hash = |name, value, got| {
        let says = format!("a text that is not empty, got {got}");
        field(name, "inbox-hash", "inboxHash", value, &says)
    };
    let encrypted = |name, value, got| {
        field(
            name,
            "encrypted",
            "encrypted",
            value,
            &format!("true or false, got {got}"),
        )
    };
    vec![
        address("email-address-empty", "\"\"", "an empty text"),
        address("email-address-no-at", "\"alice\"", "one with 0"),
        address("email-address-two-ats", "\"alice@home@restante.test\"", "one with 2"),
        address("email-address-number", "7", "a number"),
        address("email-address-array", "[\"alice@restante.test\"]", "an array"),
        address(
            "email-address-half-character",
            "\"\\ud800@restante.test\"",
            "a text of half characters",
        ),
        address(
            "email-address-escape",
            "\"\\u001b[2Jalice@restante.test\"",
            "one with a control character",
        ),
        address(
            "email-address-line-break",
            "\"alice@restante.test\\nnext\"",
            "one with a control character",
        ),
        address(
            "email-address-c1",
            "\"alice\\u009b2J@restante.test\"",
            "one with a control character",
        ),
        hash("inbox-hash-empty", "\"\"", "an empty one"),
        hash("inbox-hash-number", "0", "a number"),
        hash("inbox-hash-object", "{}", "an object"),
        encrypted("encrypted-text", "\"true\"", "a text"),
        encrypted("encrypted-number", "1", "a number"),
        encrypted("encrypted-array", "[true]", "an array"),
    ]
}
