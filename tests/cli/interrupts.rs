//! Ctrl-C ends the command while it reads what does not come.

use std::fs::OpenOptions;
use std::io::{Write as _, pipe};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::desk::Desk;

#[test]
fn a_pipe_that_says_nothing_does_not_hold_ctrl_c_up() {
    let desk = Desk::new();
    let fifo = desk.path("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let commands: [&[&str]; 4] = [
        &["inbox", "import", "fifo"],
        &["inbox", "list", "--config", "fifo"],
        &["inbox", "list", "--api-key-file", "fifo"],
        &["webhook", "create", "https://hook.test/", "--template", "@fifo"],
    ];
    for command in commands {
        let child = desk.start(command);
        // This waits until the command has opened the other end.
        let silent = OpenOptions::new().write(true).open(&fifo).unwrap();
        interrupted(child, command);
        drop(silent);
    }
}

#[test]
fn a_standard_input_that_does_not_end_does_not_hold_ctrl_c_up() {
    let desk = Desk::new();
    let (reader, mut writer) = pipe().unwrap();
    let watched = reader.try_clone().unwrap();
    let mut command = desk.command(["inbox", "import", "-"]);
    let child = command.stdin(reader).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = child.spawn().unwrap();
    writer.write_all(b"{").unwrap();
    while rustix::io::ioctl_fionread(&watched).unwrap() > 0 {
        std::thread::yield_now();
    }
    interrupted(child, &["inbox", "import", "-"]);
}

/// Interrupts a command, which ends without a word.
#[track_caller]
fn interrupted(child: Child, command: &[&str]) {
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(
        (output.status.code(), output.stdout.len(), said.as_str()),
        (Some(130), 0, ""),
        "{command:?}"
    );
}
