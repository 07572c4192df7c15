//! What was measured, held against the thresholds.

use std::time::Duration;

use super::steps::{counters, together};
use crate::measure::{Counts, ThresholdRecord};
use crate::scenario::{Metric, Step, Threshold};

/// Judges one target by its `counts` by step, which were taken while the load was `held` so long.
pub fn judge(
    target: &str,
    thresholds: &[Threshold],
    steps: &[Step],
    counts: &[Counts],
    held: Duration,
) -> Vec<ThresholdRecord> {
    let record = |threshold: &Threshold| {
        let measured = measured(threshold, steps, counts, held);
        ThresholdRecord {
            target: target.to_owned(),
            threshold: threshold.to_string(),
            measured,
            passed: measured.is_some_and(|value| threshold.holds(value)),
        }
    };
    thresholds.iter().map(record).collect()
}

/// The value that a threshold speaks of, in its metric's unit; `None` where samples are too few.
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
        Metric::ErrorRate => Some(of.error_rate()),
        Metric::Rate => Some(per_second(of.answered.len() as f64)),
        Metric::Unsent => Some(of.unsent as f64),
        Metric::Counter(name) => counted(name),
        Metric::CounterRate(name) => counted(name).map(per_second),
    }
}
