//! Every field at its bounds, below and above them.

use serde_json::json;

use super::*;

/// What becomes of an object: the faults as they are shown, or what is wrong with it.
fn read_as(object: &Value) -> Result<Value, Vec<String>> {
    let Value::Object(map) = object else {
        panic!("an object: {object}");
    };
    let mut fields = Fields::of_body(map.clone());
    let chaos = read(&mut fields);
    let errors = fields.into_errors();
    if errors.is_empty() {
        Ok(serde_json::to_value(chaos.expect("nothing was wrong")).unwrap())
    } else {
        Err(errors)
    }
}

/// Faults of one section with this field.
fn with(section: &str, field: &str, value: &Value) -> Value {
    json!({ "enabled": true, section: { "enabled": true, field: value } })
}

#[test]
fn a_section_that_is_only_switched_on_has_the_defaults() {
    let on = json!({ "enabled": true });
    let all = json!({
        "enabled": true, "latency": on, "connectionDrop": on, "randomError": on, "greylist": on, "blackhole": on,
    });
    let expected = json!({
        "enabled": true,
        "latency": { "enabled": true, "minDelayMs": 500, "maxDelayMs": 10000, "jitter": true, "probability": 1.0 },
        "connectionDrop": { "enabled": true, "probability": 1.0, "graceful": true },
        "randomError": { "enabled": true, "errorRate": 0.1, "errorTypes": ["temporary"] },
        "greylist": { "enabled": true, "retryWindowMs": 300_000, "maxAttempts": 2, "trackBy": "ip_sender" },
        "blackhole": { "enabled": true, "triggerWebhooks": false },
    });
    assert_eq!(read_as(&all).unwrap(), expected);
    assert_eq!(read_as(&expected).unwrap(), expected, "what is shown can be sent");
}

#[test]
fn what_is_not_given_stays_absent_and_null_is_not_given() {
    let nothing = json!({
        "enabled": false, "expiresAt": null, "latency": null, "connectionDrop": null, "randomError": null,
        "greylist": null, "blackhole": null,
    });
    assert_eq!(read_as(&nothing).unwrap(), json!({ "enabled": false }));
    let latency = json!({
        "enabled": true,
        "latency": { "enabled": false, "minDelayMs": null, "maxDelayMs": null, "jitter": null, "probability": null },
    });
    let shown = read_as(&latency).unwrap();
    assert_eq!(shown["latency"]["minDelayMs"], 500);
    assert_eq!(shown["latency"]["enabled"], false);
}

/// The Go SDK sends every field of a section that is given, those too that were not set.
#[test]
fn zeros_of_unset_fields_are_accepted() {
    let zeros = json!({
        "enabled": true,
        "latency": { "enabled": true, "minDelayMs": 0, "maxDelayMs": 0, "jitter": false, "probability": 0 },
        "connectionDrop": { "enabled": true, "probability": 0, "graceful": false },
        "randomError": { "enabled": true, "errorRate": 0, "errorTypes": [] },
        "greylist": { "enabled": true, "retryWindowMs": 0, "maxAttempts": 0, "trackBy": "" },
        "blackhole": { "enabled": true, "triggerWebhooks": false },
    });
    let expected = json!({
        "enabled": true,
        "latency": { "enabled": true, "minDelayMs": 0, "maxDelayMs": 0, "jitter": false, "probability": 0.0 },
        "connectionDrop": { "enabled": true, "probability": 0.0, "graceful": false },
        "randomError": { "enabled": true, "errorRate": 0.0, "errorTypes": ["temporary"] },
        "greylist": { "enabled": true, "retryWindowMs": 300_000, "maxAttempts": 2, "trackBy": "ip_sender" },
        "blackhole": { "enabled": true, "triggerWebhooks": false },
    });
    assert_eq!(read_as(&zeros).unwrap(), expected);
}

#[test]
fn a_value_within_its_bounds_is_kept() {
    for (section, field, value) in [
        ("latency", "minDelayMs", json!(1)),
        ("latency", "minDelayMs", json!(60_000)),
        ("latency", "maxDelayMs", json!(60_000)),
        ("latency", "jitter", json!(false)),
        ("latency", "probability", json!(0.5)),
        ("latency", "probability", json!(1.0)),
        ("connectionDrop", "probability", json!(0.3)),
        ("connectionDrop", "graceful", json!(false)),
        ("randomError", "errorRate", json!(1.0)),
        ("randomError", "errorTypes", json!(["permanent"])),
        ("randomError", "errorTypes", json!(["permanent", "temporary"])),
        ("greylist", "retryWindowMs", json!(1)),
        ("greylist", "retryWindowMs", json!(604_800_000)),
        ("greylist", "maxAttempts", json!(1)),
        ("greylist", "maxAttempts", json!(1000)),
        ("greylist", "trackBy", json!("ip")),
        ("greylist", "trackBy", json!("sender")),
        ("greylist", "trackBy", json!("ip_sender")),
        ("blackhole", "triggerWebhooks", json!(true)),
    ] {
        let shown = read_as(&with(section, field, &value)).unwrap();
        assert_eq!(shown[section][field], value, "{section}.{field}");
    }
}

#[test]
fn a_value_in_another_spelling_is_shown_in_ours() {
    for (section, field, given, shown) in [
        ("latency", "maxDelayMs", json!(60_000.0), json!(60_000)),
        ("latency", "minDelayMs", json!(-0.0), json!(0)),
        ("latency", "probability", json!(1), json!(1.0)),
        ("latency", "probability", json!(-0.0), json!(0.0)),
        (
            "randomError",
            "errorTypes",
            json!(["temporary", "temporary"]),
            json!(["temporary"]),
        ),
    ] {
        let read = read_as(&with(section, field, &given)).unwrap();
        assert_eq!(read[section][field].to_string(), shown.to_string(), "{section}.{field}");
    }
    for (given, shown) in [
        ("2026-01-25T12:41:16+01:00", "2026-01-25T11:41:16.000Z"),
        ("2026-01-25T11:41:16.123456+00:00", "2026-01-25T11:41:16.123Z"),
        ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000Z"),
        ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
    ] {
        let read = read_as(&json!({ "enabled": true, "expiresAt": given })).unwrap();
        assert_eq!(read["expiresAt"], shown);
    }
}

