//! The console: lines for whoever watches, and nothing kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use restante_model::{Clock, Timestamp};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::broadcast::{Receiver, Sender};

/// Lines that wait for a watcher; of more, the oldest are lost to it.
const LINES: usize = 256;

/// What a line means to whoever reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// Something happened.
    Info,
    /// Something worked.
    Success,
    /// Somebody did not get what it wanted.
    Warning,
    /// Something does not work.
    Error,
}

/// A line of the console.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// What it means.
    pub kind: LineKind,
    /// What happened, in one line.
    pub text: String,
    /// When.
    pub at: Timestamp,
}

/// Where lines go.
#[derive(Debug)]
pub(crate) struct Console {
    lines: Sender<Arc<Line>>,
    /// The channel has this number as well, but behind a lock.
    watchers: Arc<AtomicUsize>,
}

/// Somebody who watches.
#[derive(Debug)]
pub struct Watcher {
    lines: Receiver<Arc<Line>>,
    /// The line before all others.
    first: Option<Arc<Line>>,
    watchers: Arc<AtomicUsize>,
    clock: Arc<dyn Clock>,
}

impl Default for Console {
    fn default() -> Self {
        Self {
            lines: Sender::new(LINES),
            watchers: Arc::default(),
        }
    }
}

impl Console {
    pub(crate) fn is_watched(&self) -> bool {
        self.watchers.load(Ordering::Relaxed) > 0
    }

    pub(crate) fn tell(&self, kind: LineKind, text: String, at: Timestamp) {
        // An error means that the last watcher has just left.
        let _ = self.lines.send(Arc::new(Line { kind, text, at }));
    }

    pub(crate) fn watch(&self, clock: &Arc<dyn Clock>, kind: LineKind, text: String) -> Watcher {
        let lines = self.lines.subscribe();
        self.watchers.fetch_add(1, Ordering::Relaxed);
        let at = clock.now();
        Watcher {
            lines,
            first: Some(Arc::new(Line { kind, text, at })),
            watchers: Arc::clone(&self.watchers),
            clock: Arc::clone(clock),
        }
    }
}

impl Watcher {
    /// The next line, or a warning in the place of those that were lost; `None` once the server has ended.
    /// Cancel safe.
    pub async fn next(&mut self) -> Option<Arc<Line>> {
        if let Some(line) = self.first.take() {
            return Some(line);
        }
        match self.lines.recv().await {
            Ok(line) => Some(line),
            Err(RecvError::Lagged(lost)) => Some(Arc::new(Line {
                kind: LineKind::Warning,
                text: format!("Lines lost: {lost}, because this client reads too slowly"),
                at: self.clock.now(),
            })),
            Err(RecvError::Closed) => None,
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.watchers.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use restante_model::SystemClock;
    use tokio::sync::broadcast::error::TryRecvError;

    use super::*;

    fn clock() -> Arc<dyn Clock> {
        Arc::new(SystemClock)
    }

    fn tell(console: &Console, text: String) {
        console.tell(LineKind::Info, text, Timestamp::from_unix_ms(0));
    }

    fn watch(console: &Console) -> Watcher {
        console.watch(&clock(), LineKind::Info, "hello".to_owned())
    }

    async fn texts(watcher: &mut Watcher, count: usize) -> Vec<String> {
        let mut texts = Vec::new();
        for _ in 0..count {
            texts.push(watcher.next().await.unwrap().text.clone());
        }
        texts
    }

    #[tokio::test]
    async fn everybody_who_watches_hears_what_is_told_from_then_on() {
        let console = Console::default();
        tell(&console, "before".to_owned());
        let mut first = watch(&console);
        tell(&console, "one".to_owned());
        let mut second = watch(&console);
        tell(&console, "two".to_owned());
        assert_eq!(texts(&mut first, 3).await, ["hello", "one", "two"]);
        assert_eq!(texts(&mut second, 2).await, ["hello", "two"]);
        assert_eq!(second.lines.try_recv().unwrap_err(), TryRecvError::Empty);
    }

    #[tokio::test]
    async fn whoever_reads_too_slowly_loses_the_oldest_lines_and_is_told_how_many() {
        let console = Console::default();
        let mut slow = watch(&console);
        for number in 0..LINES + 7 {
            tell(&console, number.to_string());
        }
        assert_eq!(texts(&mut slow, 1).await, ["hello"]);
        let lost = slow.next().await.unwrap();
        assert_eq!(lost.kind, LineKind::Warning);
        assert_eq!(lost.text, "Lines lost: 7, because this client reads too slowly");
        let rest: Vec<_> = (7..LINES + 7).map(|number| number.to_string()).collect();
        assert_eq!(texts(&mut slow, LINES).await, rest);
    }

    #[tokio::test]
    async fn it_is_watched_until_the_last_watcher_has_left() {
        let console = Console::default();
        assert!(!console.is_watched());
        let (first, second) = (watch(&console), watch(&console));
        drop(first);
        assert!(console.is_watched());
        drop(second);
        assert!(!console.is_watched());
    }

    #[tokio::test]
    async fn the_end_of_the_server_ends_a_watch() {
        let console = Console::default();
        let mut watcher = watch(&console);
        tell(&console, "last".to_owned());
        drop(console);
        assert_eq!(texts(&mut watcher, 2).await, ["hello", "last"]);
        assert_eq!(watcher.next().await, None);
    }
}
