//! Completions need neither a server nor a home.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::desk::{Desk, binary};

#[test]
fn every_shell_gets_completions_that_name_the_commands() {
    let desk = Desk::without_server();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let printed = Command::new(binary())
            .args(["completions", shell])
            .env_clear()
            .output()
            .unwrap();
        let script = String::from_utf8(printed.stdout).unwrap();
        assert!(
            printed.status.success() && printed.stderr.is_empty(),
            "{shell}: {script}"
        );
        for word in ["inbox", "redeliver", "blackhole", "api-key-file"] {
            assert!(script.contains(word), "{shell} does not know {word}");
        }
    }
    let _ = desk
        .run(["completions", "nosuchshell"])
        .expect_error(&["bash", "zsh", "fish"]);
}

#[test]
fn bash_takes_its_completions() {
    let script = Desk::without_server().run(["completions", "bash"]).expect(0).out;
    let mut bash = Command::new("bash").arg("-n").stdin(Stdio::piped()).spawn().unwrap();
    bash.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    assert!(bash.wait().unwrap().success());
}
