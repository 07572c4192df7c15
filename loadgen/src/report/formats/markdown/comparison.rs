//! Writes a comparison of saved runs as Markdown.

use super::{escaped, list, sections, table, titled};
use crate::record::{RankedBy, RunsRecord};
use crate::report::words::comparison::{conclusion, headline, row, warnings};
use crate::report::words::gate;

/// Returns a Markdown document: a table of the targets in each run, the conclusions, and warnings,
/// such as other differences between the runs.
#[must_use]
pub(crate) fn comparison(record: &RunsRecord) -> String {
    let each = record.targets.iter();
    let rows: Vec<Vec<String>> = each.map(|one| row(record, one, one.name.clone())).collect();
    let header: &[&str] = match record.comparison.ranked_by {
        RankedBy::Capacity => {
            &["", "capacity/s", "knee/s", "p50 at knee, ms", "p99 at knee, ms", "CPU-µs/request"]
        }
        _ => &[
            "",
            "requests/s",
            "errors",
            "p50, ms",
            "p95, ms",
            "p99, ms",
            "max, ms",
            "CPU-µs/request",
        ],
    };
    sections(&[
        format!("**{}**", escaped(&headline(record))),
        table(header, &rows),
        list(conclusion(record).into_iter().chain(gate::sentences(record.gate.as_ref()))),
        titled("Warnings:", list(warnings(record))),
    ])
}
