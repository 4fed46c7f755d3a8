//! Aligned columns without borders.

use comfy_table::{ContentArrangement, Row};

use super::{clean, style};

/// How a row shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowStyle {
    /// As it is.
    Normal,
    /// In bold type: the one that is meant, or what is new.
    Strong,
    /// Less visible: what is over.
    Faint,
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
        let cells = cells.iter().map(|cell| clean::line(cell)).collect();
        self.rows.push((style, cells));
    }

    /// Adds a fact.
    pub(crate) fn fact(&mut self, name: &str, value: impl Into<String>) {
        self.row(RowStyle::Normal, [name.to_owned(), value.into()]);
    }

    /// The lines; cells are cut where they would not fit into `width` columns.
    pub(crate) fn render(&self, width: Option<u16>) -> String {
        let mut table = comfy_table::Table::new();
        table.load_preset(comfy_table::presets::NOTHING);
        match width {
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
        self.styled(&table)
    }

    fn styled(&self, table: &comfy_table::Table) -> String {
        let header = (!self.header.is_empty()).then_some(RowStyle::Strong);
        let styles = header.into_iter().chain(self.rows.iter().map(|(style, _)| *style));
        let lines = table.lines().zip(styles).map(|(line, style)| match style {
            RowStyle::Normal => format!("{}\n", line.trim()),
            RowStyle::Strong => format!("{}\n", style::bold(line.trim())),
            RowStyle::Faint => format!("{}\n", style::dim(line.trim())),
        });
        lines.collect()
    }
}

fn one_line(cells: impl Iterator<Item = String>) -> Row {
    let mut row = Row::from(cells.collect::<Vec<_>>());
    row.max_height(1);
    row
}
