//! Where results go: text for people, JSON for machines, notes to the standard error.

pub(crate) mod chaos;
pub(crate) mod clean;
pub(crate) mod email;
pub(crate) mod metrics;
pub(crate) mod question;
pub(crate) mod spinner;
pub(crate) mod style;
pub(crate) mod table;
pub(crate) mod time;
pub(crate) mod webhook;

use std::io::{self, IsTerminal as _, Write as _};

use anstream::ColorChoice;
use serde::Serialize;

use self::table::Table;

/// Where results go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    /// Whether machines read the results: nothing but JSON then goes to the standard output.
    pub(crate) json: bool,
    terminal: bool,
    width: Option<u16>,
}

#[expect(clippy::unused_self, reason = "whoever has an `Output` may print, and nobody else")]
impl Output {
    /// The standard output of this process.
    pub(crate) fn new(json: bool) -> Self {
        let terminal = io::stdout().is_terminal();
        Self {
            json,
            terminal,
            width: terminal.then(width).flatten(),
        }
    }

    /// Whether a person looks at a terminal.
    pub(crate) fn is_terminal(self) -> bool {
        self.terminal
    }

    /// The columns of the terminal; none elsewhere, where nothing is cut.
    pub(crate) fn width(self) -> Option<u16> {
        self.width
    }

    /// Prints one line for people, whatever stands in it: of what a terminal obeys only our own styles get through.
    pub(crate) fn line(self, text: &str) -> io::Result<()> {
        writeln!(anstream::stdout(), "{}", clean::styled_line(text))
    }

    /// Prints a text of several lines, cleaned likewise, without a line break of its own.
    pub(crate) fn text(self, text: &str) -> io::Result<()> {
        write!(anstream::stdout(), "{}", clean::styled_block(text))
    }

    /// Writes bytes as they are: a raw message, an export.
    pub(crate) fn bytes(self, bytes: &[u8]) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(bytes)?;
        out.flush()
    }

    /// Prints a table for people.
    pub(crate) fn table(self, table: &Table) -> io::Result<()> {
        self.text(&table.render(self.width))
    }

    /// Prints JSON for machines: over several lines on a terminal, on one elsewhere.
    pub(crate) fn json(self, value: &impl Serialize) -> io::Result<()> {
        let text = if self.terminal {
            serde_json::to_string_pretty(value)?
        } else {
            serde_json::to_string(value)?
        };
        self.bytes(format!("{text}\n").as_bytes())
    }

    /// Prints JSON on one line, wherever it goes: one of many.
    pub(crate) fn json_line(self, value: &impl Serialize) -> io::Result<()> {
        self.bytes(format!("{}\n", serde_json::to_string(value)?).as_bytes())
    }

    /// Says something beside the results: on the standard error.
    pub(crate) fn note(self, text: &str) {
        note(text);
    }
}

/// Says something beside the results, on one line of the standard error, where nobody may listen any more.
pub(crate) fn note(text: &str) {
    let _ = writeln!(anstream::stderr(), "{}", clean::styled_line(text));
}

/// When to use colours, for both outputs of this process.
pub(crate) fn use_colors(choice: ColorChoice) {
    choice.write_global();
}

/// The columns of the terminal.
fn width() -> Option<u16> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    (size.ws_col > 0).then_some(size.ws_col)
}
