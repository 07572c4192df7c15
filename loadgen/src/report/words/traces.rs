//! Names the slowest of the requests that were traced.

use crate::record::{RunRecord, SlowRequest};
use crate::text::milliseconds;

/// Most requests that are named.
const MOST: usize = 3;

/// Returns a line for each of the slowest requests of the run's targets, the slowest first; none if no request was
/// traced, or if no span arrived.
pub(crate) fn traces(record: &RunRecord) -> Vec<String> {
    let telemetry = record.environment.telemetry.as_ref();
    let Some(spans) = telemetry.and_then(|telemetry| telemetry.spans.as_ref()) else {
        return Vec::new();
    };
    if spans.delivered == 0 {
        // Nobody has them.
        return Vec::new();
    }
    let is_of_run = |it: &&SlowRequest| record.targets.iter().any(|of| of.name == it.target);
    let slowest = spans.slowest.iter().filter(is_of_run).take(MOST);
    let named = |(nth, it): (usize, &SlowRequest)| {
        let SlowRequest { target, step, latency_us, trace_id, .. } = it;
        let begin = if nth == 0 { "slowest traced request" } else { "then" };
        let target = if record.targets.len() > 1 { format!("{target}, ") } else { String::new() };
        format!("{begin}: {target}{step}, {} ms, trace {trace_id}", milliseconds(Some(*latency_us)))
    };
    slowest.enumerate().map(named).collect()
}
