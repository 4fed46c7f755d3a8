//! The system calls of a server in the order in which they happen, as strace writes them down.

use std::path::{Path, PathBuf};

/// Calls that make files and directories, change them and make them durable, and those that answer a client.
pub(crate) const OPTIONS: [&str; 4] = [
    "--trace=mkdir,rename,renameat,renameat2,openat,write,writev,pwrite64,fsync,fdatasync,sendto",
    // Descriptors with the file that they stand for.
    "--decode-fds=path",
    "--string-limit=16000",
    "--seccomp-bpf",
];

/// A call that succeeded.
#[derive(Debug)]
pub(crate) struct Call {
    /// Name and arguments.
    pub(crate) text: String,
    /// The line of the trace where it begins; until then nothing of it has happened.
    pub(crate) begin: usize,
    /// The line where it has ended.
    pub(crate) end: usize,
}

impl Call {
    /// Whether this is one of these calls.
    pub(crate) fn is_one_of(&self, names: &[&str]) -> bool {
        let name = self.text.split('(').next();
        name.is_some_and(|name| names.contains(&name))
    }

    /// The file of its first argument, which is a descriptor.
    pub(crate) fn file(&self) -> Option<&Path> {
        let (_, rest) = self.text.split_once('<')?;
        let (file, _) = rest.split_once('>')?;
        Some(Path::new(file))
    }

    /// The path that it made a directory entry for, if it did.
    pub(crate) fn new_entry(&self) -> Option<PathBuf> {
        let makes = match self.text.split('(').next()? {
            "openat" => self.text.contains("O_CREAT"),
            name => ["mkdir", "rename", "renameat", "renameat2"].contains(&name),
        };
        // Of two paths the last is the new one.
        let path = self.text.rsplit('"').nth(1).filter(|_| makes)?;
        Some(PathBuf::from(path))
    }
}

/// The calls of a trace.
pub(crate) fn calls(trace: &str) -> Vec<Call> {
    let lines: Vec<_> = trace.lines().filter_map(|line| line.split_once(' ')).collect();
    (0..lines.len()).filter_map(|begin| call(&lines, begin)).collect()
}

/// The call that begins in this line, of which each is a thread and what it does.
fn call(lines: &[(&str, &str)], begin: usize) -> Option<Call> {
    let (thread, text) = lines[begin];
    let text = text.trim_start();
    if !text.starts_with(char::is_alphabetic) {
        return None;
    }
    let mut end = begin;
    // Other threads came between: its result stands in a line further down.
    if text.ends_with("<unfinished ...>") {
        let is_rest = |(other, text): &(&str, &str)| *other == thread && text.contains(" resumed>");
        end += lines[begin..].iter().position(is_rest)?;
    }
    let (_, result) = lines[end].1.rsplit_once(" = ")?;
    let text = text.to_owned();
    (!result.starts_with('-')).then_some(Call { text, begin, end })
}
