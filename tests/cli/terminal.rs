//! What somebody at a terminal sees. `script` (of util-linux) is the terminal.

use std::process::{Command, Stdio};

use crate::desk::{Desk, binary};
use crate::hostile;

/// What the command writes to a terminal of 100 columns.
fn at_a_terminal(desk: &Desk, environment: &[(&str, &str)], arguments: &[&str]) -> String {
    // No argument here needs quoting.
    let line = format!("stty cols 100; exec {} {}", binary().display(), arguments.join(" "));
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
    script
        .env_clear()
        .env("HOME", desk.path(""))
        .env("TERM", "xterm-256color");
    script.envs(environment.iter().copied()).current_dir(desk.path(""));
    let output = script.stdin(Stdio::null()).output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{arguments:?}: {shown}");
    shown
}

/// A desk with a mail, and what is shown of it.
fn desk() -> Desk {
    let desk = Desk::with_settings(&[("WEBHOOK_ALLOW_HTTP", "true")]);
    let address = desk.create_inbox(&["somebody@restante.test"]);
    desk.server().send(&address, "Hello", "It works.");
    desk
}

/// Commands that show something in bold, dim or colour.
const COMMANDS: [&[&str]; 5] = [
    &["inbox", "list"],
    &["email", "list"],
    &["email", "view"],
    &["wait"],
    &["watch", "--existing", "--count", "1"],
];

#[test]
fn a_terminal_shows_colours_unless_it_is_told_not_to() {
    let desk = desk();
    let coloured = |environment: &[(&str, &str)], extra: &[&str]| {
        let shown = COMMANDS.map(|command| {
            let arguments: Vec<_> = command.iter().chain(extra).copied().collect();
            at_a_terminal(&desk, environment, &arguments)
        });
        shown.iter().filter(|shown| has_colour(shown)).count()
    };
    assert_eq!(coloured(&[], &[]), COMMANDS.len());
    assert_eq!(coloured(&[("NO_COLOR", "1")], &[]), 0);
    assert_eq!(coloured(&[], &["--color", "never"]), 0);
}

#[test]
fn elsewhere_nothing_but_text_is_written() {
    let desk = desk();
    for command in COMMANDS {
        let plain = desk.run(command).expect(0);
        assert!(!plain.all().contains('\u{1b}'), "{command:?}: {plain:?}");
    }
}

#[test]
fn mail_does_not_control_the_terminal() {
    let desk = Desk::new();
    let address = desk.create_inbox(&[]);
    let id = desk.deliver_raw(&address, &hostile::message());
    let commands: [&[&str]; 8] = [
        &["email", "list"],
        &["email", "view"],
        &["email", "view", &id, "--headers"],
        &["email", "view", "--html"],
        &["email", "raw"],
        &["email", "links"],
        &["email", "attachments"],
        &["watch", "--existing", "--count", "1"],
    ];
    for command in commands {
        // Without colours the command itself has nothing to say to the terminal.
        let shown = at_a_terminal(&desk, &[("NO_COLOR", "1")], command).replace("\r\n", "\n");
        let found = shown.chars().find(|letter| hostile::is_hostile(*letter));
        assert_eq!(found, None, "{command:?}: {shown:?}");
    }
}

#[test]
fn json_on_a_terminal_has_a_line_for_each_field() {
    let desk = desk();
    let shown = at_a_terminal(&desk, &[], &["inbox", "info", "--json"]);
    assert!(shown.lines().count() > 4, "{shown}");
    let piped = desk.run(["inbox", "info", "--json"]).expect(0);
    assert_eq!(piped.out.lines().count(), 1, "{piped:?}");
}

/// Whether there is a sequence that sets colours or weights: ESC, `[`, numbers, `m`.
fn has_colour(shown: &str) -> bool {
    shown.split("\u{1b}[").skip(1).any(|sequence| {
        let end = sequence.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == ';');
        end.starts_with('m')
    })
}
