//! Removal of what a terminal would obey: control characters and changes of the writing direction.

/// A text on one line: control characters and line breaks become spaces, marks of direction vanish.
pub(crate) fn line(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut blank = false;
    for c in text.chars() {
        if is_direction(c) {
            continue;
        }
        let space = c.is_control() || is_break(c);
        if !(space && blank) {
            clean.push(if space { ' ' } else { c });
        }
        blank = space || c == ' ';
    }
    clean
}

/// A text of several lines: only line feeds and tabs are left of the control characters.
pub(crate) fn block(text: &str) -> String {
    let keep = |c: &char| matches!(c, '\n' | '\t') || !(c.is_control() || is_direction(*c));
    text.chars().filter(keep).collect()
}

/// U+2028 and U+2029.
fn is_break(c: char) -> bool {
    matches!(c, '\u{2028}' | '\u{2029}')
}

/// Marks, embeddings, overrides and isolates (UAX #9), by which a text shows otherwise than it is.
fn is_direction(c: char) -> bool {
    matches!(c, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
