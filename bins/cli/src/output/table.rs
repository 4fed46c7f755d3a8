//! Aligned columns without borders.

use comfy_table::{ColumnConstraint, ContentArrangement, Row};

use super::{clean, style};

/// The blanks between columns.
const GAP: u16 = 2;

/// How a row shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowStyle {
    /// As it is.
    Normal,
    /// In bold type: the one that is meant, or what is new.
    Strong,
    /// Less visible: what is over.
    Faint,
    /// A name, less visible, and a value.
    Fact,
}

/// Aligned columns. Cells are cleaned, so that whatever stands in them takes one line.
#[derive(Debug)]
pub(crate) struct Table {
    header: Vec<&'static str>,
    rows: Vec<(RowStyle, Vec<String>)>,
}

impl Table {
    /// Columns of these names.
    pub(crate) fn new<const N: usize>(header: [&'static str; N]) -> Self {
        Self {
            header: header.to_vec(),
            rows: Vec::new(),
        }
    }

    /// Columns without names: facts, each with its name in the first column.
    pub(crate) fn facts() -> Self {
        Self {
            header: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    pub(crate) fn row<const N: usize>(&mut self, style: RowStyle, cells: [String; N]) {
        let cells = cells.into_iter().map(|cell| clean::line(&cell)).collect();
        self.rows.push((style, cells));
    }

    /// Adds a fact.
    pub(crate) fn fact(&mut self, name: &str, value: impl Into<String>) {
        self.row(RowStyle::Fact, [name.to_owned(), value.into()]);
    }

    /// The lines; cells are cut where they would not fit into `width` columns. Facts are never cut: they are copied.
    pub(crate) fn render(&self, width: Option<u16>) -> String {
        let mut table = comfy_table::Table::new();
        table.load_preset(comfy_table::presets::NOTHING);
        match width.filter(|_| !self.header.is_empty()) {
            Some(width) => table
                .set_content_arrangement(ContentArrangement::Dynamic)
                .set_width(width)
                .set_truncation_indicator("…"),
            None => table.set_content_arrangement(ContentArrangement::Disabled),
        };
        if !self.header.is_empty() {
            table.add_row(one_line(self.header.iter().map(|&name| name.to_owned())));
        }
        for (_, cells) in &self.rows {
            table.add_row(one_line(cells.iter().cloned()));
        }
        for column in table.column_iter_mut() {
            column.set_padding((0, GAP));
        }
        // The first column with a name says which one a row is: it is copied, and so never cut.
        let key = self.header.iter().position(|name| !name.is_empty());
        if let Some(column) = key.and_then(|key| table.column_mut(key)) {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
        self.styled(&table)
    }

    fn styled(&self, table: &comfy_table::Table) -> String {
        let header = (!self.header.is_empty()).then_some(RowStyle::Strong);
        let styles = header.into_iter().chain(self.rows.iter().map(|(style, _)| *style));
        let lines = table.lines().zip(styles).map(|(line, style)| match style {
            RowStyle::Normal => format!("{}\n", line.trim_end()),
            RowStyle::Fact => {
                let (name, value) = line.split_at(line.find("  ").unwrap_or(0));
                format!("{}{}\n", style::dim(name), value.trim_end())
            }
            RowStyle::Strong => format!("{}\n", style::bold(line.trim_end())),
            RowStyle::Faint => format!("{}\n", style::dim(line.trim_end())),
        });
        lines.collect()
    }
}

/// The columns that a cleaned text takes.
pub(crate) fn columns(text: &str) -> usize {
    let mut table = comfy_table::Table::new();
    table.load_preset(comfy_table::presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.add_row(one_line(std::iter::once(text.to_owned())));
    table
        .column_max_content_widths()
        .first()
        .copied()
        .unwrap_or_default()
        .into()
}

/// A cleaned text, cut where it would not fit into so many columns.
pub(crate) fn cut(text: &str, width: Option<u16>) -> String {
    let Some(width) = width else {
        return text.to_owned();
    };
    let mut table = comfy_table::Table::new();
    table
        .load_preset(comfy_table::presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width.max(1))
        .set_truncation_indicator("…");
    table.add_row(one_line(std::iter::once(text.to_owned())));
    for column in table.column_iter_mut() {
        column.set_padding((0, 0));
    }
    table
        .lines()
        .next()
        .map(|line| line.trim_end().to_owned())
        .unwrap_or_default()
}

fn one_line(cells: impl Iterator<Item = String>) -> Row {
    let mut row = Row::from(cells.collect::<Vec<_>>());
    row.max_height(1);
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Table {
        let mut table = Table::new(["", "ADDRESS", "SUBJECT"]);
        let cells = |cells: [&str; 3]| cells.map(str::to_owned);
        table.row(RowStyle::Strong, cells(["*", "a@x.test", "Grüße aus 東京"]));
        table.row(
            RowStyle::Normal,
            cells(["", "longer@x.test", "two\nlines \u{1b}[31m\u{202e}and colour"]),
        );
        table.row(RowStyle::Faint, cells(["", "c@x.test", ""]));
        table
    }

    fn plain(table: &Table, width: Option<u16>) -> String {
        anstream::adapter::strip_str(&table.render(width)).to_string()
    }

    #[test]
    fn columns_are_aligned_and_every_row_takes_one_line() {
        assert_eq!(
            plain(&example(), None),
            "   ADDRESS        SUBJECT\n\
             *  a@x.test       Grüße aus 東京\n   \
             longer@x.test  two lines [31mand colour\n   \
             c@x.test\n"
        );
    }

    #[test]
    fn a_row_that_does_not_fit_is_cut() {
        let shown = plain(&example(), Some(30));
        assert_eq!(shown.lines().count(), 4, "{shown}");
        assert!(shown.lines().all(|line| line.chars().count() <= 30), "{shown}");
        assert!(shown.contains('…') && shown.contains("two"), "{shown}");
    }

    #[test]
    fn what_names_a_row_is_never_cut() {
        for width in [1, 5, 12, 20, 24] {
            let shown = plain(&example(), Some(width));
            assert_eq!(shown.lines().count(), 4, "{shown}");
            assert!(shown.contains("a@x.test") && shown.contains("longer@x.test"), "{shown}");
            assert!(!shown.contains("Grüße aus"), "{shown}");
        }
    }

    #[test]
    fn a_text_is_cut_at_the_width() {
        assert_eq!(cut("one two three", None), "one two three");
        assert_eq!(cut("one two three", Some(13)), "one two three");
        assert_eq!(cut("short", Some(0)), "…");
        for text in ["one two three four five six", &"x".repeat(54_000), &"東京".repeat(40)] {
            let short = cut(text, Some(20));
            assert!(short.ends_with('…') && short.chars().count() <= 20, "{short:?}");
        }
        assert!(cut(&"東京".repeat(40), Some(20)).chars().count() <= 11);
    }

    #[test]
    fn rows_have_their_styles() {
        let shown = example().render(None);
        let lines: Vec<_> = shown.lines().collect();
        assert!(
            lines[0].starts_with("\u{1b}[1m") && lines[1].starts_with("\u{1b}[1m*"),
            "{lines:?}"
        );
        assert!(
            !lines[2].contains('\u{1b}') && lines[3].starts_with("\u{1b}[2m"),
            "{lines:?}"
        );
    }

    #[test]
    fn facts_have_no_header() {
        let mut facts = Table::facts();
        facts.fact("Mode", "plain");
        facts.fact("Expires", "in 9 min");
        assert_eq!(plain(&facts, None), "Mode     plain\nExpires  in 9 min\n");
        assert!(
            facts.render(None).starts_with("\u{1b}[2mMode\u{1b}[0m     plain"),
            "{facts:?}"
        );
    }
}
