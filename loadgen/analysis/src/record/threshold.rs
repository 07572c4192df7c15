//! Holds thresholds, and whether they held.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use loadgen_text::{count, precise};

/// Result of one threshold for one target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThresholdRecord {
    /// Name of the target.
    pub target: String,
    /// Threshold, as written in the scenario.
    pub threshold: String,
    /// Measured value: latencies in µs, error rates from 0 to 1, rates per second, other metrics as
    /// a number; `None` with too few samples.
    pub measured: Option<f64>,
    /// Whether the threshold held.
    pub passed: bool,
    /// Reason of the failure; `None` if the threshold held, or in earlier versions.
    #[serde(default)]
    pub failed_by: Option<FailedBy>,
    /// Second value that an upper bound is compared with: the measured value if requests without a
    /// response had failed, or had their response only at their timeout; `None` if no request lacks
    /// a response, or if these requests make no difference.
    #[serde(default)]
    pub worst_case: Option<f64>,
    /// Requests in flight at the end that failed after the end; 0 in documents of earlier versions.
    #[serde(default)]
    pub failed_late: u64,
    /// Requests in flight at the end that had no response; 0 in documents of earlier versions.
    #[serde(default)]
    pub unanswered: u64,
}

/// Reason why a threshold failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailedBy {
    /// The measured value fails.
    Measured,
    /// Requests in flight at the end fail the threshold, which the measured value alone would pass.
    InFlight,
    /// The samples are too few for a judgement.
    TooFewSamples,
}

impl ThresholdRecord {
    /// Returns the measured value in words. If requests in flight at the end failed the threshold,
    /// the text includes the worst case and the fate of these requests.
    #[must_use]
    pub fn found(&self) -> String {
        let ThresholdRecord { threshold, measured, worst_case, failed_late, unanswered, .. } = self;
        let Some(measured) = measured else { return "too few samples".to_owned() };
        let measured = format!("measured {}", quantity(threshold, *measured));
        match (self.failed_by, worst_case) {
            (Some(FailedBy::InFlight), Some(worst)) => format!(
                "{measured}, but {} in the worst case: of the requests in flight at the end, {}",
                quantity(threshold, *worst),
                fates(*failed_late, *unanswered)
            ),
            _ => measured,
        }
    }
}

fn fates(failed_late: u64, unanswered: u64) -> String {
    let failed = (failed_late > 0).then(|| format!("{} failed", count(failed_late)));
    let none = (unanswered > 0).then(|| format!("{} got no response", count(unanswered)));
    failed.into_iter().chain(none).collect::<Vec<_>>().join(", ")
}

/// Formats a measured value in the customary unit of the threshold's metric: % for `error_rate`,
/// requests/s for `rate`, a number for `unsent` and counters, and otherwise ms.
fn quantity(threshold: &str, value: f64) -> String {
    let (metric, bound) = threshold.rsplit_once(['<', '>']).unwrap_or_default();
    let is_count = bound.ends_with(|last: char| last.is_ascii_digit());
    match metric.trim_end().rsplit('.').next() {
        _ if metric.starts_with("counter.") && bound.ends_with("/s") => {
            format!("{}/s", precise(value))
        }
        _ if metric.starts_with("counter.") && is_count => precise(value),
        Some("error_rate") => format!("{} %", precise(value * 100.0)),
        Some("rate" | "event_rate") => format!("{}/s", precise(value)),
        Some("unsent") => precise(value),
        _ => format!("{} ms", precise(value / 1e3)),
    }
}
