//! Every scenario of `tests/vectors/filter`: what a filter matches, what it does not, and which filters are none.

use restante_model::webhook::FilterConfig;
use restante_webhook::Filter;
use restante_webhook::filter::{is_field, matches_removals, requires_auth};
use serde_json::Value;

#[path = "vector/event.rs"]
mod event;
#[path = "vector/scenario.rs"]
mod scenario;

use event::event;
use scenario::scenarios;

fn config(scenario: &Value) -> FilterConfig {
    serde_json::from_value(scenario["filter"].clone()).expect("a filter has the shape of one")
}

/// The scenarios with an `error`, or those without.
fn filters(are_wrong: bool, at_least: usize) -> Vec<(String, Value)> {
    let all = scenarios("filter", 80).into_iter();
    let named = all.map(|(path, scenario)| {
        (
            path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            scenario,
        )
    });
    let chosen: Vec<_> = named
        .filter(|(_, scenario)| scenario.get("error").is_some() == are_wrong)
        .collect();
    assert!(chosen.len() >= at_least, "only {} filters", chosen.len());
    chosen
}

#[test]
fn filters_match_what_the_scenarios_say() {
    let mut wrong = Vec::new();
    for (name, scenario) in filters(false, 65) {
        let filter = Filter::compile(&config(&scenario)).unwrap_or_else(|error| panic!("{name}: {error}"));
        for (list, expected) in [("matches", true), ("fails", false)] {
            for changes in scenario[list].as_array().expect("a list of events") {
                if filter.matches_arrival(&event(changes)) != expected {
                    wrong.push(format!("{name} {list}: {changes}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Filters that match everything, and one that matches nothing.
const ONE_WAY: [&str; 4] = ["auth-is-apart", "header-repeated-apart", "no-rules-all", "no-rules-any"];

#[test]
fn each_filter_is_tried_both_ways() {
    let filters = filters(false, 65);
    let is_empty = |scenario: &Value, list: &str| scenario[list].as_array().is_some_and(Vec::is_empty);
    let one_way = filters
        .iter()
        .filter(|(_, scenario)| ["matches", "fails"].iter().any(|list| is_empty(scenario, list)));
    let names: Vec<&str> = one_way.map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ONE_WAY);
}

#[test]
fn wrong_filters_say_which_rule_why_and_what_is_allowed() {
    for (name, scenario) in filters(true, 14) {
        let error = Filter::compile(&config(&scenario)).expect_err(&name).to_string();
        for part in scenario["error"].as_array().expect("parts of the message") {
            let part = part.as_str().expect("a text");
            assert!(error.contains(part), "{name}: `{error}` lacks `{part}`");
        }
        assert!(!error.contains('\n'), "{name}: {error}");
    }
}

#[test]
fn fields_are_those_of_the_interface() {
    for name in [
        "subject",
        "from.address",
        "from.name",
        "to.address",
        "to.name",
        "body.text",
        "body.html",
        "header.X-Any",
    ] {
        assert!(is_field(name), "{name}");
    }
    for name in [
        "",
        "header",
        "header.",
        "Subject",
        "from",
        "cc.address",
        "body",
        "headers.x",
    ] {
        assert!(!is_field(name), "{name}");
    }
}

fn filter(json: &str) -> FilterConfig {
    serde_json::from_str(json).expect("a filter")
}

#[test]
fn a_removal_is_told_where_nothing_of_the_email_is_asked() {
    let without_rules = filter(r#"{"mode":"any","rules":[]}"#);
    let with_rules = filter(r#"{"mode":"all","rules":[{"field":"subject","operator":"exists"}]}"#);
    let with_auth = filter(r#"{"mode":"all","rules":[],"requireAuth":true}"#);
    let without_auth = filter(r#"{"mode":"all","rules":[],"requireAuth":false}"#);
    for (filter, by_default, wanted) in [
        (None, false, true),
        (None, true, false),
        (Some(&without_rules), false, true),
        (Some(&without_rules), true, false),
        (Some(&with_rules), false, false),
        (Some(&with_auth), false, false),
        (Some(&without_auth), true, true),
    ] {
        assert_eq!(matches_removals(filter, by_default), wanted, "{filter:?} {by_default}");
    }
    assert!(requires_auth(Some(&with_auth), false) && !requires_auth(Some(&without_auth), true));
    assert!(requires_auth(None, true) && !requires_auth(Some(&with_rules), false));
}
