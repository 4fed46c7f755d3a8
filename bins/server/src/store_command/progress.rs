//! What a command says while and after it works: a bar on a terminal, now and then a line elsewhere.

use std::fmt;
use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

use restante_model::{Clock, Timestamp};

use super::StoreCommandError;

/// A bar is drawn again after so long, at most.
const REDRAW: Duration = Duration::from_millis(100);
/// A line follows the last one after so long.
const NEXT_LINE: Duration = Duration::from_secs(5);
/// Columns between the brackets of a bar.
const BAR: u64 = 30;
/// Columns that a bar with its text takes, at most.
const COLUMNS: usize = 79;

/// Where progress goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    /// A bar that is drawn over itself.
    Bar,
    /// A line every few seconds.
    Lines,
}

/// Standard output for results, standard error for progress.
#[derive(Debug)]
pub struct Console<'a> {
    clock: &'a dyn Clock,
    style: Style,
    began: Timestamp,
    shown: Timestamp,
    is_drawn: bool,
    /// Why results have not reached their reader.
    failure: Option<io::Error>,
}

impl<'a> Console<'a> {
    /// That of this process.
    pub fn of_this_process(clock: &'a dyn Clock) -> Self {
        let style = if io::stderr().is_terminal() {
            Style::Bar
        } else {
            Style::Lines
        };
        Self::new(clock, style)
    }

    fn new(clock: &'a dyn Clock, style: Style) -> Self {
        let began = clock.now();
        Self {
            clock,
            style,
            began,
            shown: began,
            is_drawn: false,
            failure: None,
        }
    }

    /// Prints a line of the result. A reader that has seen enough, such as `head`, is no failure; a full disk is
    /// ([`Console::check`]).
    pub(super) fn say(&mut self, line: impl fmt::Display) {
        self.end();
        let mut out = io::stdout();
        match writeln!(out, "{line}").and_then(|()| out.flush()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                self.failure.get_or_insert(error);
            }
            _ => {}
        }
    }

    /// Whether everything that was said has been written.
    ///
    /// # Errors
    /// [`StoreCommandError::Output`].
    pub(super) fn check(&mut self) -> Result<(), StoreCommandError> {
        self.failure
            .take()
            .map_or(Ok(()), |error| Err(StoreCommandError::Output(error)))
    }

    /// Shows how far a step is, if it is time to.
    pub(super) fn show(&mut self, step: &str, done: u64, total: u64) {
        if let Some(text) = self.due(step, done, total) {
            self.draw(&text);
        }
    }

    /// Shows how much was done of what has no known end, if it is time to.
    pub(super) fn count(&mut self, step: &str, done: u64) {
        if self.is_due() {
            self.draw(&format!("{step}: {done}"));
        }
    }

    fn draw(&mut self, text: &str) {
        let _ = match self.style {
            Style::Bar => write!(io::stderr(), "\r{text:COLUMNS$}"),
            Style::Lines => writeln!(io::stderr(), "{text}"),
        };
        self.is_drawn = self.style == Style::Bar;
    }

    /// Whether the last text stands long enough.
    fn is_due(&mut self) -> bool {
        let now = self.clock.now();
        let pause = match self.style {
            Style::Bar => REDRAW,
            Style::Lines => NEXT_LINE,
        };
        let is_due = self.shown.until(now) >= pause;
        if is_due {
            self.shown = now;
        }
        is_due
    }

    fn due(&mut self, step: &str, done: u64, total: u64) -> Option<String> {
        if !self.is_due() {
            return None;
        }
        let percent = done.min(total).saturating_mul(100) / total.max(1);
        Some(match self.style {
            Style::Bar => format!("{step}  [{}] {percent:3} %", bar(percent)),
            Style::Lines => format!("{step}: {percent} %"),
        })
    }

    /// Takes the bar away, so that a line can follow.
    pub fn end(&mut self) {
        if self.is_drawn {
            self.is_drawn = false;
            let _ = write!(io::stderr(), "\r{:COLUMNS$}\r", "");
        }
    }

    /// How long the command has worked, in seconds.
    pub(super) fn seconds(&self) -> f64 {
        self.began.until(self.clock.now()).as_secs_f64()
    }
}

fn bar(percent: u64) -> String {
    let filled = usize::try_from(percent * BAR / 100).unwrap_or_default();
    let columns = usize::try_from(BAR).unwrap_or_default();
    format!("{:<columns$}", "=".repeat(filled))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[derive(Debug, Default)]
    struct Steps(AtomicU64);

    impl Clock for Steps {
        fn now(&self) -> Timestamp {
            Timestamp::from_unix_ms(self.0.load(Ordering::Relaxed))
        }
    }

    #[test]
    fn a_terminal_gets_a_bar_and_a_file_a_line_now_and_then() {
        let clock = Steps::default();
        let mut terminal = Console::new(&clock, Style::Bar);
        let mut file = Console::new(&clock, Style::Lines);
        for (at, bar, line) in [
            (0, None, None),
            (99, None, None),
            (100, Some("reading  [===============               ]  50 %"), None),
            (150, None, None),
            (4999, Some("reading  [===============               ]  50 %"), None),
            (5000, None, Some("reading: 50 %")),
            (9999, Some("reading  [===============               ]  50 %"), None),
        ] {
            clock.0.store(at, Ordering::Relaxed);
            assert_eq!(terminal.due("reading", 1, 2).as_deref(), bar, "{at}");
            assert_eq!(file.due("reading", 1, 2).as_deref(), line, "{at}");
        }
        clock.0.store(20_000, Ordering::Relaxed);
        assert_eq!(file.due("nothing", 0, 0).as_deref(), Some("nothing: 0 %"));
    }
}
