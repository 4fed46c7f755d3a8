//! Parsing takes time in proportion to the size of the message, whatever its shape.

use std::time::Duration;

use restante_message::{parse, summary};

/// How a message of a shape is made: a head, a unit that is repeated, and a tail.
struct Shape {
    name: &'static str,
    head: &'static str,
    unit: &'static str,
    tail: &'static str,
}

const fn shape(name: &'static str, head: &'static str, unit: &'static str, tail: &'static str) -> Shape {
    Shape { name, head, unit, tail }
}

const HTML: &str = "Content-Type: text/html\r\n\r\n";
const MIXED: &str = "Content-Type: multipart/mixed; boundary=b\r\n\r\n";

const SHAPES: [Shape; 40] = [
    shape("prose", "A: b\r\n\r\n", "Some words of text.\r\n", ""),
    shape("same link", "A: b\r\n\r\n", "https://x.test/a ", ""),
    shape("one link", "A: b\r\n\r\nhttps://x.test/", "a", ""),
    shape("brackets in a link", "A: b\r\n\r\nhttps://x.test/", "()", ")]}"),
    shape("closing brackets after a link", "A: b\r\n\r\nhttps://x.test/", ")", ""),
    shape("punctuation after links", "A: b\r\n\r\n", "https://x.test/...,,, ", ""),
    shape("schemes without a URL", "A: b\r\n\r\n", "https://", ""),
    shape("colons", "A: b\r\n\r\n", ":", ""),
    shape("anchors", HTML, "<a href='https://x.test/'>x</a>", ""),
    shape("open anchors", HTML, "<a ", ""),
    shape("open quotes", HTML, "<a href='x\" ", ""),
    shape(
        "attributes",
        "Content-Type: text/html\r\n\r\n<a ",
        "href=https://x.test ",
        ">",
    ),
    shape("less-than signs", HTML, "<", ""),
    shape("comments", HTML, "<!-- x ", ""),
    shape("scripts", HTML, "<script>x</script>", ""),
    shape(
        "open script with end tags",
        "Content-Type: text/html\r\n\r\n<script>",
        "</scrip",
        "",
    ),
    shape("nested blocks", HTML, "<div><p>", "x"),
    shape("line breaks", HTML, "<br>", "x"),
    shape("entities", HTML, "&amp;", ""),
    shape("ampersands", HTML, "&", ""),
    shape(
        "entities in an href",
        "Content-Type: text/html\r\n\r\n<a href='https://",
        "&amp;&",
        "'>",
    ),
    shape("headers", "", "X-A: b\r\n", "\r\nx"),
    shape("folds", "Subject: a\r\n", " b\r\n", "\r\nx"),
    shape("one header", "Subject: ", "a", "\r\n\r\nx"),
    shape("encoded words", "Subject: ", "=?utf-8?q?=C3=A9?= ", "\r\n\r\nx"),
    shape("open encoded words", "Subject: ", "=?aa?q?x ", "\r\n\r\nx"),
    shape("open encoded words in an address", "To: ", "=?aa?b?x ", "\r\n\r\nx"),
    shape("groups", "To: ", "a:b@x,c@x;", "\r\n\r\nx"),
    shape("group names", "To: ", "a b:", "\r\n\r\nx"),
    shape("nested comments", "From: ", "(", "\r\n\r\nx"),
    shape("quotes", "From: ", "\"\\", "\r\n\r\nx"),
    shape("angle brackets", "References: ", "<", "\r\n\r\nx"),
    shape("parameters", "Content-Type: text/plain", "; filename*1*=a", "\r\n\r\nx"),
    shape("empty parts", MIXED, "--b\r\n\r\n", "--b--\r\n"),
    shape(
        "attachments",
        MIXED,
        "--b\r\nContent-Type: a/b\r\nContent-Transfer-Encoding: base64\r\n\r\nAAAA\r\n",
        "",
    ),
    shape(
        "multiparts whose boundary never comes",
        MIXED,
        "--b\r\nContent-Type: multipart/a; boundary=c\r\n\r\n",
        "",
    ),
    shape(
        "nested multiparts",
        "",
        "Content-Type: multipart/a; boundary=b\r\n\r\n--b\r\n",
        "",
    ),
    shape("nested messages", "", "Content-Type: message/rfc822\r\n\r\n", ""),
    shape("dashes", MIXED, "--\r\n", ""),
    shape(
        "soft line breaks",
        "Content-Transfer-Encoding: quoted-printable\r\n\r\n",
        "=\r\n=",
        "",
    ),
];

/// Bytes of the smaller message.
const SMALL: usize = 32 * 1024;

/// How much larger the larger message is.
const FACTOR: u32 = 8;

/// Eight times the input takes about eight times the time; a quadratic step somewhere would take 64 times.
/// The limit between the two leaves room for a busy machine.
#[test]
fn time_grows_with_size() {
    let mut slow = Vec::new();
    for shape in &SHAPES {
        let (small, large) = (time(shape, SMALL), time(shape, SMALL * FACTOR as usize));
        // what is too short to be measured well counts as this much
        let ratio = large.as_secs_f64() / small.max(Duration::from_micros(300)).as_secs_f64();
        println!("{:>6.1}  {:>9.1?}  {}", ratio, large, shape.name);
        if ratio > 3.0 * f64::from(FACTOR) {
            slow.push((shape.name, small, large));
        }
    }
    assert!(slow.is_empty(), "time grows faster than size: {slow:?}");
}

/// The shortest of three runs over a message of this shape with about `size` bytes.
#[expect(clippy::disallowed_methods, reason = "the time that parsing takes is what is tested")]
fn time(shape: &Shape, size: usize) -> Duration {
    let raw = [shape.head, &shape.unit.repeat(size / shape.unit.len()), shape.tail].concat();
    let run = || {
        let start = std::time::Instant::now();
        let message = parse(raw.as_bytes());
        assert_eq!(summary(raw.as_bytes()).subject, message.subject);
        start.elapsed()
    };
    (0..3).map(|_| run()).min().unwrap_or_default()
}
