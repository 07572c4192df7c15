//! Compares measurements with the thresholds.

use std::time::Duration;

use super::steps::{counters, together};
use crate::measure::{Counts, Latencies};
use crate::record::{FailedBy, ThresholdRecord};
use crate::scenario::{Metric, Step, Threshold};

/// Counts by which one target is judged. Each step's counts include requests that were in flight at
/// the end: see [`super::steps::with_cut`].
pub struct Scored<'a> {
    /// Counts of each step, for thresholds on all steps together.
    pub all: &'a [Counts],
    /// Counts of each step, for thresholds on a single step. These counts include requests that
    /// users send after the measured period, when the users stop.
    pub by_row: &'a [Counts],
    /// Duration of the hold, the measured period, over which rates are computed.
    pub held: Duration,
}

/// Judges all thresholds for one target; `scored` holds the counts of the target.
pub fn judge(
    target: &str,
    thresholds: &[Threshold],
    steps: &[Step],
    scored: &Scored<'_>,
) -> Vec<ThresholdRecord> {
    let record = |threshold: &Threshold| {
        let counts = if threshold.step.is_some() { scored.by_row } else { scored.all };
        let judged = Judged::of(threshold, steps, counts, scored.held);
        let of = counts_of(threshold, steps, counts);
        ThresholdRecord {
            target: target.to_owned(),
            threshold: threshold.to_string(),
            measured: judged.measured,
            passed: judged.failed_by.is_none(),
            failed_by: judged.failed_by,
            worst_case: judged.worst_case,
            failed_late: of.as_ref().map_or(0, |of| of.failed_late),
            unanswered: of.as_ref().map_or(0, |of| of.unanswered),
        }
    };
    thresholds.iter().map(record).collect()
}

/// Verdict on a threshold. If requests were in flight at the end, a threshold must also hold in the
/// worst case, in which these requests fail or take until their timeout.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judged {
    /// Value of the metric, in the metric's unit; `None` for too few samples, and for an error rate
    /// without requests.
    pub measured: Option<f64>,
    /// Value of the metric if requests in flight at the end fail or take until their timeout;
    /// `None` if no worst case applies.
    pub worst_case: Option<f64>,
    /// Reason why the threshold failed; `None` where the threshold held.
    pub failed_by: Option<FailedBy>,
}

impl Judged {
    /// Judges a threshold by the counts of each step, and by the duration of the measured period.
    pub fn of(threshold: &Threshold, steps: &[Step], counts: &[Counts], held: Duration) -> Self {
        let measured = measured(threshold, steps, counts, held);
        let worst_case = measured.and_then(|_| worst_case(threshold, steps, counts));
        let breaks = |value: f64| !threshold.holds(value);
        let failed_by = match (measured, worst_case) {
            (None, _) => Some(FailedBy::TooFewSamples),
            (Some(value), _) if breaks(value) => Some(FailedBy::Measured),
            (_, Some(value)) if breaks(value) => Some(FailedBy::InFlight),
            _ => None,
        };
        Self { measured, worst_case, failed_by }
    }
}

/// Returns the counts of the step that a threshold is about, or of all steps together; `None` if
/// the step does not exist.
pub fn counts_of(threshold: &Threshold, steps: &[Step], counts: &[Counts]) -> Option<Counts> {
    match &threshold.step {
        Some(name) => counts.get(steps.iter().position(|step| step.name == *name)?).cloned(),
        None => Some(together(counts)),
    }
}

fn measured(
    threshold: &Threshold,
    steps: &[Step],
    counts: &[Counts],
    held: Duration,
) -> Option<f64> {
    let of = counts_of(threshold, steps, counts)?;
    let counted = |name: &String| Some(*counters(steps, counts).get(name)? as f64);
    let per_second = |n: f64| if held.is_zero() { 0.0 } else { n / held.as_secs_f64() };
    match &threshold.metric {
        Metric::Percentile(_) | Metric::Mean | Metric::Max => {
            latency(&threshold.metric, &of.answered)
        }
        Metric::ErrorRate => (of.requests() > 0).then(|| of.error_rate()),
        Metric::Rate => Some(per_second(of.answered.len() as f64)),
        Metric::Unsent => Some(of.unsent as f64),
        Metric::Counter(name) => counted(name),
        Metric::CounterRate(name) => counted(name).map(per_second),
        // No threshold has this metric.
        Metric::Used(_) => None,
    }
}

fn latency(metric: &Metric, answered: &Latencies) -> Option<f64> {
    match metric {
        Metric::Percentile(percent) => answered.quantile(percent / 100.0).map(|us| us as f64),
        Metric::Mean => answered.mean(),
        Metric::Max => answered.max().map(|us| us as f64),
        _ => None,
    }
}

/// Returns the metric's value in the worst case of requests that were in flight at the end: an
/// error rate counts requests that failed later or had no answer as failures, and a latency counts
/// requests without an answer as answered at their timeout. `None` without such requests.
///
/// Also `None` for rates, unsent requests and counters, which cover only the hold (the measured
/// period), and for lower bounds, which slow or failed requests cannot break.
fn worst_case(threshold: &Threshold, steps: &[Step], counts: &[Counts]) -> Option<f64> {
    if !threshold.comparison.is_upper() {
        return None;
    }
    let of = counts_of(threshold, steps, counts)?;
    match &threshold.metric {
        Metric::ErrorRate => {
            let in_flight = of.failed_late.saturating_add(of.unanswered);
            (in_flight > 0).then(|| of.error_rate_with_in_flight())
        }
        metric @ (Metric::Percentile(_) | Metric::Mean | Metric::Max) if of.unanswered > 0 => {
            let mut answered = of.answered;
            let is_meant = |step: &Step| threshold.step.as_ref().is_none_or(|it| *it == step.name);
            for (step, counts) in steps.iter().zip(counts).filter(|(step, _)| is_meant(step)) {
                // Latency counts from the planned send, and the timeout counts from the actual
                // send.
                let delay = Duration::from_micros(counts.delay.max().unwrap_or(0));
                if counts.unanswered > 0 {
                    answered.record_n(step.timeout + delay, counts.unanswered);
                }
            }
            latency(metric, &answered)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
