//! Tables as a person reads them.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use super::layout::COLUMNS;
use super::printable::in_one_line;

/// Rows under their header, the first column to the left and all others to the right. Columns stand
/// apart as far as there is room; trailing ones that no row has are left out. One line for each row.
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
