//! What had to hold, and whether it did.

use serde::{Deserialize, Serialize};

use crate::text::{count, precise};

/// One threshold, judged on one target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ThresholdRecord {
    /// The target.
    pub target: String,
    /// As the scenario has it.
    pub threshold: String,
    /// What was measured, in the threshold's unit; `None` where samples are too few.
    pub measured: Option<f64>,
    /// Whether it held.
    pub passed: bool,
    /// Why it did not.
    #[serde(default)]
    pub failed_by: Option<FailedBy>,
    /// What an upper bound is held against besides: the same value if requests without an answer had
    /// failed, or had been answered only at their timeout; `None` where there were none, or where they
    /// make no difference.
    #[serde(default)]
    pub worst_case: Option<f64>,
    /// Requests in flight at the end that failed after it.
    #[serde(default)]
    pub failed_late: u64,
    /// Requests in flight at the end to which no answer came.
    #[serde(default)]
    pub unanswered: u64,
}

/// Why a threshold failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailedBy {
    /// By what was measured.
    Measured,
    /// By requests that were in flight at the end: what was measured would have held.
    InFlight,
    /// Because there was too little to judge it by.
    TooFewSamples,
}

impl ThresholdRecord {
    /// What was measured, and what requests in flight at the end make of it where these decided.
    #[must_use]
    pub fn found(&self) -> String {
        let ThresholdRecord { threshold, measured, worst_case, failed_late, unanswered, .. } = self;
        let Some(measured) = measured else { return "too few samples".to_owned() };
        let measured = format!("measured {}", quantity(threshold, *measured));
        match (self.failed_by, worst_case) {
            (Some(FailedBy::InFlight), Some(worst)) => format!(
                "{measured}, but {} at the worst: of the requests in flight at the end {}",
                quantity(threshold, *worst),
                fates(*failed_late, *unanswered)
            ),
            _ => measured,
        }
    }
}

fn fates(failed_late: u64, unanswered: u64) -> String {
    let failed = (failed_late > 0).then(|| format!("{} failed", count(failed_late)));
    let none = (unanswered > 0).then(|| format!("{} had no answer", count(unanswered)));
    failed.into_iter().chain(none).collect::<Vec<_>>().join(", ")
}

/// A threshold's value in the unit that people use for its metric: `error_rate`, `rate`, `unsent`, a
/// counter, or else a latency.
fn quantity(threshold: &str, value: f64) -> String {
    let (metric, bound) = threshold.rsplit_once(['<', '>']).unwrap_or_default();
    let is_count = bound.ends_with(|last: char| last.is_ascii_digit());
    match metric.trim_end().rsplit('.').next() {
        _ if metric.starts_with("counter.") && bound.ends_with("/s") => {
            format!("{}/s", precise(value))
        }
        _ if metric.starts_with("counter.") && is_count => precise(value),
        Some("error_rate") => format!("{} %", precise(value * 100.0)),
        Some("rate") => format!("{}/s", precise(value)),
        Some("unsent") => precise(value),
        _ => format!("{} ms", precise(value / 1e3)),
    }
}
