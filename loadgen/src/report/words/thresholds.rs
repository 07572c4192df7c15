//! Thresholds in words.

use crate::record::ThresholdRecord;

/// What was asked of whom, and what was measured.
pub fn judged(threshold: &ThresholdRecord) -> String {
    format!("{}: {} ({})", threshold.target, threshold.threshold, threshold.found())
}
