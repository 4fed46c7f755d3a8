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

const SHAPES: [Shape; 60] = [
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
    shape("hidden elements", HTML, "<div hidden>", "x"),
    shape(
        "styles",
        "Content-Type: text/html\r\n\r\n<p style='",
        "display:x;",
        "'>x",
    ),
    shape("nested lists", HTML, "<ol><li>", "x"),
    shape("end tags of lists", HTML, "</ol></pre>", "x"),
    shape("numbered entities", HTML, "&#128;&#0;", ""),
    shape("opening brackets in a link", "A: b\r\n\r\nhttps://x.test/", "[", ""),
    shape("links between ideographs", "A: b\r\n\r\n", "世https://x.test/世。", ""),
    shape("UTF-7", "Content-Type: text/plain; charset=utf-7\r\n\r\n", "+AOk+", ""),
    shape(
        "stateful encoded words",
        "Subject: ",
        "=?iso-2022-jp?b?GyRCJDMbKEI=?= ",
        "\r\n\r\nx",
    ),
    shape("dates", "Date: ", "1 Jan 1 1: ", "\r\n\r\nx"),
    shape("comments in a date", "Date: ", "(", "\r\n\r\nx"),
    shape("dots around an address", "To: ", "a . @ ", "\r\n\r\nx"),
    shape("comments in an angle address", "To: <", "(a)", "\r\n\r\nx"),
    shape("angle addresses", "To: ", "<<a@x>>", "\r\n\r\nx"),
    shape("ids without brackets", "References: ", "a@x ", "\r\n\r\nx"),
    shape(
        "quoted parameters",
        "Content-Type: text/plain",
        "; a=\"\\\"\" (b)",
        "\r\n\r\nx",
    ),
    shape(
        "related parts",
        "Content-Type: multipart/related; boundary=b; start=2\r\n\r\n",
        "--b\r\nContent-ID: <1>\r\n\r\n",
        "--b--\r\n",
    ),
    shape(
        "nested related parts",
        "",
        "Content-Type: multipart/related; boundary=b; start=2\r\n\r\n--b\r\n\r\nx\r\n--b\r\n",
        "",
    ),
    shape(
        "texts of one alternative",
        "Content-Type: multipart/alternative; boundary=b\r\n\r\n",
        "--b\r\nContent-Type: text/html\r\n\r\n<p>x\r\n",
        "",
    ),
    shape("repeated addresses", "", "To: a@x\r\n", "\r\nx"),
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
const FACTOR: usize = 8;

/// What is asked for: twice the input takes at most 2.2 times the time, so eight times the input as much as this many
/// times the eighth, eight times over. A shape above it is measured again.
const AIM: f64 = 2.2 * 2.2 * 2.2 / 8.0;

/// What fails: a quadratic step makes 8, and the rest is room for a busy machine.
const LIMIT: f64 = 3.0;

/// How often a shape is measured at most; the shortest times count.
const ROUNDS: usize = 12;

#[test]
fn time_grows_with_size() {
    let mut slow = Vec::new();
    for shape in &SHAPES {
        let (small, large) = times(shape);
        println!("{:>6.2}  {large:>9.1?}  {}", ratio(small, large), shape.name);
        if ratio(small, large) > LIMIT {
            slow.push((shape.name, small, large));
        }
    }
    assert!(slow.is_empty(), "time grows faster than size: {slow:?}");
}

/// The shortest times for several small messages of this shape, and for a large one of their size: both are interrupted
/// as often on a busy machine.
fn times(shape: &Shape) -> (Duration, Duration) {
    let (small, large) = (message(shape, SMALL), message(shape, SMALL * FACTOR));
    let (mut shortest_small, mut shortest_large) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        shortest_small = time(&small, FACTOR).min(shortest_small);
        shortest_large = time(&large, 1).min(shortest_large);
        if ratio(shortest_small, shortest_large) <= AIM {
            break;
        }
    }
    (shortest_small, shortest_large)
}

fn ratio(small: Duration, large: Duration) -> f64 {
    large.as_secs_f64() / small.as_secs_f64()
}

/// A message of this shape with about `size` bytes.
fn message(shape: &Shape, size: usize) -> Vec<u8> {
    [shape.head, &shape.unit.repeat(size / shape.unit.len()), shape.tail]
        .concat()
        .into_bytes()
}

#[expect(clippy::disallowed_methods, reason = "the time that parsing takes is what is tested")]
fn time(raw: &[u8], count: usize) -> Duration {
    let start = std::time::Instant::now();
    for _ in 0..count {
        let parsed = parse(raw);
        assert_eq!(summary(raw).subject, parsed.subject);
    }
    start.elapsed()
}
