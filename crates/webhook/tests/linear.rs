//! Filters and templates take time in proportion to what they look at, whatever its shape.

use std::hint::black_box;
use std::time::Duration;

use restante_envelope::WireProfile;
use restante_model::webhook::{
    BuiltInTemplate, CustomKind, CustomTemplate, FilterConfig, FilterMode, FilterOperator, FilterRule, WebhookTemplate,
};
use restante_model::{ArrivalEvent, EventType};
use restante_webhook::{EventEnvelope, Filter, PayloadLimits, Template};

#[path = "vector/event.rs"]
mod event;

/// Bytes of the smaller text: no part of it is cut off, so the limit of bodies does not help.
const SMALL: usize = 16 * 1024;

/// How much larger the larger text is.
const FACTOR: usize = 8;

/// What is asked for: twice the input takes at most 2.2 times the time, so eight times the input as much as this many
/// times the eighth, eight times over. A shape above it is measured again.
const AIM: f64 = 2.2 * 2.2 * 2.2 / 8.0;

/// What fails: a quadratic step makes 8, and the rest is room for a busy machine.
const LIMIT: f64 = 3.0;

/// How often a shape is measured at most; the shortest times count.
const ROUNDS: usize = 12;

const NO_LIMITS: PayloadLimits = PayloadLimits {
    max_headers: usize::MAX,
    max_header_value_chars: usize::MAX,
    max_body_bytes: usize::MAX,
};

/// A header's value of a shape, and the rule that looks at it.
const FILTERS: [(FilterOperator, &str, &str); 17] = [
    (FilterOperator::Equals, "A", "a"),
    (
        FilterOperator::Contains,
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB",
        "a",
    ),
    (
        FilterOperator::Contains,
        "baaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "a",
    ),
    (
        FilterOperator::Contains,
        "abababababababababababababababababababababababababac",
        "ab",
    ),
    (FilterOperator::Contains, "x", "İ"),
    (FilterOperator::Contains, "ß", "ẞΣς"),
    (FilterOperator::StartsWith, "aaaab", "A"),
    (FilterOperator::EndsWith, "baaaa", "A"),
    (FilterOperator::Domain, "x.test", "@"),
    (FilterOperator::Domain, ".a.a.a.b", ".a"),
    (FilterOperator::Exists, "", "a\n"),
    (FilterOperator::Equals, "b", "a\n"),
    (FilterOperator::Regex, "^(a+)+$", "a"),
    (FilterOperator::Regex, "(a*)*b", "a"),
    (FilterOperator::Regex, "(x+x+)+y", "x"),
    (FilterOperator::Regex, "a.*b.*c.*d.*e", "abcd"),
    (FilterOperator::Regex, "[a-q][^u-z]{13}x", "abc"),
];

/// A template of a shape: a head, a unit that is repeated, and a tail.
const TEMPLATES: [(&str, &str, &str); 16] = [
    ("[\"", "text", "\"]"),
    ("[\"", "{{id}}", "\"]"),
    ("[\"", "{{ data.subject }}", "\"]"),
    ("[\"", "{{data.headers.x-my.header}}", "\"]"),
    ("[\"", "{{data.to.1.address}}", "\"]"),
    ("[\"", "{{nothing}}", "\"]"),
    ("[\"", "{{", "\"]"),
    ("[\"", "{", "\"]"),
    ("[\"", "{{}}", "\"]"),
    ("[\"", "}}", "\"]"),
    ("[\"", "{{a{", "\"]"),
    ("[\"{{", "a.", "}}\"]"),
    ("[\"{{data.headers.", ".", "}}\"]"),
    ("[\"{{", " ", "}}\"]"),
    ("[1", ",{{createdAt}}", "]"),
    ("", "[", ""),
];

/// Bodies whose envelopes are rendered by every built-in template, and by a custom one that shows everything.
const TEXTS: [&str; 5] = ["a", "\u{0}", "\"\\", "🎉", "<&> \n"];

#[test]
fn filters_take_linear_time() {
    check(FILTERS.map(|(operator, value, unit)| {
        let rule = FilterRule {
            field: "header.x-shape".to_owned(),
            operator,
            value: Some(value.to_owned()),
            case_sensitive: false,
        };
        let config = FilterConfig {
            mode: FilterMode::All,
            rules: vec![rule],
            require_auth: None,
        };
        let filter = Filter::compile(&config).expect("a filter");
        let matches = move |event: &ArrivalEvent| {
            black_box(filter.matches_arrival(event));
        };
        shape(
            format!("{operator:?} {value} in {unit}"),
            move |size| event_of(unit, size),
            matches,
        )
    }));
}

