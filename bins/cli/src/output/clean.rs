//! Removal of what a terminal would obey: control characters and changes of the writing direction.

use super::style;

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

/// As [`line()`], with the styles of [`style`] left in.
pub(crate) fn styled_line(text: &str) -> String {
    between_styles(text, line)
}

/// As [`block`], with the styles of [`style`] left in.
pub(crate) fn styled_block(text: &str) -> String {
    between_styles(text, block)
}

/// Cleans what stands between our own styles; any other sequence is none of them.
fn between_styles(text: &str, clean: fn(&str) -> String) -> String {
    let mut pieces = text.split('\u{1b}');
    let mut shown = pieces.next().map(clean).unwrap_or_default();
    for piece in pieces {
        match style::end_of_sequence(piece) {
            Some(end) => shown += &["\u{1b}", &piece[..end], &clean(&piece[end..])].concat(),
            None => shown += &clean(&["\u{1b}", piece].concat()),
        }
    }
    shown
}

/// U+2028 and U+2029.
fn is_break(c: char) -> bool {
    matches!(c, '\u{2028}' | '\u{2029}')
}

/// Marks, embeddings, overrides and isolates (UAX #9), by which a text shows otherwise than it is.
fn is_direction(c: char) -> bool {
    matches!(c, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_stays_one_and_commands_nothing() {
        for (text, clean) in [
            ("plain text", "plain text"),
            ("Grüße, 東京 🎉", "Grüße, 東京 🎉"),
            ("two\r\nlines", "two lines"),
            ("a\tb", "a b"),
            ("\u{1b}]0;title\u{7}x", " ]0;title x"),
            ("\u{9b}31mred", " 31mred"),
            ("nul\0del\u{7f}end", "nul del end"),
            ("para\u{2029}graph\u{2028}s", "para graph s"),
            ("next\u{85}line", "next line"),
            ("gpj\u{202e}exe.\u{2066}\u{200f}\u{61c}", "gpjexe."),
        ] {
            assert_eq!(line(text), clean, "{text:?}");
        }
    }

    #[test]
    fn a_block_keeps_its_lines() {
        assert_eq!(block("a\n\tb\r\nc\u{1b}[2J\u{9b}\u{202e}d\0"), "a\n\tb\nc[2Jd");
    }

    #[test]
    fn our_own_styles_stay_and_no_other_sequence_does() {
        let text = format!(
            "{} a\u{1b}[2J\u{1b}]0;x\u{7}\u{1b}[5m\u{1b}\nb\u{202e}",
            style::bold("bold")
        );
        assert_eq!(styled_line(&text), "\u{1b}[1mbold\u{1b}[0m a [2J ]0;x  [5m b");
        assert_eq!(styled_block(&text), "\u{1b}[1mbold\u{1b}[0m a[2J]0;x[5m\nb");
    }

    #[test]
    fn no_control_and_no_direction_gets_through() {
        let all: String = ('\0'..='\u{ffff}').collect();
        let bad = |c: char| c.is_control() || is_direction(c) || is_break(c);
        assert!(!line(&all).contains(bad));
        assert!(!block(&all).contains(|c| bad(c) && !matches!(c, '\n' | '\t' | '\u{2028}' | '\u{2029}')));
    }
}
