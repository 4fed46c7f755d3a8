//! Rules of a service, as `tests/fixtures/receivers/README.md` describes them.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::Value;

/// The rules of a service.
pub(crate) struct Rules {
    rules: Vec<Value>,
    /// The expressions of `matches`, by what they are made of.
    expressions: BTreeMap<String, Regex>,
}

impl Rules {
    pub(crate) fn of(service: &Value) -> Self {
        let rules = service["rules"].as_array().expect("a list of rules").clone();
        let texts = rules.iter().filter_map(|rule| rule.get("matches")?.as_str());
        let expressions = texts.map(|text| (text.to_owned(), Regex::new(text).expect("an expression")));
        Self {
            expressions: expressions.collect(),
            rules,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.rules.len()
    }

    /// The reasons of the rules that a payload breaks.
    pub(crate) fn broken(&self, payload: &[u8]) -> Vec<String> {
        let json: Value = serde_json::from_slice(payload).expect("a payload is JSON");
        let rules = self.rules.iter();
        let broken = rules.filter(|rule| {
            selected(rule, &json)
                .iter()
                .any(|value| !self.holds(rule, value, payload))
        });
        broken.map(|rule| format!("{}: {}", rule["at"], rule["why"])).collect()
    }

    /// The numbers of the rules that say something of a payload.
    pub(crate) fn applying(&self, payload: &[u8]) -> Vec<usize> {
        let json: Value = serde_json::from_slice(payload).expect("a payload is JSON");
        (0..self.rules.len())
            .filter(|number| !selected(&self.rules[*number], &json).is_empty())
            .collect()
    }

    /// Whether a value meets all demands of a rule.
    fn holds(&self, rule: &Value, value: &Value, payload: &[u8]) -> bool {
        let demands = rule.as_object().expect("a rule is an object").iter();
        demands
            .filter(|(name, _)| !matches!(name.as_str(), "at" | "why"))
            .all(|(name, wanted)| match name.as_str() {
                "maxBytes" => at_most(payload.len(), wanted),
                "type" => wanted == kind(value),
                "oneOf" => list(wanted).contains(value),
                _ => match value {
                    Value::String(text) => self.text_holds(name, wanted, text),
                    Value::Object(_) => fields_hold(name, wanted, value),
                    Value::Array(items) => items_hold(name, wanted, items, value),
                    Value::Number(number) => number_holds(name, wanted, number.as_f64().expect("a number")),
                    _ => panic!("{name} says nothing of {value}"),
                },
            })
    }

    fn text_holds(&self, demand: &str, wanted: &Value, text: &str) -> bool {
        match demand {
            "notBlank" => !text.chars().all(|c| c.is_whitespace() || c.is_control()),
            "maxChars" => at_most(text.chars().count(), wanted),
            "matches" => self.expressions[wanted.as_str().expect("an expression")].is_match(text),
            // A number was wanted, which `type` says.
            "min" | "max" => false,
            other => panic!("`{other}` says nothing of a text"),
        }
    }
}

/// The values that a rule is about.
fn selected<'a>(rule: &Value, json: &'a Value) -> Vec<&'a Value> {
    match rule["at"].as_str().expect("a place") {
        "" => vec![json],
        "**" => texts(json),
        path => path.split('.').fold(vec![json], step),
    }
}

/// The values one step below: `name`, `name[]` or `name[field=text]`.
fn step<'a>(values: Vec<&'a Value>, segment: &str) -> Vec<&'a Value> {
    let Some((name, items)) = segment.split_once('[') else {
        return values.into_iter().filter_map(|value| value.get(segment)).collect();
    };
    let wanted = items.strip_suffix(']').expect("a closing bracket").split_once('=');
    let arrays = values.into_iter().filter_map(|value| value.get(name)?.as_array());
    let fits = |item: &&Value| wanted.is_none_or(|(field, text)| item[field] == text);
    arrays.flatten().filter(fits).collect()
}

/// Every text of a value, but those of fields `timestamp`.
fn texts(value: &Value) -> Vec<&Value> {
    match value {
        Value::String(_) => vec![value],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(fields) => {
            let shown = fields.iter().filter(|(name, _)| *name != "timestamp");
            shown.flat_map(|(_, value)| texts(value)).collect()
        }
        _ => Vec::new(),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_u64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn fields_hold(demand: &str, wanted: &Value, object: &Value) -> bool {
    let has = |name: &Value| object.get(name.as_str().expect("a name")).is_some();
    match demand {
        "required" => list(wanted).iter().all(has),
        "requiredAny" => list(wanted).iter().any(has),
        "only" => object
            .as_object()
            .is_some_and(|fields| fields.keys().all(|field| list(wanted).iter().any(|name| name == field))),
        other => panic!("`{other}` says nothing of an object"),
    }
}

fn items_hold(demand: &str, wanted: &Value, items: &[Value], array: &Value) -> bool {
    match demand {
        "minItems" => wanted.as_u64().is_some_and(|min| items.len() as u64 >= min),
        "maxItems" => at_most(items.len(), wanted),
        "maxCharsOfAllTexts" => {
            let texts = texts(array).into_iter().filter_map(Value::as_str);
            at_most(texts.map(|text| text.chars().count()).sum(), wanted)
        }
        other => panic!("`{other}` says nothing of an array"),
    }
}

fn number_holds(demand: &str, wanted: &Value, number: f64) -> bool {
    let wanted = wanted.as_f64().expect("a number");
    match demand {
        "min" => number >= wanted,
        "max" => number <= wanted,
        other => panic!("`{other}` says nothing of a number"),
    }
}

fn at_most(count: usize, wanted: &Value) -> bool {
    u64::try_from(count).expect("a size") <= wanted.as_u64().expect("a number")
}

fn list(wanted: &Value) -> &[Value] {
    wanted.as_array().expect("a list")
}
