//! A reader that goes away, as `head` does, is no failure and no panic.

use std::io::pipe;
use std::process::Stdio;

use crate::desk::Desk;

#[test]
fn a_broken_pipe_is_quiet() {
    let desk = Desk::new();
    let address = desk.create_inbox(&[]);
    desk.server().send(&address, "Hello", "x");
    let commands: [&[&str]; 9] = [
        &["inbox", "list"],
        &["email", "list"],
        &["email", "view"],
        &["email", "raw"],
        &["wait"],
        &["watch", "--existing"],
        &["server", "info"],
        &["completions", "bash"],
        &["--help"],
    ];
    for command in commands {
        for extra in [&[][..], &["--json"]] {
            let (reader, writer) = pipe().unwrap();
            drop(reader);
            let mut child = desk.command(command.iter().chain(extra));
            let output = child.stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
            let output = output.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(
                !said.contains("panicked") && !said.contains("error"),
                "{command:?}: {said}"
            );
            assert_eq!(output.status.code(), Some(0), "{command:?}: {said}");
        }
    }
}
