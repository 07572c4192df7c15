//! Writes a search for capacities as Markdown.

use super::{escaped, list, sections, table, titled};
use crate::record::{CapacityRecord, CapacityTarget};
use crate::report::words::capacity as words;
use crate::text::{milliseconds, rate};

/// Returns a Markdown document: the settings of the search, a table of the capacities, the
/// conclusions, and warnings to read before believing the results.
#[must_use]
pub(crate) fn capacity(record: &CapacityRecord) -> String {
    let row = |target: &CapacityTarget| {
        let knee = target.knee.as_ref();
        vec![
            target.name.clone(),
            words::figure(&target.capacity),
            knee.map_or("–".to_owned(), |knee| rate(knee.rate_per_s)),
            milliseconds(knee.and_then(|knee| knee.latency_us.p50)),
            milliseconds(knee.and_then(|knee| knee.latency_us.p99)),
        ]
    };
    let rows: Vec<Vec<String>> = record.targets.iter().map(row).collect();
    let header =
        ["", "capacity, requests/s", "knee, requests/s", "p50 at knee, ms", "p99 at knee, ms"];
    let passes = words::what_passes(record);
    sections(&[
        format!("**{}**", escaped(&words::headline(record))),
        table(&header, &rows),
        list([passes].into_iter().chain(words::conclusion(record)).chain(words::endings(record))),
        titled("Warnings:", list(words::warnings(record))),
    ])
}
