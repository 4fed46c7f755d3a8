//! Reading the filter of a webhook (interface, "Filters").

use restante_model::webhook::{FilterConfig, FilterMode, FilterOperator, FilterRule};
use serde_json::Value;

use super::at_most;
use crate::fields::Fields;

/// Rules of a filter, at most.
const RULES_MAX: usize = 10;
/// Characters of a rule's value, at most.
const VALUE_MAX: usize = 1000;

/// Reads a filter; what is wrong with it is noted in `fields`, which it was taken from.
pub(super) fn read(fields: &mut Fields, value: Value) -> Option<FilterConfig> {
    let Value::Object(object) = value else {
        return fields.wrong("filter", "must be an object");
    };
    let mut filter = Fields::at("filter", object);
    let mode = match filter.text("mode").as_deref() {
        None => FilterMode::default(),
        Some("all") => FilterMode::All,
        Some("any") => FilterMode::Any,
        Some(_) => filter.wrong("mode", "must be 'all' or 'any'").unwrap_or_default(),
    };
    let rules = match filter.take("rules") {
        None => Vec::new(),
        Some(Value::Array(rules)) => read_rules(&mut filter, rules),
        Some(_) => filter.wrong("rules", "must be an array").unwrap_or_default(),
    };
    let require_auth = filter.flag("requireAuth");
    fields.absorb(filter);
    Some(FilterConfig {
        mode,
        rules,
        require_auth,
    })
}

/// The rules that can be read; those of a list that is too long are not looked at.
fn read_rules(filter: &mut Fields, rules: Vec<Value>) -> Vec<FilterRule> {
    if rules.len() > RULES_MAX {
        let too_many = format!("must have at most {RULES_MAX} entries");
        return filter.wrong("rules", &too_many).unwrap_or_default();
    }
    let rules = rules.into_iter().enumerate();
    rules
        .filter_map(|(index, rule)| {
            let name = format!("rules[{index}]");
            let Value::Object(object) = rule else {
                return filter.wrong(&name, "must be an object");
            };
            let mut fields = Fields::at(&filter.path(&name), object);
            let rule = read_rule(&mut fields);
            filter.absorb(fields);
            rule
        })
        .collect()
}

fn read_rule(rule: &mut Fields) -> Option<FilterRule> {
    let field = required(rule, "field").and_then(|field| {
        if is_field(&field) {
            return Some(field);
        }
        let all = FilterRule::FIELDS.join(", ");
        let header = FilterRule::HEADER_FIELD;
        rule.wrong("field", &format!("must be one of {all}, {header}<Name>"))
    });
    let operator = required(rule, "operator").and_then(|word| {
        FilterOperator::parse(&word).or_else(|| {
            let all = FilterOperator::ALL.map(FilterOperator::as_str).join(", ");
            rule.wrong("operator", &format!("must be one of {all}"))
        })
    });
    let value = read_value(rule, operator);
    let case_sensitive = rule.flag("caseSensitive").unwrap_or(false);
    Some(FilterRule {
        field: field?,
        operator: operator?,
        value,
        case_sensitive,
    })
}

fn read_value(rule: &mut Fields, operator: Option<FilterOperator>) -> Option<String> {
    match rule.take("value") {
        Some(Value::String(value)) => at_most(rule, "value", value, VALUE_MAX),
        Some(_) => rule.wrong("value", "must be a string"),
        // Clients that read the rule again count on a value.
        None if operator == Some(FilterOperator::Exists) => Some(String::new()),
        None => rule.wrong("value", "is required, except by the operator exists"),
    }
}

fn required(rule: &mut Fields, name: &str) -> Option<String> {
    match rule.take(name) {
        Some(Value::String(text)) => Some(text),
        Some(_) => rule.wrong(name, "must be a string"),
        None => rule.wrong(name, "is required"),
    }
}

