//! What must hold at a rate for it to count as carried, how long it takes to tell, and whether it
//! held in a trial.

use std::time::Duration;

use super::search::{Judgement, Limits};
use crate::analysis::offered_rate::OfferedRate;
use crate::measure::Summary;
use crate::record::{ThresholdRecord, VerdictKind};
use crate::scenario::{Comparison, Metric, Scenario, Threshold};
use crate::text::count;

/// The share of failed requests that is allowed where the scenario says nothing: a server that
/// fails fast must never win.
const ERROR_RATE: f64 = 0.01;

/// Requests that it takes to tell whether one in a hundred is missing.
const FEWEST: f64 = 100.0;

/// How many times longer than asked for a trial may last, for its samples.
const LONGEST: f64 = 12.0;

/// The highest rate that is tried, which no generator reaches.
const HIGHEST_PER_S: f64 = 1e7;

/// What a search asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct Criteria {
    /// The scenario's thresholds on the rate, which is what is searched for.
    pub left_out: Vec<String>,
    /// Requests of all steps together that a trial takes.
    samples: f64,
    duration: Duration,
}

impl Criteria {
    /// What `scenario` asks for, in trials of at least `duration`. Its thresholds become what a
    /// trial is judged by: without those on the rate, and with one on errors if it has none.
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

    /// Where to begin: the lowest rate that gives enough samples in a trial of the usual length.
    pub fn start_per_s(&self) -> f64 {
        self.samples / self.duration.as_secs_f64()
    }

    /// Between which rates to search.
    pub fn limits(&self, precision: f64) -> Limits {
        let lowest_per_s = self.start_per_s() / LONGEST;
        Limits { lowest_per_s, highest_per_s: HIGHEST_PER_S.max(lowest_per_s), precision }
    }

    /// How long a trial holds this rate.
    pub fn length(&self, rate_per_s: f64) -> Duration {
        let longer = (self.start_per_s() / rate_per_s).clamp(1.0, LONGEST);
        self.duration.mul_f64(longer)
    }
}

/// Requests of all steps together, so that the threshold's own have enough of them; with a margin of
/// four standard deviations, as arrivals may be left to chance.
fn samples(scenario: &Scenario, threshold: &Threshold) -> f64 {
    let own = match threshold.metric {
        // Ten must lie beyond it.
        Metric::Percentile(percent) => 10.0 / (1.0 - percent / 100.0),
        _ => FEWEST,
    };
    (own + 4.0 * own.sqrt()) / share(scenario, threshold.step.as_deref())
}

/// The share of all requests that are a step's.
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

/// How a trial went that asked for this, by what it measured of its target, and why so. `limit` says who
/// else limited it, if anybody did.
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

/// Why the rate was not kept, if so.
fn not_kept(total: &Summary, asked: OfferedRate) -> Option<String> {
    let left = total.cancelled + total.unsent;
    (!asked.is_kept_by(total)).then(|| {
        format!(
            "the rate was not kept: {} of {} requests were in flight or unsent at the end",
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
