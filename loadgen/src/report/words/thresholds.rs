//! Describes thresholds.

use crate::record::ThresholdRecord;

/// Returns the target, its threshold and the measured value.
pub(crate) fn judged(threshold: &ThresholdRecord) -> String {
    format!("{}: {} ({})", threshold.target, threshold.threshold, threshold.found())
}
