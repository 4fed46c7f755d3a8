//! What moves while something is waited for: on the standard error, and only if that is a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// How often it moves.
const TICK: Duration = Duration::from_millis(100);

/// It moves until it is dropped; then its line is empty again.
#[derive(Debug)]
pub(crate) struct Spinner(ProgressBar);

impl Spinner {
    /// Begins; the text has been cleaned.
    pub(crate) fn start(text: String) -> Self {
        let style = ProgressStyle::with_template("{spinner} {wide_msg} {elapsed}");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
        let bar = ProgressBar::new_spinner().with_style(style).with_message(text);
        bar.enable_steady_tick(TICK);
        Self(bar)
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
