//! What was measured, held against the thresholds.

use std::time::Duration;

use super::steps::{counters, together};
use crate::measure::{Counts, ThresholdRecord};
use crate::scenario::{Metric, Step, Threshold};

/// What one target is judged by.
pub struct Scored<'a> {
    /// What counts for all steps together, by step.
    pub all: &'a [Counts],
    /// What each step is judged by on its own: it may have been sent after the hold.
    pub by_row: &'a [Counts],
    /// How long the load was held.
    pub held: Duration,
}

/// Judges one target.
pub fn judge(
    target: &str,
    thresholds: &[Threshold],
    steps: &[Step],
    scored: &Scored<'_>,
) -> Vec<ThresholdRecord> {
    let record = |threshold: &Threshold| {
        let counts = if threshold.step.is_some() { scored.by_row } else { scored.all };
        let measured = measured(threshold, steps, counts, scored.held);
        ThresholdRecord {
            target: target.to_owned(),
            threshold: threshold.to_string(),
            measured,
            passed: measured.is_some_and(|value| threshold.holds(value)),
        }
    };
    thresholds.iter().map(record).collect()
}

/// The value that a threshold speaks of, in its metric's unit; `None` where samples are too few, and
/// where there are errors of nothing.
pub fn measured(
    threshold: &Threshold,
    steps: &[Step],
    counts: &[Counts],
    held: Duration,
) -> Option<f64> {
    let step = |name: &String| counts.get(steps.iter().position(|step| step.name == *name)?);
    let of = match &threshold.step {
        Some(name) => step(name)?.clone(),
        None => together(counts),
    };
    let counted = |name: &String| Some(*counters(steps, counts).get(name)? as f64);
    let per_second = |n: f64| if held.is_zero() { 0.0 } else { n / held.as_secs_f64() };
    match &threshold.metric {
        Metric::Percentile(p) => of.answered.quantile(p / 100.0).map(|us| us as f64),
        Metric::Mean => of.answered.mean(),
        Metric::Max => of.answered.max().map(|us| us as f64),
        Metric::ErrorRate => (of.requests() > 0).then(|| of.error_rate()),
        Metric::Rate => Some(per_second(of.answered.len() as f64)),
        Metric::Unsent => Some(of.unsent as f64),
        Metric::Counter(name) => counted(name),
        Metric::CounterRate(name) => counted(name).map(per_second),
    }
}
