//! Writes documents as comma-separated values: one table, for spreadsheets.

mod capacity;
mod comparison;
mod experiment;
mod run;

use std::io;

pub(crate) use capacity::capacity;
pub(crate) use comparison::comparison;
pub(crate) use experiment::experiment;
pub(crate) use run::run;

use crate::measure::LatencySummary;

const LATENCIES: [&str; 9] = [
    "min_us",
    "mean_us",
    "p50_us",
    "p90_us",
    "p95_us",
    "p99_us",
    "p99_9_us",
    "p99_99_us",
    "max_us",
];

fn latencies(of: &LatencySummary) -> [String; 9] {
    let [min, p50, p90, p95, p99, p99_9, p99_99, max] =
        [of.min, of.p50, of.p90, of.p95, of.p99, of.p99_9, of.p99_99, of.max].map(known);
    [min, known(of.mean), p50, p90, p95, p99, p99_9, p99_99, max]
}

fn known(value: Option<impl ToString>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

/// Returns the CSV text of the rows that `write` writes. Ignores errors, because writing rows of
/// equal length to memory cannot fail.
fn table(write: impl FnOnce(&mut Rows) -> csv::Result<()>) -> String {
    let mut rows = Rows(csv::Writer::from_writer(Vec::new()));
    let written = write(&mut rows).map_err(io::Error::other);
    let bytes = written.and_then(|()| rows.0.into_inner().map_err(io::Error::other));
    bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

/// The rows of a table.
struct Rows(csv::Writer<Vec<u8>>);

impl Rows {
    /// Writes a row. A cell that a spreadsheet would take for a formula, and that is no number, becomes text: names may
    /// come from foreign documents.
    fn write(&mut self, cells: impl IntoIterator<Item: AsRef<str>>) -> csv::Result<()> {
        for cell in cells {
            let cell = cell.as_ref();
            let is_formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']);
            match is_formula && cell.parse::<f64>().is_err() {
                true => self.0.write_field(format!("'{cell}"))?,
                false => self.0.write_field(cell)?,
            }
        }
        // Ends the row.
        self.0.write_record(None::<&[u8]>)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_is_a_formula() {
        let cells = ["=cmd|' /C calc'!A0", "@SUM(1)", "+1", "-2.5e-3", "-1+1", "a=b", "\tx"];
        let text = table(|rows| rows.write(cells));
        assert_eq!(text, "'=cmd|' /C calc'!A0,'@SUM(1),+1,-2.5e-3,'-1+1,a=b,'\tx\n");
    }
}
