//! What a command says while and after it works: a bar on a terminal, now and then a line elsewhere.

use std::fmt;
use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

use restante_model::{Clock, Timestamp};

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
        }
    }

    /// Prints a line of the result. A reader that has seen enough, such as `head`, is no failure.
    pub(super) fn say(&mut self, line: impl fmt::Display) {
        self.end();
        let _ = writeln!(io::stdout(), "{line}");
    }

    /// Tells that something begins whose end is not known.
    pub(super) fn begin(&mut self, step: &str) {
        self.end();
        let _ = writeln!(io::stderr(), "{step} ...");
    }

    /// Shows how far a step is, if it is time to.
    pub(super) fn show(&mut self, step: &str, done: u64, total: u64) {
        let Some(text) = self.due(step, done, total) else {
            return;
        };
        let _ = match self.style {
            Style::Bar => write!(io::stderr(), "\r{text:COLUMNS$}"),
            Style::Lines => writeln!(io::stderr(), "{text}"),
        };
        self.is_drawn = self.style == Style::Bar;
    }

    fn due(&mut self, step: &str, done: u64, total: u64) -> Option<String> {
        let now = self.clock.now();
        let pause = match self.style {
            Style::Bar => REDRAW,
            Style::Lines => NEXT_LINE,
        };
        if self.shown.until(now) < pause {
            return None;
        }
        self.shown = now;
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
