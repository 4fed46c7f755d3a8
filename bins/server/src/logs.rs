//! The log: text for people or JSON for machines, on standard error.

use std::ffi::OsStr;
use std::io::{self, IsTerminal as _};

use tracing::level_filters::LevelFilter;
use tracing::{Level, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::{self, MakeWriter};
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};

use crate::settings::{LogFormat, LogSettings};

/// Whether text lines are coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Color {
    /// With ANSI sequences.
    Ansi,
    /// Without.
    Plain,
}

impl Color {
    /// Colours belong on a terminal, and nowhere if `NO_COLOR` holds anything (<https://no-color.org>).
    pub fn choose(is_terminal: bool, no_color: Option<&OsStr>) -> Self {
        if is_terminal && no_color.is_none_or(OsStr::is_empty) {
            Self::Ansi
        } else {
            Self::Plain
        }
    }
}

/// Starts the log of this process; `no_color` is the variable `NO_COLOR`. A log that was started before stays.
pub fn start(settings: LogSettings, no_color: Option<&OsStr>) {
    let color = Color::choose(io::stderr().is_terminal(), no_color);
    let _ = tracing::subscriber::set_global_default(subscriber(settings, color, io::stderr));
}

/// What writes log lines to `writer`.
///
/// The level is that of our own crates. Others are heard from warnings up, whatever the level: their debug lines may
/// hold request heads, and with them the API key.
pub fn subscriber<W>(settings: LogSettings, color: Color, writer: W) -> impl Subscriber + Send + Sync
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let others = LevelFilter::from_level(settings.level.min(Level::WARN));
    let filter = Targets::new()
        .with_target("restante", settings.level)
        .with_default(others);
    let lines = fmt::layer().with_writer(writer);
    let lines = match settings.format {
        LogFormat::Text => lines.with_ansi(color == Color::Ansi).boxed(),
        LogFormat::Json => lines.with_ansi(false).json().flatten_event(true).boxed(),
    };
    tracing_subscriber::registry().with(filter).with(lines)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Page(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Page {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn logged(format: LogFormat, level: Level, color: Color) -> String {
        let page = Page::default();
        let writer = page.clone();
        let subscriber = subscriber(LogSettings { format, level }, color, move || writer.clone());
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!(target: "restante_api::router", port = 25, "ours");
            tracing::debug!(target: "restante_api::router", "ours in detail");
            tracing::info!(target: "hyper", "theirs");
            tracing::warn!(target: "hyper", "theirs, worse");
            tracing::error!(target: "hyper", "theirs, worst");
        });
        let bytes = page.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn the_level_is_ours_and_others_are_heard_from_warnings_up() {
        for (level, messages) in [
            (Level::ERROR, vec!["theirs, worst"]),
            (Level::WARN, vec!["theirs, worse", "theirs, worst"]),
            (Level::INFO, vec!["ours", "theirs, worse", "theirs, worst"]),
            (
                Level::TRACE,
                vec!["ours", "ours in detail", "theirs, worse", "theirs, worst"],
            ),
        ] {
            let lines: Vec<String> = logged(LogFormat::Json, level, Color::Ansi)
                .lines()
                .map(|line| {
                    serde_json::from_str::<serde_json::Value>(line).unwrap()["message"]
                        .as_str()
                        .unwrap()
                        .into()
                })
                .collect();
            assert_eq!(lines, messages, "{level}");
        }
    }

    #[test]
    fn json_lines_hold_fields_and_no_colours() {
        let page = logged(LogFormat::Json, Level::INFO, Color::Ansi);
        let line: serde_json::Value = serde_json::from_str(page.lines().next().unwrap()).unwrap();
        assert_eq!((&line["level"], &line["port"]), (&"INFO".into(), &25.into()));
        assert!(!page.contains('\u{1b}'));
    }

    #[test]
    fn text_lines_are_coloured_only_if_asked() {
        assert!(logged(LogFormat::Text, Level::INFO, Color::Ansi).contains('\u{1b}'));
        let plain = logged(LogFormat::Text, Level::INFO, Color::Plain);
        assert!(!plain.contains('\u{1b}'));
        assert!(
            plain
                .lines()
                .next()
                .unwrap()
                .ends_with("INFO restante_api::router: ours port=25"),
            "{plain}"
        );
    }

    #[test]
    fn colours_belong_on_a_terminal_without_no_color() {
        for (is_terminal, no_color, expected) in [
            (true, None, Color::Ansi),
            (true, Some(""), Color::Ansi),
            (true, Some("1"), Color::Plain),
            (false, None, Color::Plain),
            (false, Some("1"), Color::Plain),
        ] {
            assert_eq!(Color::choose(is_terminal, no_color.map(OsStr::new)), expected);
        }
    }
}
