//! Seeds of filters and templates: the scenarios of `tests/vectors`.

use restante_model::webhook::{FilterOperator, FilterRule};
use serde_json::Value;

use super::{Inputs, files, numbered, read};

fn scenarios(folder: &str) -> Vec<Value> {
    let paths = files(&format!("vectors/{folder}"));
    let json = paths.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    json.map(|path| serde_json::from_slice(&read(&path)).expect("a scenario is JSON"))
        .collect()
}

/// Every filter as JSON, and each of its rules with the text of each event.
pub(super) fn filters() -> Inputs {
    let mut inputs = Vec::new();
    for scenario in scenarios("filter") {
        inputs.push([&[0; 3], scenario["filter"].to_string().as_bytes()].concat());
        for rule in scenario["filter"]["rules"].as_array().expect("a list of rules") {
            let value = rule["value"].as_str().unwrap_or_default();
            for text in texts(&scenario) {
                inputs.push([&head(rule)[..], value.as_bytes(), b"\0", text.as_bytes()].concat());
            }
        }
    }
    numbered(inputs.into_iter())
}

fn head(rule: &Value) -> [u8; 3] {
    let place = |list: &[&str], name: &Value| {
        let place = list.iter().position(|item| name == item).unwrap_or(list.len());
        u8::try_from(place).expect("a short list")
    };
    [
        place(&FilterRule::FIELDS, &rule["field"]),
        place(&FilterOperator::ALL.map(FilterOperator::as_str), &rule["operator"]),
        u8::from(rule["caseSensitive"] == true),
    ]
}

/// The texts of the events of a scenario, wherever they stand there.
fn texts(scenario: &Value) -> Vec<String> {
    let events = ["matches", "fails"]
        .into_iter()
        .filter_map(|list| scenario[list].as_array());
    let mut texts = vec![String::new()];
    events.flatten().for_each(|event| collect(event, &mut texts));
    texts
}

fn collect(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| collect(item, texts)),
        Value::Object(fields) => fields.values().for_each(|value| collect(value, texts)),
        _ => {}
    }
}

/// Every custom body as JSON and as a text, with the texts of its event.
pub(super) fn templates() -> Inputs {
    let mut inputs = Vec::new();
    for scenario in scenarios("template") {
        let body = scenario["template"]["body"].as_str().unwrap_or("[\"{{data}}\"]");
        let mut texts = vec![String::new(), "a \"text\" \\ \n".to_owned()];
        collect(&scenario["event"], &mut texts);
        for content_type in [0, 3] {
            let bodies = texts
                .iter()
                .map(|text| [&[content_type], body.as_bytes(), b"\0", text.as_bytes()].concat());
            inputs.extend(bodies);
        }
    }
    numbered(inputs.into_iter())
}