#[test]
fn templates_are_made_in_linear_time() {
    check(TEMPLATES.map(|(head, unit, tail)| {
        let text = move |size: usize| [head, &unit.repeat(size / unit.len()), tail].concat();
        shape(format!("{head}{unit}{tail}"), text, |text: &String| {
            drop(custom(text.clone()));
        })
    }));
}

#[test]
fn templates_are_filled_in_linear_time() {
    let event = event::event(&serde_json::json!({}));
    let envelope = EventEnvelope::arrival(EventType::EmailReceived, "evt_x", &event, &NO_LIMITS);
    check(TEMPLATES.map(|(head, unit, tail)| {
        let envelope = envelope.clone();
        let template = move |size: usize| {
            let text = [head, &unit.repeat(size / unit.len()), tail].concat();
            Template::compile(Some(&as_text(text))).expect("a text is a template")
        };
        let render = move |template: &Template| {
            black_box(template.render(&envelope, WireProfile::Service));
        };
        shape(format!("{head}{unit}{tail}"), template, render)
    }));
}

#[test]
fn events_are_shown_in_linear_time() {
    let built_in = BuiltInTemplate::ALL.map(WebhookTemplate::BuiltIn);
    let custom = as_json("[\"{{data}}\",\"{{data.textBody}}\"]".to_owned());
    for template in built_in.into_iter().chain([custom]) {
        check(TEXTS.map(|unit| {
            let render = Template::compile(Some(&template)).expect("a template");
            let show = move |event: &ArrivalEvent| {
                let envelope = EventEnvelope::arrival(EventType::EmailReceived, "evt_x", event, &NO_LIMITS);
                black_box(render.render(&envelope, WireProfile::Service));
            };
            shape(
                format!("{template:?} of {unit:?}"),
                move |size| event_of(unit, size),
                show,
            )
        }));
    }
}

fn custom(body: String) -> Result<Template, restante_webhook::TemplateError> {
    Template::compile(Some(&as_json(body)))
}

fn as_json(body: String) -> WebhookTemplate {
    let content_type = None;
    WebhookTemplate::Custom(CustomTemplate {
        kind: CustomKind::Custom,
        body,
        content_type,
    })
}

fn as_text(body: String) -> WebhookTemplate {
    let content_type = Some("text/plain".to_owned());
    WebhookTemplate::Custom(CustomTemplate {
        kind: CustomKind::Custom,
        body,
        content_type,
    })
}

/// An event full of a text: in its subject, its addresses, its bodies, and a header.
fn event_of(unit: &str, size: usize) -> ArrivalEvent {
    let text = unit.repeat(size / unit.len());
    let mut event = event::event(&serde_json::json!({}));
    event.headers.push(("x-shape".to_owned(), text.clone()));
    event.from.address.clone_from(&text);
    event.subject.clone_from(&text);
    event.text = Some(text.clone());
    event.html = Some(text);
    event
}

/// A run over a small input, and one over a large one.
struct Shape {
    name: String,
    small: Box<dyn Fn()>,
    large: Box<dyn Fn()>,
}

fn shape<T: 'static>(name: String, make: impl Fn(usize) -> T, run: impl Fn(&T) + Clone + 'static) -> Shape {
    let (small, large) = (make(SMALL), make(SMALL * FACTOR));
    let again = run.clone();
    Shape {
        name,
        small: Box::new(move || run(&small)),
        large: Box::new(move || again(&large)),
    }
}

fn check(shapes: impl IntoIterator<Item = Shape>) {
    let mut slow = Vec::new();
    for shape in shapes {
        let (small, large) = times(&shape);
        println!("{:>6.2}  {large:>9.1?}  {}", ratio(small, large), shape.name);
        if ratio(small, large) > LIMIT {
            slow.push((shape.name, small, large));
        }
    }
    assert!(slow.is_empty(), "time grows faster than size: {slow:?}");
}

/// The shortest times for several small inputs of this shape, and for a large one of their size: both are interrupted as
/// often on a busy machine.
fn times(shape: &Shape) -> (Duration, Duration) {
    let (mut shortest_small, mut shortest_large) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        shortest_small = time(&shape.small, FACTOR).min(shortest_small);
        shortest_large = time(&shape.large, 1).min(shortest_large);
        if ratio(shortest_small, shortest_large) <= AIM {
            break;
        }
    }
    (shortest_small, shortest_large)
}

fn ratio(small: Duration, large: Duration) -> f64 {
    large.as_secs_f64() / small.as_secs_f64()
}

#[expect(clippy::disallowed_methods, reason = "the time that a run takes is what is tested")]
fn time(run: &dyn Fn(), count: usize) -> Duration {
    let start = std::time::Instant::now();
    for _ in 0..count {
        run();
    }
    start.elapsed()
}
