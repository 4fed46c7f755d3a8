//! A command that has ended.

use std::process::Command;

use serde_json::Value;

/// What a command printed, and how it ended.
#[derive(Debug, Clone)]
#[must_use = "a command that nobody looks at shows nothing"]
pub(crate) struct Ran {
    /// The exit code; none if a signal ended it.
    pub(crate) code: Option<i32>,
    /// Its standard output.
    pub(crate) out: String,
    /// Its standard error.
    pub(crate) err: String,
    what: String,
}

impl Ran {
    /// Runs the command to its end.
    pub(crate) fn of(command: &mut Command) -> Self {
        let output = command.output().unwrap();
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
            what: format!("{:?}", command.get_args()),
        }
    }

    /// It ended like this.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}: {self:?}", self.what);
        self
    }

    /// Its output is one JSON value.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Each line of its output is a JSON value.
    #[track_caller]
    pub(crate) fn json_lines(&self) -> Vec<Value> {
        let value = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {self:?}"));
        self.out.lines().map(value).collect()
    }

    /// It failed with exit code 2, said nothing to machines, and told all of this to people.
    #[track_caller]
    pub(crate) fn expect_error(self, words: &[&str]) -> Self {
        assert_eq!((self.code, self.out.as_str()), (Some(2), ""), "{self:?}");
        for word in words {
            assert!(self.err.contains(word), "{word:?} in {self:?}");
        }
        self
    }

    /// Both outputs.
    pub(crate) fn all(&self) -> String {
        format!("{}{}", self.out, self.err)
    }
}