fn is_field(field: &str) -> bool {
    let header = field.strip_prefix(FilterRule::HEADER_FIELD);
    FilterRule::FIELDS.contains(&field) || header.is_some_and(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read_all(filter: Value) -> (Option<FilterConfig>, Vec<String>) {
        let mut fields = Fields::default();
        let filter = read(&mut fields, filter);
        (filter, fields.into_errors())
    }

    fn rule(field: &str, operator: &str, value: &str) -> Value {
        json!({ "field": field, "operator": operator, "value": value })
    }

    #[test]
    fn every_field_and_operator_is_read() {
        for field in FilterRule::FIELDS.into_iter().chain(["header.X-My", "header.a"]) {
            for operator in FilterOperator::ALL {
                let word = operator.as_str();
                let (filter, errors) = read_all(json!({ "rules": [rule(field, word, "x")] }));
                assert_eq!(errors, [""; 0], "{field} {word}");
                let expected = FilterRule {
                    field: field.into(),
                    operator,
                    value: Some("x".into()),
                    case_sensitive: false,
                };
                assert_eq!(filter.unwrap().rules, [expected]);
            }
        }
    }

    #[test]
    fn what_is_left_out_has_its_default() {
        for filter in [json!({}), json!({ "mode": null, "rules": null, "requireAuth": null })] {
            let (filter, errors) = read_all(filter);
            assert_eq!(errors, [""; 0]);
            let expected = FilterConfig {
                mode: FilterMode::All,
                rules: Vec::new(),
                require_auth: None,
            };
            assert_eq!(filter, Some(expected));
        }
        let exists = json!({ "rules": [{ "field": "to.name", "operator": "exists", "caseSensitive": null }] });
        let (filter, errors) = read_all(exists);
        assert_eq!(errors, [""; 0]);
        assert_eq!(filter.unwrap().rules[0].value.as_deref(), Some(""));
    }

    #[test]
    fn each_error_names_its_field_its_rule_and_what_is_allowed() {
        let long = "ü".repeat(VALUE_MAX + 1);
        let (_, errors) = read_all(json!({
            "mode": "some",
            "rules": [
                rule("subject", "contains", &"ü".repeat(VALUE_MAX)),
                1,
                rule("header.", "like", "x"),
                rule("subject", "equals", &long),
                { "field": 1, "operator": "domain", "value": 1, "caseSensitive": "no", "extra": 1 },
                {},
            ],
            "requireAuth": 1,
            "rulez": [],
        }));
        let expected = [
            "filter.mode must be 'all' or 'any'",
            "filter.rules[1] must be an object",
            "filter.rules[2].field must be one of subject, from.address, from.name, to.address, to.name, body.text, \
             body.html, header.<Name>",
            "filter.rules[2].operator must be one of equals, contains, starts_with, ends_with, domain, regex, exists",
            "filter.rules[3].value must be at most 1000 characters",
            "filter.rules[4].field must be a string",
            "filter.rules[4].value must be a string",
            "filter.rules[4].caseSensitive must be a boolean",
            "property filter.rules[4].extra should not exist",
            "filter.rules[5].field is required",
            "filter.rules[5].operator is required",
            "filter.rules[5].value is required, except by the operator exists",
            "filter.requireAuth must be a boolean",
            "property filter.rulez should not exist",
        ];
        assert_eq!(errors, expected);
    }

    #[test]
    fn ten_rules_are_read_and_eleven_refused() {
        let rules = |count| json!({ "rules": vec![rule("subject", "equals", "x"); count] });
        let (filter, errors) = read_all(rules(RULES_MAX));
        assert_eq!((filter.unwrap().rules.len(), errors), (RULES_MAX, Vec::new()));
        assert_eq!(
            read_all(rules(RULES_MAX + 1)).1,
            ["filter.rules must have at most 10 entries"]
        );
        assert_eq!(read_all(json!({ "rules": {} })).1, ["filter.rules must be an array"]);
        assert_eq!(read_all(json!([])).1, ["filter must be an object"]);
    }
}
