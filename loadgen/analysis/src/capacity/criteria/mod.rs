//! Defines when a target carries a rate and how long a trial of a capacity search lasts, and judges
//! trials.

use std::time::Duration;

use super::search::{SearchRange, TrialResult};
use crate::offered_rate::OfferedRate;
use crate::record::{ThresholdRecord, VerdictKind};
use loadgen_measure::Summary;
use loadgen_scenario::{Flow, Metric, Of, Operator, Scenario, Statistic, Step, Threshold};
use loadgen_text::count;

/// Upper bound of the share of failed requests (0 to 1) if the scenario has no threshold on the
/// errors of all steps: a server that fails fast must never win.
const ERROR_RATE: f64 = 0.01;

/// Least number of requests in a trial: enough to notice that one request in a hundred is missing.
const FEWEST: f64 = 100.0;

/// Greatest length of a trial, as a multiple of the requested length. Trials at low rates last
/// longer, to collect enough samples.
const LONGEST: f64 = 12.0;

/// Highest rate that a search tries, in requests/s. No generator reaches this rate.
const HIGHEST_PER_S: f64 = 1e7;

/// Criteria by which a capacity search judges its trials.
#[derive(Debug, Clone, PartialEq)]
pub struct Criteria {
    /// Thresholds of the scenario that are left out because they limit the rate, which the search
    /// itself looks for.
    pub left_out: Vec<String>,
    /// Least number of requests that a trial needs, all steps together.
    samples: f64,
    duration: Duration,
}

impl Criteria {
    /// Returns the criteria of `scenario` for trials of at least `duration`. The function edits the
    /// thresholds of `scenario` so that they can judge a trial: thresholds on the rate are removed,
    /// and a threshold on the errors of all steps is added if the scenario has none.
    pub fn of(scenario: &mut Scenario, duration: Duration) -> Self {
        let is_rate = |threshold: &Threshold| threshold.metric == Metric::Rate;
        let (rates, mut kept): (Vec<_>, Vec<_>) = scenario.thresholds.drain(..).partition(is_rate);
        if !kept.iter().any(|t| t.metric == Metric::ErrorRate && t.of == Of::All) {
            kept.push(Threshold {
                of: Of::All,
                metric: Metric::ErrorRate,
                operator: Operator::Less,
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

    /// Returns the rate of the first trial, in requests/s: the lowest rate that gives enough
    /// samples in a trial of the requested length.
    pub fn start_per_s(&self) -> f64 {
        self.samples / self.duration.as_secs_f64()
    }

    /// Returns the range of rates that a search tries, and the precision at which the search ends.
    pub fn range(&self, precision: f64) -> SearchRange {
        let lowest_per_s = self.start_per_s() / LONGEST;
        SearchRange { lowest_per_s, highest_per_s: HIGHEST_PER_S.max(lowest_per_s), precision }
    }

    /// Returns the duration of a trial at this rate: longer than requested if the rate is too low
    /// for enough samples.
    pub fn length(&self, rate_per_s: f64) -> Duration {
        let longer = (self.start_per_s() / rate_per_s).clamp(1.0, LONGEST);
        self.duration.mul_f64(longer)
    }
}

/// Returns the number of requests, all steps together, that gives enough samples for this threshold.
/// The number includes a margin of four standard deviations, as arrivals may be random.
fn samples(scenario: &Scenario, threshold: &Threshold) -> f64 {
    let own = match threshold.metric {
        // Ten samples must lie beyond a percentile.
        Metric::Time(_, Statistic::Percentile(percent)) => 10.0 / (1.0 - percent / 100.0),
        _ => FEWEST,
    };
    (own + 4.0 * own.sqrt()) / share(scenario, &threshold.of)
}

/// Returns the number of a threshold's samples for each request (0 to 1): the share of requests that
/// belong to a step, or the number of iterations of a flow for each request.
fn share(scenario: &Scenario, of: &Of) -> f64 {
    let sum = |is_meant: &dyn Fn(&Step) -> bool| -> f64 {
        let steps = scenario.steps.iter().enumerate().filter(|(_, step)| is_meant(step));
        steps.map(|(index, _)| scenario.requests_of(index)).sum()
    };
    let weights = |is_meant: &dyn Fn(&Flow) -> bool| -> f64 {
        scenario.flows.iter().filter(|flow| is_meant(flow)).map(|it| f64::from(it.weight)).sum()
    };
    let each = scenario.requests_per_iteration();
    let share = match of {
        Of::All => 1.0,
        Of::Step(name) => sum(&|step| step.name == *name) / each,
        Of::Group(name) => sum(&|step| step.is_in_group(name)) / each,
        Of::Flow(name) => weights(&|flow| flow.name == *name) / weights(&|_| true) / each,
        Of::Iterations => 1.0 / each,
    };
    // Steps that users send once have no share.
    if share > 0.0 { share.min(1.0) } else { 1.0 }
}

/// Judges a trial, and returns the judgement with the reasons for a failure. `total` holds the
/// results of the trial, and `asked` the requested load. `limit` is the verdict on another party,
/// such as the generator, that limited the trial, if any.
pub fn judge(
    total: &Summary,
    asked: OfferedRate,
    thresholds: &[ThresholdRecord],
    limit: Option<VerdictKind>,
) -> (TrialResult, Vec<String>) {
    let failed = thresholds.iter().filter(|threshold| !threshold.passed).map(missed);
    let reasons: Vec<String> = not_kept(total, asked).into_iter().chain(failed).collect();
    let others = [
        VerdictKind::GeneratorBound,
        VerdictKind::GeneratorBusy,
        VerdictKind::BackendBound,
        VerdictKind::NetworkBound,
    ];
    let judgement = match reasons.is_empty() {
        true => TrialResult::Passed,
        false if limit.is_some_and(|kind| others.contains(&kind)) => TrialResult::Limited,
        false => TrialResult::Failed,
    };
    (judgement, reasons)
}

/// Returns a message if the target did not carry the requested rate; otherwise `None`.
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
