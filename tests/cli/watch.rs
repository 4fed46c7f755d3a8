//! `watch`: one line a mail, live.

use std::io::{BufRead as _, BufReader, Read as _};

use serde_json::Value;

use crate::desk::Desk;

#[test]
fn three_mails_are_three_lines_of_json() {
    let desk = Desk::new();
    let address = desk.create_inbox(&[]);
    for number in 1..=3 {
        desk.server().send(&address, &format!("Mail {number}"), "x");
    }
    let lines = desk
        .run(["watch", "--existing", "--json", "--count", "3"])
        .expect(0)
        .json_lines();
    assert_eq!(subjects(&lines), ["Mail 1", "Mail 2", "Mail 3"]);
    assert!(lines.iter().all(|line| line.get("parsed").is_none()), "{lines:?}");
    let text = desk.run(["watch", "--existing", "--count", "3"]).expect(0);
    assert_eq!(text.out.lines().count(), 3, "{text:?}");
    assert!(!text.out.contains('\u{1b}'), "{text:?}");
}

#[test]
fn mail_is_shown_when_it_comes_for_every_inbox_that_is_watched() {
    for mode in ["--plain", "--encrypted"] {
        let desk = Desk::new();
        let [first, second, third] = [(); 3].map(|()| desk.create_inbox(&[mode]));
        desk.server().send(&first, "From before", "x");
        let mut watching = desk.start(&["watch", &first, &second, "--count", "2"]);
        // What it says of itself comes when nothing more can be missed.
        let mut said = BufReader::new(watching.stderr.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        assert!(line.starts_with("watching"), "{line}");
        desk.server().send(&third, "Not watched", "x");
        desk.server().send(&second, "Number one", "x");
        desk.server().send(&first, "Number two", "x");
        let mut out = String::new();
        watching.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        assert_eq!(watching.wait().unwrap().code(), Some(0), "{out}");
        let lines: Vec<_> = out.lines().collect();
        assert!(lines.len() == 2, "{mode}: {out}");
        assert!(
            lines[0].contains("Number one") && lines[0].contains(&second),
            "{mode}: {out}"
        );
        assert!(
            lines[1].contains("Number two") && lines[1].contains(&first),
            "{mode}: {out}"
        );
    }
}

#[test]
fn machines_are_told_when_it_begins() {
    let desk = Desk::new();
    let address = desk.create_inbox(&[]);
    let mut watching = desk.start(&["watch", "--json", "--count", "1"]);
    let mut line = String::new();
    let mut said = BufReader::new(watching.stderr.take().unwrap());
    said.read_line(&mut line).unwrap();
    assert!(line.starts_with("watching") && line.contains(&address), "{line}");
    desk.server().send(&address, "Seen", "x");
    let output = watching.wait_with_output().unwrap();
    let arrived: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(arrived["metadata"]["subject"], "Seen");
}

fn subjects(lines: &[Value]) -> Vec<&str> {
    lines
        .iter()
        .map(|line| line["metadata"]["subject"].as_str().unwrap())
        .collect()
}
