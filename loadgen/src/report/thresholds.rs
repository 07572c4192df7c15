//! Thresholds in words.

use super::format::quantity;
use crate::measure::ThresholdRecord;

/// What was asked of whom, and what was measured.
pub fn judged(threshold: &ThresholdRecord) -> String {
    let ThresholdRecord { target, threshold, measured, .. } = threshold;
    let measured = measured
        .map_or("too few samples".to_owned(), |m| format!("measured {}", quantity(threshold, m)));
    format!("{target}: {threshold} ({measured})")
}
