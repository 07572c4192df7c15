//! Writes documents as comma-separated values: one table, for spreadsheets.

mod capacity;
mod comparison;
mod experiment;
mod run;

use std::io;

pub(crate) use capacity::capacity;
pub(crate) use comparison::comparison;
use csv::{Writer, WriterBuilder};
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
fn table(write: impl FnOnce(&mut Writer<Vec<u8>>) -> csv::Result<()>) -> String {
    let mut writer = WriterBuilder::new().from_writer(Vec::new());
    let written = write(&mut writer).map_err(io::Error::other);
    let bytes = written.and_then(|()| writer.into_inner().map_err(io::Error::other));
    bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}
