//! Names the slowest of the requests that were traced.

use crate::record::{RunRecord, SlowRequest};
use crate::text::{count, milliseconds};

/// Most requests that are named.
const MOST: usize = 3;

/// Returns a line for each of the slowest requests, the slowest first; none if no request was traced.
pub(crate) fn traces(record: &RunRecord) -> Vec<String> {
    let telemetry = record.environment.telemetry.as_ref();
    let Some(spans) = telemetry.and_then(|telemetry| telemetry.spans.as_ref()) else {
        return Vec::new();
    };
    let has_many = record.targets.len() > 1;
    let named = |it: &SlowRequest| {
        let SlowRequest { target, step, latency_us, trace_id } = it;
        let target = if has_many { format!("{target}: ") } else { String::new() };
        format!("{target}{step} took {} ms in trace {trace_id}", milliseconds(Some(*latency_us)))
    };
    let mut lines: Vec<String> = spans.slowest.iter().take(MOST).map(named).collect();
    if let Some(first) = lines.first_mut() {
        *first += &format!(", slowest of {} traced requests", count(spans.traced));
    }
    lines
}
