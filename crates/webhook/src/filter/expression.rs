//! Regular expressions of users: linear in time, limited in size.

use regex::{Regex, RegexBuilder};
use regex_syntax::ParserBuilder;

/// Bytes of a compiled expression, at most.
///
/// Compiling is what costs, and so does a run that has to be in many states at once.
const SIZE_MAX: usize = 256 * 1024;

/// Bytes that its automaton may remember while it runs, at most.
const MEMORY_MAX: usize = 128 * 1024;

/// Why a text is not taken as a regular expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionError {
    /// It is not written as one.
    #[error("not a regular expression: {reason}, at character {position}; {ALLOWED}")]
    Syntax {
        /// What is wrong.
        reason: String,
        /// Where, in characters from 1.
        position: usize,
    },
    /// It is too large once it is compiled.
    #[error("the regular expression is too large: compiled, it takes more than {SIZE_MAX} bytes; {ALLOWED}")]
    TooLarge,
}

/// What may be written.
const ALLOWED: &str =
    "allowed is the syntax of RE2 without look-around and backreferences, with small repetition counts";

/// Compiles an expression that may match anywhere in a text.
pub(super) fn compile(pattern: &str, case_sensitive: bool) -> Result<Regex, ExpressionError> {
    let compiled = RegexBuilder::new(pattern)
        .case_insensitive(!case_sensitive)
        .size_limit(SIZE_MAX)
        .dfa_size_limit(MEMORY_MAX)
        .build();
    compiled.map_err(|error| match error {
        regex::Error::Syntax(text) => explain(pattern, case_sensitive, &text),
        _ => ExpressionError::TooLarge,
    })
}

/// What is wrong with a pattern, in one line; the text of the compiler's own error draws it over several.
fn explain(pattern: &str, case_sensitive: bool, text: &str) -> ExpressionError {
    let parsed = ParserBuilder::new()
        .case_insensitive(!case_sensitive)
        .build()
        .parse(pattern);
    let (reason, offset) = match parsed {
        Err(regex_syntax::Error::Parse(error)) => (error.kind().to_string(), error.span().start.offset),
        Err(regex_syntax::Error::Translate(error)) => (error.kind().to_string(), error.span().start.offset),
        _ => (text.lines().last().unwrap_or_default().to_owned(), 0),
    };
    ExpressionError::Syntax {
        reason,
        position: pattern[..pattern.floor_char_boundary(offset)].chars().count() + 1,
    }
}
