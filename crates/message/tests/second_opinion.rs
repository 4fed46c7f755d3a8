//! Python's email package reads the same messages: those under `tests/fixtures/messages`, and those of Python's own test
//! suite where it is installed.
//!
//! Where the two differ, `tests/second_opinion/differences.txt` says why.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use restante_message::{Mailbox, ParsedMessage, parse};
use serde_json::{Value, json};

#[test]
fn python_reads_the_same_or_the_difference_has_a_reason() {
    let Some(mut python) = Python::start() else {
        println!("skipped: there is no python3 with an email package");
        return;
    };
    let known = known_differences();
    let mut unknown = Vec::new();
    let mut compared = 0;
    for path in messages(&python) {
        let ours = parse(&std::fs::read(&path).expect("a message is readable"));
        check_shape(&ours, &path);
        let theirs = python.opinion(&path);
        compared += usize::from(theirs.as_object().is_some_and(|fields| !fields.is_empty()));
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for (field, difference) in differences(&ours, &theirs) {
            if !known.contains(&(name.clone(), field.to_owned())) {
                unknown.push(format!("{name} {field}: {difference}"));
            }
        }
    }
    assert!(compared >= 100, "Python had an opinion on {compared} messages only");
    assert!(unknown.is_empty(), "not as Python reads it:\n{}", unknown.join("\n"));
}

/// The messages of the repository, then those of Python.
fn messages(python: &Python) -> Vec<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/messages");
    let mut paths = files(&own, "eml");
    match &python.test_messages {
        Some(folder) => paths.extend(files(folder, "txt")),
        None => println!("skipped: Python's own test messages are not installed"),
    }
    paths
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the folder is readable")
        .map(|entry| entry.expect("the folder is readable").path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    paths.sort();
    assert!(paths.len() >= 20, "{} has few messages", folder.display());
    paths
}

/// What holds of every message, whoever wrote it.
fn check_shape(message: &ParsedMessage, path: &Path) {
    let place = path.display();
    let bodies = [&message.text, &message.html].into_iter().flatten();
    assert!(bodies.into_iter().all(|body| !body.contains("\r\n")), "{place}");
    assert!(message.text.is_some() || message.html.is_none(), "{place}");
    let mut names = HashSet::new();
    for (name, value) in &message.headers {
        assert!(
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_graphic()),
            "{place}"
        );
        assert!(
            *name == name.to_ascii_lowercase() && names.insert(name),
            "{place}: {name}"
        );
        let is_unfit = |c: char| c.is_control() && c != '\n' && c != '\t';
        assert!(!value.contains(is_unfit), "{place}: {name}");
    }
    for attachment in &message.attachments {
        assert!(
            !attachment.filename.is_empty() && !attachment.filename.contains(char::is_control),
            "{place}"
        );
        assert!(attachment.content_type.contains('/'), "{place}");
        assert!(
            ["attachment", "inline"].contains(&attachment.content_disposition.as_str()),
            "{place}"
        );
    }
    assert!(message.links.iter().all(|link| link.chars().count() <= 2048), "{place}");
    assert_eq!(
        message.links.iter().collect::<HashSet<_>>().len(),
        message.links.len(),
        "{place}"
    );
}

/// The fields that Python has an opinion on and reads in another way.
fn differences(ours: &ParsedMessage, theirs: &Value) -> Vec<(&'static str, String)> {
    let addresses =
        |mailboxes: &[Mailbox]| -> Value { mailboxes.iter().map(|mailbox| mailbox.address.as_str()).collect() };
    let fields = [
        ("subject", json!(ours.subject)),
        ("date", json!(ours.date.map(restante_model::Timestamp::unix_ms))),
        (
            "from",
            json!(ours.from_mailbox.as_ref().map(|mailbox| &mailbox.address)),
        ),
        ("to", addresses(&ours.to_mailboxes)),
        ("cc", addresses(&ours.cc_mailboxes)),
    ];
    let mut found = Vec::new();
    for (field, ours) in fields {
        let Some(theirs) = theirs.get(field) else { continue };
        if ours != *theirs {
            found.push((field, format!("ours {ours}, theirs {theirs}")));
        }
    }
    if let Some(parts) = theirs.get("parts").and_then(Value::as_array) {
        found.extend(missing_attachment(ours, parts).map(|difference| ("parts", difference)));
    }
    found
}

/// An attachment that is not among the parts that Python found, in their order.
fn missing_attachment(ours: &ParsedMessage, theirs: &[Value]) -> Option<String> {
    let mut rest = theirs.iter();
    let missing = ours.attachments.iter().find(|attachment| {
        let is_same = |part: &Value| {
            let content = &part["content"];
            part["contentType"] == attachment.content_type
                && part["filename"].as_str().unwrap_or("unnamed") == attachment.filename
                && (content.is_null() || *content == STANDARD.encode(&attachment.content))
        };
        !rest.any(is_same)
    })?;
    Some(format!("{} {}", missing.content_type, missing.filename))
}

/// The names of messages and fields that stand in the list of differences, each with a reason.
fn known_differences() -> HashSet<(String, String)> {
    let list = include_str!("second_opinion/differences.txt");
    let lines = list.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let mut words = line.splitn(3, ' ');
            let mut word = || words.next().filter(|word| !word.is_empty()).map(str::to_owned);
            let (name, field, reason) = (word(), word(), word());
            assert!(reason.is_some(), "a difference needs a reason: {line}");
            (name.unwrap_or_default(), field.unwrap_or_default())
        })
        .collect()
}

/// The script that reads messages, running.
struct Python {
    process: Child,
    answers: BufReader<std::process::ChildStdout>,
    /// Where Python's own test messages are.
    test_messages: Option<PathBuf>,
}

impl Python {
    /// Starts the script; none if there is no Python that can run it.
    fn start() -> Option<Self> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/second_opinion/read.py");
        let mut process = Command::new("python3")
            .arg(script)
            .env("PYTHONUTF8", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .ok()?;
        let mut answers = BufReader::new(process.stdout.take()?);
        let mut line = String::new();
        answers.read_line(&mut line).ok()?;
        let folder: Value = serde_json::from_str(&line).ok()?;
        let test_messages = folder.as_str().map(PathBuf::from);
        Some(Self {
            process,
            answers,
            test_messages,
        })
    }

    fn opinion(&mut self, path: &Path) -> Value {
        let questions = self.process.stdin.as_mut().expect("it is a pipe");
        writeln!(questions, "{}", path.display()).expect("the script reads");
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("the script answers");
        serde_json::from_str(&line).unwrap_or_else(|e| panic!("{}: {e}: {line:?}", path.display()))
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}
