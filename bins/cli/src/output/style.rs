//! Colours: the output leaves them out where there is no terminal, or where `NO_COLOR` asks for none.

use std::fmt::Display;

use super::clean;

/// In bold type.
pub(crate) fn bold(text: impl Display) -> String {
    wrap("1", text)
}

/// Less visible than the rest.
pub(crate) fn dim(text: impl Display) -> String {
    wrap("2", text)
}

/// What went wrong.
pub(crate) fn bad(text: impl Display) -> String {
    wrap("31", text)
}

/// What went well.
pub(crate) fn good(text: impl Display) -> String {
    wrap("32", text)
}

/// What deserves a look.
pub(crate) fn warning(text: impl Display) -> String {
    wrap("33", text)
}

/// The codes of the styles above, and the default.
const CODES: [&str; 6] = ["0", "1", "2", "31", "32", "33"];

/// ECMA-48 section 8.3.117: select graphic rendition, then its default. What is wrapped takes one line and has no
/// sequence of its own.
fn wrap(code: &str, text: impl Display) -> String {
    let text = clean::line(&text.to_string());
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}

/// Where a sequence of ours ends in a text that began behind its ESC; none if it is not ours.
pub(super) fn end_of_sequence(text: &str) -> Option<usize> {
    let (code, _) = text.strip_prefix('[')?.split_once('m')?;
    CODES.contains(&code).then_some(code.len() + 2)
}
