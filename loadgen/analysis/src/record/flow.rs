//! Holds the results of whole iterations.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use loadgen_measure::{Counts, ErrorKind, LatencySummary, Summary};

/// Results of the iterations of one flow, or of all flows together, during the hold (the measured
/// period). An iteration is expected if each of its requests got the expected response.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowRecord {
    /// Name of the flow, or `iteration` for all flows together.
    pub name: String,
    /// Iterations that ended, with or without a failed request.
    pub iterations: u64,
    /// Iterations with a failed request.
    pub errors: u64,
    /// Iterations cut off by the end of the round; not included in `iterations`.
    pub cancelled: u64,
    /// Failed iterations, by the kind of error of the first failed request.
    pub errors_by_kind: BTreeMap<ErrorKind, u64>,
    /// Description of one failed iteration of each kind of error that occurred.
    pub error_examples: BTreeMap<ErrorKind, String>,
    /// Expected iterations per second.
    pub rate_per_s: f64,
    /// Latencies of the expected iterations: from the planned send of the first request to the last
    /// response, without think times.
    pub latency_us: LatencySummary,
    /// Latencies of the failed iterations.
    pub failed_us: LatencySummary,
}

impl FlowRecord {
    /// Summarizes the `counts` of a period of length `window`. `cut` counts the iterations that were
    /// cut off by the end of the round.
    #[must_use]
    pub fn new(name: &str, counts: &Counts, cut: &Counts, window: Duration) -> Self {
        let summary = Summary::new(name, counts, cut, window);
        Self {
            name: summary.name,
            iterations: summary.requests,
            errors: summary.errors,
            cancelled: summary.cancelled,
            errors_by_kind: summary.errors_by_kind,
            error_examples: summary.error_examples,
            rate_per_s: summary.rate_per_s,
            latency_us: summary.latency_us,
            failed_us: summary.failed_us,
        }
    }
}
