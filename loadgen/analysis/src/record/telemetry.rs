//! Says what became of the metrics that were sent to a collector.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Messages with metrics that were sent to a collector while the command went on (`--otlp`). They have the
/// sums of everything so far or, with the temporality `delta`, what was added since the last message that
/// arrived, so that a later message makes up for one that did not arrive.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TelemetryRecord {
    /// URL of the collector, without a password and a query.
    pub url: String,
    /// Messages that were sent.
    pub messages: u64,
    /// Messages that arrived.
    pub delivered: u64,
    /// Values that the collector rejected, over all messages.
    pub rejected_values: u64,
    /// Whether a message arrived that has all that was measured.
    pub is_complete: bool,
    /// Reason why the last message that did not arrive, or of which values were rejected, failed; `None` if none
    /// failed.
    pub last_error: Option<String>,
    /// Spans of traced requests; `None` if no request was traced (`--trace-one-in`), and in earlier versions.
    #[serde(default)]
    pub spans: Option<SpansRecord>,
}

/// Spans that were sent to a collector: one for each request that was traced, over the whole command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpansRecord {
    /// URL of the collector, without a password and a query.
    pub url: String,
    /// Requests that were traced, without those of workers that were lost.
    pub traced: u64,
    /// Spans of these that arrived.
    pub delivered: u64,
    /// Spans of these that were not sent, because too many waited.
    pub dropped: u64,
    /// Requests that were chosen to be traced but were not, because a process traces at most 1,000 in a second.
    pub over_limit: u64,
    /// Reason why the last message that did not arrive, or of which spans were rejected, failed; `None` if none failed.
    pub last_error: Option<String>,
    /// The slowest traced requests with expected responses while the full load was held, the slowest first: up to three of
    /// each target.
    pub slowest: Vec<SlowRequest>,
}

/// A request that was traced, and that was slow.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SlowRequest {
    /// Name of the group in an experiment file; `None` without one.
    pub group: Option<String>,
    /// Name of the target.
    pub target: String,
    /// Name of the step.
    pub step: String,
    /// Latency in µs, from the planned send to the last byte of the response.
    pub latency_us: u64,
    /// ID of the trace, in which the server says what it did for the request.
    pub trace_id: String,
}
