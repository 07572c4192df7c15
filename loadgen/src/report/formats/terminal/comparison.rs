//! Lays out a comparison of saved runs for a terminal, within 80 columns where names allow.

use crate::record::{RankedBy, RunsRecord};
use crate::report::words::comparison::{conclusion, headline, row, warnings};
use crate::report::words::gate;
use crate::report::words::interval::LEGEND;
use crate::text::{lay_out, paragraphs, wrap};

const HEADER: [&str; 8] =
    ["", "requests/s", "errors", "p50", "p95", "p99", "max", "CPU-µs/request"];

const CAPACITIES: [&str; 6] = ["", "capacity/s", "knee/s", "p50", "p99", "CPU-µs/request"];

/// Returns the text for a terminal: a table of the targets in each run, the conclusions, and
/// warnings, such as other differences between the runs.
#[must_use]
pub(crate) fn comparison(record: &RunsRecord) -> String {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut before = None;
    for one in &record.targets {
        if before != Some(&one.target) {
            rows.push(vec![one.target.clone()]);
        }
        before = Some(&one.target);
        rows.push(row(record, one, format!("  {}", one.run)));
    }
    let (header, legend) = match record.comparison.ranked_by {
        RankedBy::Capacity => (
            &CAPACITIES[..],
            format!(
                "capacity: the highest rate that passes{LEGEND}; knee: the rate with the greatest throughput over \
                 mean latency; latencies, in ms, and CPU time of the server are those at the knee"
            ),
        ),
        _ => (
            &HEADER[..],
            format!(
                "requests/s counts expected responses only{LEGEND}; latencies in ms; CPU time of the server per \
                 expected response"
            ),
        ),
    };
    let warnings: String = warnings(record).iter().map(|what| wrap(" ! ", what)).collect();
    let parts = [
        wrap("", &headline(record)),
        lay_out(header, &rows) + "\n" + &wrap(" ", &legend),
        paragraphs(&conclusion(record)),
        gate::sentences(record.gate.as_ref()).iter().map(|what| wrap(" ", what)).collect(),
        warnings,
    ];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n")
}
