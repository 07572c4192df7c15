//! Figures in columns.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use super::format::COLUMNS;

/// Rows below a header, in columns that stand apart as far as there is room. All but the first are
/// aligned right; trailing columns that no row has are left out.
#[must_use]
pub fn lay_out(header: &[&str], rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(header.len());
    let header = &header[..columns.min(header.len())];
    let mut lines = lines(header, rows, 2);
    if lines.iter().any(|line| line.chars().count() > COLUMNS) {
        lines = self::lines(header, rows, 1);
    }
    lines.join("\n") + "\n"
}

fn lines(header: &[&str], rows: &[Vec<String>], gap: u16) -> Vec<String> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header);
    table.add_rows(rows);
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((if i == 0 { 1 } else { gap }, 0));
        if i > 0 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect()
}
