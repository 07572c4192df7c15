//! Shows whole iterations, of each flow.

use crate::record::{FlowRecord, TargetRecord};
use crate::text::{count, milliseconds, rate};

/// Names of the columns of the table.
pub(crate) const HEADER: [&str; 7] = ["", "iterations/s", "errors", "p50", "p95", "p99", "max"];

/// Explanation of the columns.
pub(crate) const LEGEND: &str = "an iteration is expected if all its responses are; its latency, in \
    ms, is the time from its first request to its last response, without think times";

/// Returns a row for each target with all its iterations, followed by a row for each of its flows.
pub(crate) fn rows<'a>(targets: impl Iterator<Item = &'a TargetRecord>) -> Vec<Vec<String>> {
    let of_target = |target: &'a TargetRecord| {
        target.flows.iter().enumerate().map(|(index, flow)| match index {
            0 => row(target.name.clone(), flow),
            _ => row(format!("  {}", flow.name), flow),
        })
    };
    targets.flat_map(of_target).collect()
}

fn row(label: String, flow: &FlowRecord) -> Vec<String> {
    let latency = &flow.latency_us;
    let mut row = vec![label, rate(flow.rate_per_s), count(flow.errors)];
    row.extend([latency.p50, latency.p95, latency.p99, latency.max].map(milliseconds));
    row
}
