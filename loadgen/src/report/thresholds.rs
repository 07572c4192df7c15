//! Thresholds in words.

use super::format::{count, quantity};
use crate::measure::{FailedBy, ThresholdRecord};

/// What was asked of whom, and what was measured.
pub fn judged(threshold: &ThresholdRecord) -> String {
    format!("{}: {} ({})", threshold.target, threshold.threshold, found(threshold))
}

/// What was measured, and what requests in flight at the end make of it where these decided.
#[must_use]
pub fn found(record: &ThresholdRecord) -> String {
    let ThresholdRecord { threshold, measured, worst_case, failed_late, unanswered, .. } = record;
    let Some(measured) = measured else { return "too few samples".to_owned() };
    let measured = format!("measured {}", quantity(threshold, *measured));
    match (record.failed_by, worst_case) {
        (Some(FailedBy::InFlight), Some(worst)) => format!(
            "{measured}, but {} at the worst: of the requests in flight at the end {}",
            quantity(threshold, *worst),
            fates(*failed_late, *unanswered)
        ),
        _ => measured,
    }
}

fn fates(failed_late: u64, unanswered: u64) -> String {
    let failed = (failed_late > 0).then(|| format!("{} failed", count(failed_late)));
    let none = (unanswered > 0).then(|| format!("{} had no answer", count(unanswered)));
    failed.into_iter().chain(none).collect::<Vec<_>>().join(", ")
}
