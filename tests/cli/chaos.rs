//! Mail that fails on purpose: `restante chaos`, and `restante send` meets it.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::json;

use crate::desk::Desk;

fn desk() -> Desk {
    Desk::with_settings(&[("CHAOS_ENABLED", "true")])
}

#[test]
fn faults_are_set_shown_met_and_cleared() {
    let desk = desk();
    let address = desk.create_inbox(&[]);
    let off = json!({ "enabled": false });
    assert_eq!(desk.run(["chaos", "show", "--json"]).expect(0).json(), off);
    let told = desk.run(["chaos", "set", "--error-rate", "1", "--permanent", "--for", "10m"]);
    let told = told.expect(0).out;
    for words in [&address, "ends in 10 min", "permanent (5xx), always"] {
        assert!(told.contains(words), "{words}: {told}");
    }
    assert_eq!(desk.run(["chaos", "show"]).expect(0).out, told);
    let refused = desk.run(["send"]).expect(2);
    assert!(refused.err.contains("55"), "{refused:?}");

    let _ = desk.run(["chaos", "set", "--greylist"]).expect(0);
    let _ = desk.run(["send"]).expect_error(&["451", "4.7.1"]);
    let _ = desk.run(["send"]).expect(0);
    let _ = desk.run(["chaos", "clear"]).expect(0);
    assert_eq!(desk.run(["chaos", "show", "--json"]).expect(0).json(), off);
    assert_eq!(desk.run(["chaos", "clear", "--json"]).expect(0).json(), off);
    let _ = desk.run(["send"]).expect(0);
}

#[test]
fn every_flag_is_a_field_of_the_interface() {
    let desk = desk();
    let _ = desk.create_inbox(&[]);
    let cases: [(&[&str], &str, serde_json::Value); 9] = [
        (&["--latency", "500ms..2s"], "latency", json!([500, 2000, true])),
        (&["--latency", "3s"], "latency", json!([3000, 3000, false])),
        (&["--drop"], "connectionDrop", json!([1.0, true])),
        (&["--drop=0.5"], "connectionDrop", json!([0.5, true])),
        (&["--reset"], "connectionDrop", json!([1.0, false])),
        (&["--error-rate", "0.3"], "randomError", json!([0.3, ["temporary"]])),
        (&["--greylist=3"], "greylist", json!([300_000, 3, "ip_sender"])),
        (&["--blackhole"], "blackhole", json!([false])),
        (&["--blackhole", "--tell-webhooks"], "blackhole", json!([true])),
    ];
    for (flags, section, expected) in cases {
        let set = desk
            .run(["chaos", "set", "--json"].iter().chain(flags))
            .expect(0)
            .json();
        assert_eq!(set["enabled"], true, "{flags:?}: {set}");
        let names: &[&str] = match section {
            "latency" => &["minDelayMs", "maxDelayMs", "jitter"],
            "connectionDrop" => &["probability", "graceful"],
            "randomError" => &["errorRate", "errorTypes"],
            "greylist" => &["retryWindowMs", "maxAttempts", "trackBy"],
            _ => &["triggerWebhooks"],
        };
        let found: Vec<_> = names.iter().map(|name| set[section][*name].clone()).collect();
        assert_eq!(json!(found), expected, "{flags:?}: {set}");
        assert_eq!(set.as_object().unwrap().len(), 2, "nothing else: {set}");
    }
}

#[test]
fn all_of_it_comes_from_a_file() {
    let desk = desk();
    let _ = desk.create_inbox(&[]);
    let _ = desk.run(["chaos", "set", "--latency", "1ms", "--drop=0.5"]).expect(0);
    let shown = desk.run(["chaos", "show", "--json"]).expect(0);
    let _ = desk.run(["chaos", "clear"]).expect(0);
    std::fs::write(desk.path("chaos.json"), &shown.out).unwrap();
    let set = desk.run(["chaos", "set", "--file", "chaos.json", "--json"]);
    assert_eq!(set.expect(0).json(), shown.json());

    let mut reading = desk.command(["chaos", "set", "--file", "-", "--json"]);
    let reading = reading.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut reading = reading.spawn().unwrap();
    let text = br#"{"enabled":false}"#;
    reading.stdin.take().unwrap().write_all(text).unwrap();
    let said = reading.wait_with_output().unwrap();
    assert_eq!((said.status.code(), said.stdout.trim_ascii()), (Some(0), &text[..]));

    for (text, part) in [
        ("{}", "enabled"),
        ("nonsense", "line 1"),
        (r#"{"enabled":true,"latencyy":{}}"#, "latencyy"),
    ] {
        std::fs::write(desk.path("chaos.json"), text).unwrap();
        let refused = desk.run(["chaos", "set", "--file", "chaos.json"]);
        let _ = refused.expect_error(&["chaos.json", part]);
    }
    let _ = desk
        .run(["chaos", "set", "--file", "none.json"])
        .expect_error(&["none.json"]);
}

#[test]
fn flags_that_make_no_sense_are_refused() {
    let desk = desk();
    let _ = desk.create_inbox(&[]);
    let cases: [(&[&str], &str); 12] = [
        (&["--latency", "2m"], "at most 60s"),
        (&["--latency", "2s..1s"], "the shorter span first"),
        (&["--blackhole", "--for", "0s"], "above 0"),
        (&[], "--blackhole"),
        (&["--for", "10m"], "--blackhole"),
        (&["--permanent", "--blackhole"], "--error-rate"),
        (&["--tell-webhooks", "--greylist"], "--blackhole"),
        (&["--drop", "--reset"], "--reset"),
        (&["--file", "x", "--blackhole"], "--blackhole"),
        (&["--latency", "500"], "500ms..2s"),
        (&["--error-rate", "30"], "from 0 to 1"),
        (&["--greylist=0"], "--greylist"),
    ];
    for (flags, words) in cases {
        let _ = desk.run(["chaos", "set"].iter().chain(flags)).expect_error(&[words]);
    }
    let too_long = desk.run(["chaos", "set", "--latency", "61s"]);
    let _ = too_long.expect_error(&["latency.maxDelayMs", "60000"]);
}

#[test]
fn a_server_that_does_not_do_it_says_how_it_would() {
    let desk = Desk::new();
    let _ = desk.create_inbox(&[]);
    for command in [&["show"][..], &["set", "--blackhole"], &["clear"]] {
        let refused = desk.run(["chaos"].iter().chain(command));
        let _ = refused.expect_error(&["SVC_CHAOS_ENABLED", "restante server info"]);
    }
}
