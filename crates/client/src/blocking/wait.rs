//! Waiting for mail, without `async`.

use std::time::Duration;

use super::runtime::Runtime;
use crate::{Error, WaitForEmail, WaitForEmails, WaitForNone};

/// What is waited for; [`Wait::wait`] waits.
#[derive(Debug)]
#[must_use = "`wait` waits"]
pub struct Wait<W> {
    runtime: Runtime,
    wanted: W,
}

impl<W> Wait<W> {
    pub(super) fn new(runtime: Runtime, wanted: W) -> Self {
        Self { runtime, wanted }
    }

    fn map(self, change: impl FnOnce(W) -> W) -> Self {
        Self {
            wanted: change(self.wanted),
            ..self
        }
    }

    /// Waits: for the email or the emails until the time-out, and that none comes for the whole window.
    ///
    /// # Errors
    /// [`Error::WaitTimeout`], of a wait for none [`Error::UnexpectedEmail`], and those of a watch.
    pub fn wait<T>(self) -> Result<T, Error>
    where
        W: IntoFuture<Output = Result<T, Error>>,
    {
        self.runtime.wait(self.wanted)
    }
}

impl Wait<WaitForEmail> {
    /// For at most so long; 30 s unless set.
    pub fn timeout(self, timeout: Duration) -> Self {
        self.map(|wanted| wanted.timeout(timeout))
    }
}

impl Wait<WaitForEmails> {
    /// For at most so long; 30 s unless set.
    pub fn timeout(self, timeout: Duration) -> Self {
        self.map(|wanted| wanted.timeout(timeout))
    }
}

impl Wait<WaitForNone> {
    /// As [`WaitForNone::window`].
    pub fn window(self, window: Duration) -> Self {
        self.map(|wanted| wanted.window(window))
    }
}
