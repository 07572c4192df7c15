//! Says figures of a history, and their changes.

use super::here::brief;
use super::interval::plus_minus;
use crate::analysis::history::{Entry, Figure, Metric};

/// Returns the name of a metric with its unit.
pub(crate) fn metric(metric: Metric) -> &'static str {
    match metric {
        Metric::Rate => "requests/s",
        Metric::Capacity => "capacity, requests/s",
        Metric::P50 => "p50, ms",
        Metric::P99 => "p99, ms",
        Metric::Cpu => "CPU-µs/request",
    }
}

/// Returns a figure with its interval: `6,673 ±2 %`.
pub(crate) fn figure(of: &Figure) -> String {
    format!("{}{}", brief(of.mean), plus_minus(of.mean, of.confidence_95))
}

/// Returns the day of a result.
pub(crate) fn day(entry: &Entry) -> String {
    entry.started.chars().take(10).collect()
}

/// Returns a change in percent: `−5.1 %`.
pub(crate) fn percent(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    let sign = if percent < 0.0 { '−' } else { '+' };
    format!("{sign}{:.1} %", percent.abs())
}

/// Returns whether a change is for the better.
pub(crate) fn is_better(metric: Metric, ratio: f64) -> bool {
    (ratio > 1.0) == metric.is_better_high()
}

/// Says whether a change is for the better.
pub(crate) fn verdict(metric: Metric, ratio: f64) -> &'static str {
    if is_better(metric, ratio) { "better" } else { "worse" }
}
