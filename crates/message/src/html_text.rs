//! Plain text for readers of a message that has only HTML.

use crate::html::{Token, decode_entities, tokens};

/// The text that a browser would show, roughly: blocks on lines of their own, white space collapsed, links without targets.
pub fn render(html: &str) -> String {
    let mut page = Page::default();
    for token in tokens(html) {
        match token {
            Token::Text(text) => page.write(&decode_entities(text)),
            Token::Open { name, hidden, .. } => page.open(&name.to_ascii_lowercase(), hidden),
            Token::Close(name) => page.close(&name.to_ascii_lowercase()),
        }
    }
    page.text
}

/// The text so far, and what must stand between it and the next word.
#[derive(Default)]
struct Page {
    text: String,
    line_ends: usize,
    space: bool,
    /// What a list item begins with, until its first word.
    marker: Option<String>,
    /// The lists that are open; how many items an ordered one has so far.
    lists: Vec<Option<usize>>,
    /// How many `pre` elements are open.
    preformatted: usize,
    /// Whether a line end now would be the one that may follow `<pre>` and is not shown.
    at_pre_start: bool,
    /// The outermost element that is not shown, and how many of its kind are open inside it, itself included.
    hidden: Option<(String, usize)>,
}

impl Page {
    fn open(&mut self, name: &str, hidden: bool) {
        match &mut self.hidden {
            Some((outer, open)) => {
                *open += usize::from(outer == name);
                return;
            }
            None if hidden && has_end_tag(name) => {
                self.hidden = Some((name.to_owned(), 1));
                return;
            }
            None => {}
        }
        match name {
            "br" => self.line_ends += 1,
            "li" => {
                self.block(1);
                self.marker = Some(match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{number}. ")
                    }
                    _ => "- ".into(),
                });
            }
            "td" | "th" => self.space = true,
            _ => self.block(margin(name)),
        }
        match name {
            "pre" => {
                self.preformatted += 1;
                self.at_pre_start = true;
            }
            "ul" => self.lists.push(None),
            "ol" => self.lists.push(Some(0)),
            _ => {}
        }
    }

    fn close(&mut self, name: &str) {
        if let Some((outer, open)) = &mut self.hidden {
            *open -= usize::from(outer == name);
            if *open == 0 {
                self.hidden = None;
            }
            return;
        }
        self.block(margin(name));
        match name {
            "pre" => self.preformatted = self.preformatted.saturating_sub(1),
            "ul" | "ol" => {
                self.lists.pop();
            }
            _ => {}
        }
    }

    fn block(&mut self, line_ends: usize) {
        self.line_ends = self.line_ends.max(line_ends);
    }

    fn write(&mut self, text: &str) {
        if self.hidden.is_some() {
            return;
        }
        for c in text.chars() {
            let at_pre_start = std::mem::take(&mut self.at_pre_start);
            match c {
                '\n' if at_pre_start => {}
                '\r' if self.preformatted > 0 => self.at_pre_start = at_pre_start,
                '\n' if self.preformatted > 0 => self.line_ends += 1,
                c if c.is_whitespace() && self.preformatted == 0 => self.space = true,
                c => self.push(c),
            }
        }
    }

    fn push(&mut self, c: char) {
        if !self.text.is_empty() && self.line_ends > 0 {
            self.text.extend(std::iter::repeat_n('\n', self.line_ends));
        } else if !self.text.is_empty() && self.space {
            self.text.push(' ');
        }
        if let Some(marker) = self.marker.take() {
            self.text.push_str(&marker);
        }
        self.line_ends = 0;
        self.space = false;
        self.text.push(c);
    }
}

/// Whether an element has an end tag always: of the others nobody knows without the whole tree where they end, and what
/// should be seen must not be hidden with them.
fn has_end_tag(name: &str) -> bool {
    matches!(
        name,
        "div"
            | "span"
            | "a"
            | "b"
            | "i"
            | "u"
            | "em"
            | "strong"
            | "font"
            | "small"
            | "center"
            | "table"
            | "section"
            | "article"
            | "header"
            | "footer"
            | "aside"
            | "nav"
            | "main"
            | "ul"
            | "ol"
            | "h1"
            | "h2"
            | "h3"
    )
}

/// Line ends that an element wants around it.
fn margin(name: &str) -> usize {
    match name {
        "p" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "ul" | "ol" | "dl" | "table" | "blockquote" | "pre" | "hr" => 2,
        "div" | "li" | "tr" | "dt" | "dd" | "section" | "article" | "header" | "footer" | "main" | "nav" | "aside"
        | "address" | "form" | "fieldset" | "figure" | "center" | "body" | "caption" | "figcaption" | "legend"
        | "option" | "summary" | "details" => 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_lists_and_white_space() {
        for (html, text) in [
            ("", ""),
            ("<p>One\r\n two</p><p class=x>Three</p>", "One two\n\nThree"),
            ("a<br>b<br/><br>c", "a\nb\n\nc"),
            ("<div>a</div>\n<div><div>b</div></div>", "a\nb"),
            ("<b>bo</b>ld &amp; <i> it </i>", "bold & it"),
            ("<ul><li>one</li>\n<li> two</li></ul>after", "- one\n- two\n\nafter"),
            (
                "<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>",
                "a b\nc",
            ),
            (
                "<head><title>T</title><style type=\"text/css\">p{}</style></head><body>x</body>",
                "x",
            ),
            ("<pre>a\n  b</pre>c", "a\n  b\n\nc"),
            ("&nbsp;a&nbsp;b", "a b"),
            (
                "<div style='display:none;max-height:0'>pre<div>header</div></div>a<span hidden>b</span>c",
                "ac",
            ),
            ("<p hidden>a</p>b<br hidden>c", "a\n\nb\nc"),
            ("a</div>b<div hidden>c", "a\nb"),
            ("<table><caption>t</caption><tr><th>a</th></tr></table>", "t\na"),
            ("<select><option>a<option>b</select>", "a\nb"),
            ("<h1>a</h1><hr><blockquote>b</blockquote>", "a\n\nb"),
            ("<ol><li>a<ul><li>b</ul><li>c</ol><li>d", "1. a\n\n- b\n\n2. c\n\n- d"),
            ("<pre>\n a\n</pre><pre>\r\n\r\nb</pre>", " a\n\n\nb"),
            ("<a href='https://x.test'>click</a>", "click"),
            ("1 &lt; 2 < 3", "1 < 2 < 3"),
        ] {
            assert_eq!(render(html), text, "{html:?}");
        }
    }
}
