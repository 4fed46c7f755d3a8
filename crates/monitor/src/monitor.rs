//! [`Monitor`]: the one place that counts what happens, and tells of it.

use std::sync::Arc;
use std::time::Duration;

use restante_model::{Clock, Timestamp};

use crate::console::Console;
use crate::{Counts, Happening, LineKind, Watcher, words};

/// Counts, and tells.
#[derive(Debug)]
pub struct Monitor {
    clock: Arc<dyn Clock>,
    started_at: Timestamp,
    counts: Counts,
    console: Console,
}

impl Monitor {
    /// A monitor of a server that starts now.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            started_at: clock.now(),
            clock,
            counts: Counts::default(),
            console: Console::default(),
        }
    }

    /// Counts what happened, and tells those who watch the console.
    pub fn note(&self, happening: Happening<'_>) {
        self.counts.count(&happening);
        if !self.is_watched() {
            return;
        }
        if let Some((kind, text)) = words::of(&happening) {
            self.console.tell(kind, text, self.clock.now());
        }
    }

    /// Whether somebody watches the console: whoever would gather something for its lines alone need not otherwise.
    pub fn is_watched(&self) -> bool {
        self.console.is_watched()
    }

    /// Watches the console from now on; the first line says so.
    pub fn watch(&self) -> Watcher {
        let text = "Connected: what happens from now on is told here".to_owned();
        self.console.watch(&self.clock, LineKind::Info, text)
    }

    /// What was counted since the start.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// What time it is for the monitor.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// How long the server has been running.
    pub fn uptime(&self) -> Duration {
        self.started_at.until(self.clock.now())
    }
}

#[cfg(test)]
mod tests {
    use restante_testkit::FakeClock;

    use super::*;
    use crate::Refusal;

    #[tokio::test]
    async fn a_note_is_counted_always_and_told_to_those_who_watch() {
        let clock = Arc::new(FakeClock::at(Timestamp::from_unix_ms(1_000)));
        let monitor = Monitor::new(clock.clone());
        let refused = Happening::MailRefused {
            cause: Refusal::Size,
            peer: [127, 0, 0, 1].into(),
        };
        monitor.note(refused);
        let mut watcher = monitor.watch();
        clock.advance(Duration::from_millis(500));
        monitor.note(refused);
        assert_eq!(monitor.counts().refused(Refusal::Size), 2);
        let hello = watcher.next().await.unwrap();
        assert_eq!((hello.kind, hello.at.unix_ms()), (LineKind::Info, 1_000));
        let line = watcher.next().await.unwrap();
        assert_eq!((line.kind, line.at.unix_ms()), (LineKind::Warning, 1_500));
        assert_eq!(line.text, "Mail from 127.0.0.1 refused: too large");
    }

    #[test]
    fn the_server_runs_since_the_monitor_was_made() {
        let clock = Arc::new(FakeClock::at(Timestamp::from_unix_ms(1_000)));
        let monitor = Monitor::new(clock.clone());
        assert_eq!(monitor.uptime(), Duration::ZERO);
        clock.advance(Duration::from_secs(90));
        assert_eq!(monitor.uptime(), Duration::from_secs(90));
    }
}
