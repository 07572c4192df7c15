//! Describes thresholds.

use crate::record::ThresholdRecord;

/// Describes a threshold by the target's name, the threshold and the measured value.
pub(crate) fn judged(threshold: &ThresholdRecord) -> String {
    format!("{}: {} ({})", threshold.target, threshold.threshold, threshold.found())
}

/// Says whether a threshold held, and describes the threshold.
pub(crate) fn held(threshold: &ThresholdRecord) -> String {
    let held = if threshold.passed { "held" } else { "FAILED" };
    format!("{held}: {}", judged(threshold))
}
