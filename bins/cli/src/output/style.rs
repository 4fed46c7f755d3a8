//! Colours: the output leaves them out where there is no terminal, or where `NO_COLOR` asks for none.

use std::fmt::Display;

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

/// ECMA-48 section 8.3.117: select graphic rendition, then its default.
fn wrap(code: &str, text: impl Display) -> String {
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}
