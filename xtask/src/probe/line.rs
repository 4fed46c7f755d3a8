//! One line of the probe: a name, and a check that tells what it saw.

use anyhow::Result;

use super::target::Target;

/// What a check wants of the server.
type Check = Box<dyn Fn(&Target) -> Result<Seen> + Send + Sync>;

/// A named check.
pub(super) struct Line {
    pub(super) name: String,
    pub(super) needs: Needs,
    check: Check,
}

/// Which server a line is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Needs {
    /// Any.
    Any,
    /// Any; it takes long by nature and runs beside the others.
    Time,
    /// One of our own, with short deadlines; it runs beside the others.
    ShortDeadlines,
    /// One of our own, with a certificate.
    Certificate,
}

/// How a line ended that did not fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Seen {
    /// The server did as it must; what was seen.
    Passed(String),
    /// It could not be checked here; why.
    Skipped(String),
}

impl Seen {
    pub(super) fn passed(text: impl Into<String>) -> Self {
        Self::Passed(text.into())
    }

    pub(super) fn skipped(text: impl Into<String>) -> Self {
        Self::Skipped(text.into())
    }
}

impl Line {
    pub(super) fn new(
        name: impl Into<String>,
        check: impl Fn(&Target) -> Result<Seen> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            needs: Needs::Any,
            check: Box::new(check),
        }
    }

    /// The same line for another server.
    pub(super) fn with(self, needs: Needs) -> Self {
        Self { needs, ..self }
    }

    /// Checks.
    pub(super) fn run(&self, target: &Target) -> Result<Seen> {
        (self.check)(target)
    }
}
