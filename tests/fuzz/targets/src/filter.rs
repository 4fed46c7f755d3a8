//! Filters: rules of users over texts of strangers.
//!
//! Head: a field, an operator, whether case matters. Then the value, NUL, and the text that the field holds; or the JSON of
//! a filter.

use restante_model::ArrivalEvent;
use restante_model::event::EventMailbox;
use restante_model::webhook::{FilterConfig, FilterMode, FilterOperator, FilterRule};
use restante_webhook::{Filter, FilterError};

use crate::{event, head};

/// Bytes of the head.
pub(crate) const HEAD: usize = 3;

/// Runs a rule over a text, alone and with itself in both modes, and any JSON that is a filter.
///
/// # Panics
/// - A rule matches where the reference does not, or the other way round.
/// - A rule together with itself matches otherwise than alone.
/// - A refusal is not one line that names the rule and what is wrong with it.
pub fn run(input: &[u8]) {
    let (head, rest) = head::split::<HEAD>(input);
    let (value, text) = event::halves(rest);
    let fields = FilterRule::FIELDS;
    // Beyond the last of them: a header.
    let field = fields
        .get(usize::from(head[0]) % (fields.len() + 1))
        .unwrap_or(&"header.X-Fuzz");
    let rule = FilterRule {
        field: (*field).to_owned(),
        operator: FilterOperator::ALL[usize::from(head[1]) % FilterOperator::ALL.len()],
        value: Some(value.clone()),
        case_sensitive: head[2] % 2 == 1,
    };
    let event = event_with(field, &text);
    if let Some(found) = matched(FilterMode::All, vec![rule.clone()], &event) {
        if let Some(expected) = reference(&rule, &value, &seen(field, &text)) {
            assert_eq!(found, expected, "{rule:?} of {text:?}");
        }
        for mode in [FilterMode::All, FilterMode::Any] {
            assert_eq!(matched(mode, vec![rule.clone(), rule.clone()], &event), Some(found));
        }
    }
    if let Ok(config) = serde_json::from_str::<FilterConfig>(&value) {
        matched(config.mode, config.rules, &event);
    }
}

/// Whether rules match; nothing if they are none, which is told in one line.
fn matched(mode: FilterMode, rules: Vec<FilterRule>, event: &ArrivalEvent) -> Option<bool> {
    let count = rules.len();
    let config = FilterConfig {
        mode,
        rules,
        require_auth: None,
    };
    match Filter::compile(&config) {
        Ok(filter) => Some(filter.matches_arrival(event)),
        Err(error) => {
            let (rule, is_value) = match error {
                FilterError::Field { rule, .. } => (rule, false),
                FilterError::NoValue { rule } | FilterError::Expression { rule, .. } => (rule, true),
            };
            let message = error.to_string();
            assert!(rule < count);
            assert!(message.starts_with(&format!(
                "filter.rules[{rule}].{}: ",
                if is_value { "value" } else { "field" }
            )));
            assert!(!is_value || !message.contains('\n'), "{message}");
            None
        }
    }
}

fn event_with(field: &str, text: &str) -> ArrivalEvent {
    let mut event = event::arrival();
    let mailbox = |address: &str, name: &str| EventMailbox {
        address: address.to_owned(),
        name: Some(name.to_owned()),
    };
    match field {
        "subject" => text.clone_into(&mut event.subject),
        "from.address" => event.from = mailbox(text, "x"),
        "from.name" => event.from = mailbox("x", text),
        "to.address" => event.to[0] = mailbox(text, "x"),
        "to.name" => event.to[0] = mailbox("x", text),
        "body.text" => event.text = Some(text.to_owned()),
        "body.html" => event.html = Some(text.to_owned()),
        _ => event.headers.push(("x-fuzz".to_owned(), text.to_owned())),
    }
    event
}

/// What a rule sees of a text: the first 5,120 bytes of a body, each value of a header.
fn seen(field: &str, text: &str) -> Vec<String> {
    if field.starts_with("header.") {
        return text.split('\n').map(str::to_owned).collect();
    }
    let mut bytes = 0;
    let whole = |c: &char| {
        bytes += c.len_utf8();
        !field.starts_with("body.") || bytes <= 5_120
    };
    vec![text.chars().take_while(whole).collect()]
}

/// Whether one of some texts stands to a value as a rule asks; nothing for regular expressions.
fn reference(rule: &FilterRule, value: &str, texts: &[String]) -> Option<bool> {
    let fold = |text: &str| -> Vec<char> {
        if rule.case_sensitive {
            return text.chars().collect();
        }
        let lower = text.chars().flat_map(char::to_lowercase);
        lower.map(|c| if c == 'ς' { 'σ' } else { c }).collect()
    };
    let value = match (rule.operator, value.chars().next()) {
        (FilterOperator::Domain, Some('@' | '.')) => &value[1..],
        _ => value,
    };
    let value = fold(value);
    let holds = |text: &[char]| match rule.operator {
        FilterOperator::Equals => Some(text == value),
        FilterOperator::Contains => Some((0..=text.len()).any(|start| text[start..].starts_with(&value))),
        FilterOperator::StartsWith => Some(text.starts_with(&value)),
        FilterOperator::EndsWith => Some(text.ends_with(&value)),
        FilterOperator::Domain => {
            let domain = text.rsplit(|c| *c == '@').next().unwrap_or_default();
            let labels: Vec<&[char]> = domain.split(|c| *c == '.').collect();
            let wanted: Vec<&[char]> = value.split(|c| *c == '.').collect();
            Some(labels.ends_with(&wanted))
        }
        FilterOperator::Exists => Some(true),
        FilterOperator::Regex => None,
    };
    let verdicts: Option<Vec<bool>> = texts.iter().map(|text| holds(&fold(text))).collect();
    verdicts.map(|verdicts| verdicts.contains(&true))
}
