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
}