#[test]
fn a_value_out_of_its_bounds_is_refused_by_its_path() {
    let delay = "must be a whole number from 0 to 60000";
    let share = "must be a number from 0 to 1";
    let window = "must be a whole number from 0 to 604800000";
    let attempts = "must be a whole number from 0 to 1000";
    let kinds = "must be an array of 'temporary' and 'permanent'";
    let track = "must be 'ip', 'sender' or 'ip_sender'";
    let flag = "must be a boolean";
    for (section, field, rule, values) in [
        (
            "latency",
            "minDelayMs",
            delay,
            vec![json!(60_001), json!(-1), json!(0.5), json!("1"), json!(true)],
        ),
        (
            "latency",
            "maxDelayMs",
            delay,
            vec![json!(60_001), json!(-1), json!(-0.5), json!(1e300), json!([])],
        ),
        ("latency", "jitter", flag, vec![json!(1), json!("true")]),
        (
            "latency",
            "probability",
            share,
            vec![json!(1.001), json!(-0.001), json!("1"), json!(true)],
        ),
        (
            "connectionDrop",
            "probability",
            share,
            vec![json!(2), json!(-1), json!({})],
        ),
        ("connectionDrop", "graceful", flag, vec![json!(0)]),
        (
            "randomError",
            "errorRate",
            share,
            vec![json!(1.001), json!(-0.001), json!("0.1")],
        ),
        (
            "randomError",
            "errorTypes",
            kinds,
            vec![
                json!("temporary"),
                json!(["temporary", "hard"]),
                json!([1]),
                json!([null]),
                json!(["Temporary"]),
            ],
        ),
        (
            "greylist",
            "retryWindowMs",
            window,
            vec![json!(604_800_001), json!(-1), json!(0.5), json!("1")],
        ),
        (
            "greylist",
            "maxAttempts",
            attempts,
            vec![json!(1001), json!(-1), json!(1.5), json!(u64::MAX)],
        ),
        (
            "greylist",
            "trackBy",
            track,
            vec![json!("IP"), json!("sender_ip"), json!(1), json!(["ip"])],
        ),
        ("blackhole", "triggerWebhooks", flag, vec![json!("no"), json!(0)]),
    ] {
        for value in values {
            let expected = format!("{section}.{field} {rule}");
            assert_eq!(read_as(&with(section, field, &value)), Err(vec![expected]), "{value}");
        }
    }
}

#[test]
fn the_whole_and_every_section_must_say_whether_they_are_on() {
    for (given, rule) in [
        (json!({}), "enabled is required"),
        (json!({ "enabled": null }), "enabled is required"),
        (json!({ "enabled": "true" }), "enabled must be a boolean"),
        (json!({ "enabled": 1 }), "enabled must be a boolean"),
    ] {
        assert_eq!(read_as(&given), Err(vec![rule.to_owned()]));
        for section in ["latency", "connectionDrop", "randomError", "greylist", "blackhole"] {
            let whole = json!({ "enabled": true, section: given });
            assert_eq!(read_as(&whole), Err(vec![format!("{section}.{rule}")]));
        }
    }
}

#[test]
fn what_is_no_section_and_no_moment_is_refused() {
    for section in ["latency", "connectionDrop", "randomError", "greylist", "blackhole"] {
        for value in [json!(true), json!([]), json!("on")] {
            let whole = json!({ "enabled": true, section: value });
            assert_eq!(read_as(&whole), Err(vec![format!("{section} must be an object")]));
        }
    }
    let rule = "expiresAt must be an ISO 8601 timestamp with an offset, from 1970 on";
    for value in [
        json!("2026-01-25"),
        json!("2026-01-25T11:41:16"),
        json!("soon"),
        json!(""),
        json!(1_769_341_276_000_u64),
        json!("1969-12-31T23:59:59.999Z"),
    ] {
        let whole = json!({ "enabled": true, "expiresAt": value });
        assert_eq!(read_as(&whole), Err(vec![rule.to_owned()]), "{value}");
    }
}

#[test]
fn all_that_is_wrong_is_told_at_once_and_unknown_fields_are() {
    let wrong = json!({
        "enable": true,
        "latency": { "enabled": true, "maxDelayMs": 60_001, "minDelay": 1 },
        "blackhole": { "triggerWebhook": true },
    });
    let expected = [
        "enabled is required",
        "latency.maxDelayMs must be a whole number from 0 to 60000",
        "property latency.minDelay should not exist",
        "blackhole.enabled is required",
        "property blackhole.triggerWebhook should not exist",
        "property enable should not exist",
    ];
    assert_eq!(read_as(&wrong).unwrap_err(), expected);
}

#[test]
fn faults_in_a_field_are_named_by_their_whole_path() {
    let body = json!({ "chaos": { "enabled": true, "latency": { "enabled": true, "maxDelayMs": -1 } }, "x": {} });
    let mut fields = Fields::of_body(body.as_object().unwrap().clone());
    field(&mut fields, "chaos");
    assert!(field(&mut fields, "absent").is_none());
    let expected = [
        "chaos.latency.maxDelayMs must be a whole number from 0 to 60000",
        "property x should not exist",
    ];
    assert_eq!(fields.into_errors(), expected);
}
