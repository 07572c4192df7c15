//! Defines the criteria for a carried rate and the length of a trial, and judges trials.

use std::time::Duration;

use super::search::{Judgement, Limits};
use crate::analysis::offered_rate::OfferedRate;
use crate::measure::Summary;
use crate::record::{ThresholdRecord, VerdictKind};
use crate::scenario::{Comparison, Metric, Scenario, Threshold};
use crate::text::count;

/// Share of failed requests that is allowed where the scenario has no threshold on the errors of
/// all steps: a server that fails fast must never win.
const ERROR_RATE: f64 = 0.01;

/// Number of requests needed to tell whether one in a hundred is missing.
const FEWEST: f64 = 100.0;

/// Greatest length of a trial, as a multiple of the requested length, to collect its samples.
const LONGEST: f64 = 12.0;

/// Highest rate to try, in requests/s, which no generator reaches.
const HIGHEST_PER_S: f64 = 1e7;

/// Criteria of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Criteria {
    /// Thresholds of the scenario on the rate, which are left out because the search looks for the
    /// rate.
    pub left_out: Vec<String>,
    /// Number of requests that a trial needs, all steps together.
    samples: f64,
    duration: Duration,
}

impl Criteria {
    /// Returns the criteria of `scenario`, in trials of at least `duration`. The scenario keeps the
    /// thresholds by which a trial is judged: without those on the rate, and with one on the
    /// errors of all steps if the scenario has none.
    pub fn of(scenario: &mut Scenario, duration: Duration) -> Self {
        let is_rate = |threshold: &Threshold| threshold.metric == Metric::Rate;
        let (rates, mut kept): (Vec<_>, Vec<_>) = scenario.thresholds.drain(..).partition(is_rate);
        if !kept.iter().any(|t| t.metric == Metric::ErrorRate && t.step.is_none()) {
            kept.push(Threshold {
                step: None,
                metric: Metric::ErrorRate,
                comparison: Comparison::Less,
                bound: ERROR_RATE,
                text: format!("error_rate < {}%", ERROR_RATE * 100.0),
            });
        }
        scenario.thresholds = kept;
        let needed = scenario.thresholds.iter().map(|threshold| samples(scenario, threshold));
        Self {
            left_out: rates.iter().map(ToString::to_string).collect(),
            samples: needed.fold(FEWEST, f64::max),
            duration,
        }
    }

    /// Returns the rate to start with, in requests/s: the lowest rate that gives enough samples in
    /// a trial of the usual length.
    pub fn start_per_s(&self) -> f64 {
        self.samples / self.duration.as_secs_f64()
    }

    /// Returns the limits of the search.
    pub fn limits(&self, precision: f64) -> Limits {
        let lowest_per_s = self.start_per_s() / LONGEST;
        Limits { lowest_per_s, highest_per_s: HIGHEST_PER_S.max(lowest_per_s), precision }
    }

    /// Returns the duration for which a trial holds this rate.
    pub fn length(&self, rate_per_s: f64) -> Duration {
        let longer = (self.start_per_s() / rate_per_s).clamp(1.0, LONGEST);
        self.duration.mul_f64(longer)
    }
}

/// Returns the number of requests, all steps together, that gives the threshold enough samples of
/// its own. The number includes a margin of four standard deviations, as arrivals may be random.
fn samples(scenario: &Scenario, threshold: &Threshold) -> f64 {
    let own = match threshold.metric {
        // Ten samples must lie beyond a percentile.
        Metric::Percentile(percent) => 10.0 / (1.0 - percent / 100.0),
        _ => FEWEST,
    };
    (own + 4.0 * own.sqrt()) / share(scenario, threshold.step.as_deref())
}

/// Returns the share of all requests that belongs to a step.
fn share(scenario: &Scenario, step: Option<&str>) -> f64 {
    let index = step.and_then(|name| scenario.steps.iter().position(|s| s.name == name));
    let Some(index) = index else { return 1.0 };
    let groups: Vec<_> = scenario.groups().collect();
    let weight = |step: usize| f64::from(scenario.steps[step].weight.unwrap_or(1));
    let of_group: f64 = groups
        .iter()
        .find(|group| group.contains(&index))
        .cloned()
        .into_iter()
        .flatten()
        .map(weight)
        .sum();
    weight(index) / of_group / groups.len() as f64
}

/// Judges a trial that requested the load `asked`, by the measurements of its target, and returns
/// the judgement with the reasons for a failure. `limit` is the verdict on another party that
/// limited the trial, if any.
pub fn judge(
    total: &Summary,
    asked: OfferedRate,
    thresholds: &[ThresholdRecord],
    limit: Option<VerdictKind>,
) -> (Judgement, Vec<String>) {
    let failed = thresholds.iter().filter(|threshold| !threshold.passed).map(missed);
    let reasons: Vec<String> = not_kept(total, asked).into_iter().chain(failed).collect();
    let others = [
        VerdictKind::GeneratorBound,
        VerdictKind::GeneratorBusy,
        VerdictKind::BackendBound,
        VerdictKind::NetworkBound,
    ];
    let judgement = match reasons.is_empty() {
        true => Judgement::Passed,
        false if limit.is_some_and(|kind| others.contains(&kind)) => Judgement::Limited,
        false => Judgement::Failed,
    };
    (judgement, reasons)
}

/// Returns the reason why the rate was not kept; `None` if the rate was kept.
fn not_kept(total: &Summary, asked: OfferedRate) -> Option<String> {
    let left = total.cancelled + total.unsent;
    (!asked.is_kept_by(total)).then(|| {
        format!(
            "the rate was not carried: {} of {} requests were in flight or unsent at the end",
            count(left),
            count(total.requests + left)
        )
    })
}

fn missed(threshold: &ThresholdRecord) -> String {
    format!("{}: {}", threshold.threshold, threshold.found())
}

#[cfg(test)]
mod tests;
