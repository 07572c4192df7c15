//! Writes a search for capacities as Markdown.

use super::run::profiled;
use super::{escaped, list, sections, table, titled};
use crate::record::CapacityRecord;
use crate::report::words::capacity as words;
use crate::report::words::commits;
use crate::report::words::occupancy::occupancies;
use crate::report::words::profile;

/// Returns a Markdown document: the settings of the search, a table of the capacities, the
/// conclusions, and warnings to read before believing the results.
#[must_use]
pub(crate) fn capacity(record: &CapacityRecord) -> String {
    let rows: Vec<Vec<String>> = record.targets.iter().map(words::row).collect();
    let header =
        ["", "capacity, requests/s", "knee, requests/s", "p50 at knee, ms", "p99 at knee, ms"];
    let servers: Vec<_> = record.targets.iter().map(|t| (t.name.as_str(), &t.server)).collect();
    let profiles = profile::of_search(record);
    let passes = words::what_passes(record);
    sections(&[
        format!("**{}**", escaped(&words::headline(record))),
        table(&header, &rows),
        list(
            [passes]
                .into_iter()
                .chain(words::conclusion(record))
                .chain(commits::noise(&servers))
                .chain(commits::commits(&servers))
                .chain(words::endings(record))
                .chain(occupancies(&profiles))
                .chain(profile::failures(&profiles)),
        ),
        titled(&escaped(&profile::legend(&profiles)), profiled(&profiles)),
        titled("Warnings:", list(words::warnings(record))),
    ])
}
