//! Lays out tables for people.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use super::layout::COLUMNS;
use super::printable::in_one_line;

/// Formats rows as a table below `header`, with one line per row. The first column is left-aligned,
/// all others are right-aligned. Columns are two spaces apart, or one space if a line would exceed
/// [`COLUMNS`]. Trailing columns that no row has are left out.
pub fn lay_out(header: &[&str], rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(header.len());
    let header = &header[..columns.min(header.len())];
    let mut lines = spaced(header, rows, 2);
    if lines.iter().any(|line| line.chars().count() > COLUMNS) {
        lines = spaced(header, rows, 1);
    }
    lines.join("\n") + "\n"
}

fn spaced(header: &[&str], rows: &[Vec<String>], gap: u16) -> Vec<String> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header);
    table.add_rows(rows.iter().map(|row| row.iter().map(|cell| in_one_line(cell))));
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((if i == 0 { 1 } else { gap }, 0));
        if i > 0 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect()
}
