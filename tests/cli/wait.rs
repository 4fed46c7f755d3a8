//! Exit codes of `wait`: 0 found, 1 not found in time (or found in spite of `--none`), 2 could not look.

use crate::desk::Desk;

#[test]
fn what_is_there_is_found_by_every_matcher() {
    let desk = Desk::new();
    let address = desk.create_inbox(&[]);
    let head = "From: Shop <noreply@shop.test>\r\nSubject: Your receipt\r\nX-Campaign: spring sale\r\n";
    desk.server()
        .send_raw(&address, format!("{head}\r\nTotal: 12 EUR\r\n").as_bytes());
    for matcher in [
        ["--subject", "RECEIPT"],
        ["--from", "noreply@shop"],
        ["--to", address.as_str()],
        ["--text", "total: 12"],
        ["--header", "x-campaign: Spring"],
    ] {
        let found = desk
            .run(["wait", "--json", "--timeout", "20s"].iter().chain(&matcher))
            .expect(0);
        assert_eq!(found.json()["metadata"]["subject"], "Your receipt", "{matcher:?}");
        let silent = desk.run(["wait", "--quiet"].iter().chain(&matcher)).expect(0);
        assert_eq!(silent.all(), "", "{matcher:?}");
    }
    let all = ["wait", "--subject", "receipt", "--text", "another", "--timeout", "1s"];
    let _ = desk.run(all).expect(1);
}

#[test]
fn what_does_not_come_is_1_and_the_error_says_what_was_there() {
    let desk = Desk::new();
    let address = desk.create_inbox(&[]);
    desk.server().send(&address, "Something else", "x");
    for extra in [&[][..], &["--json"]] {
        let waited = desk.run(["wait", "--subject", "Welcome", "--timeout", "1s"].iter().chain(extra));
        let waited = waited.expect(1);
        assert_eq!(waited.out, "");
        for word in ["0 of 1", "Welcome", "1 s", "others there: 1"] {
            assert!(waited.err.contains(word), "{word} in {waited:?}");
        }
    }
}

#[test]
fn several_come_in_the_order_of_their_arrival() {
    let desk = Desk::new();
    let address = desk.create_inbox(&[]);
    for number in 1..=3 {
        desk.server().send(&address, &format!("Part {number}"), "x");
    }
    let found = desk
        .run(["wait", "--subject", "Part", "--count", "3", "--json"])
        .expect(0);
    let subjects: Vec<_> = found.json().as_array().unwrap().iter().map(subject).collect();
    assert_eq!(subjects, ["Part 1", "Part 2", "Part 3"]);
    let more = desk.run(["wait", "--count", "4", "--timeout", "1s"]).expect(1);
    assert!(more.err.contains("3 of 4"), "{more:?}");
}

#[test]
fn none_is_0_when_none_comes_and_1_when_one_does() {
    let desk = Desk::new();
    let address = desk.create_inbox(&[]);
    let none = ["wait", "--none", "--subject", "Invoice", "--timeout", "1s"];
    let _ = desk.run(none).expect(0);
    desk.server().send(&address, "Invoice 1", "x");
    let came = desk.run(none).expect(1);
    assert!(came.err.contains("Invoice"), "{came:?}");
}

#[test]
fn what_cannot_be_asked_is_2() {
    let desk = Desk::new();
    let _ = desk
        .run(["wait", "--timeout", "1s"])
        .expect_error(&["restante inbox create"]);
    let _ = desk
        .run(["wait", "--inbox", "nobody@restante.test"])
        .expect_error(&["nobody@restante.test"]);
    let _ = desk.create_inbox(&[]);
    let usage: [&[&str]; 4] = [
        &["--timeout", "soon"],
        &["--header", "no colon"],
        &["--count", "0"],
        &["--none", "--count", "2"],
    ];
    for arguments in usage {
        let _ = desk.run(["wait"].iter().chain(arguments)).expect_error(&[arguments[0]]);
    }
}

fn subject(email: &serde_json::Value) -> String {
    email["metadata"]["subject"].as_str().unwrap().to_owned()
}
