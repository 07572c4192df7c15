//! Compares measurements with the thresholds.

use std::borrow::Cow;
use std::time::Duration;

use super::steps::{Tally, counters, of_group, together};
use crate::record::{FailedBy, ThresholdRecord};
use loadgen_measure::{Counts, Latencies, StreamCounts};
use loadgen_scenario::{Flow, Metric, Of, Scenario, Statistic, Threshold, Timing};

/// Counts by which one target is judged. They include requests that were in flight at the end: see
/// [`Tally::with_cut`].
pub struct Scored<'a> {
    /// Counts for thresholds on all steps together, and on flows.
    pub all: &'a Tally,
    /// Counts for thresholds on a single step or a group. These counts include requests that
    /// users send after the measured period, when the users stop.
    pub by_row: &'a Tally,
    /// Duration of the hold, the measured period, over which rates are computed.
    pub held: Duration,
}

/// Judges all thresholds for one target; `scored` holds the counts of the target.
pub fn judge(target: &str, scenario: &Scenario, scored: &Scored<'_>) -> Vec<ThresholdRecord> {
    let record = |threshold: &Threshold| {
        let tally = match threshold.of {
            Of::Step(_) | Of::Group(_) => scored.by_row,
            Of::All | Of::Flow(_) | Of::Iterations => scored.all,
        };
        let result = ThresholdResult::of(threshold, scenario, tally, scored.held);
        let of = counts_of(threshold, scenario, tally);
        ThresholdRecord {
            target: target.to_owned(),
            threshold: threshold.to_string(),
            measured: result.measured,
            passed: result.failed_by.is_none(),
            failed_by: result.failed_by,
            worst_case: result.worst_case,
            failed_late: of.as_ref().map_or(0, |of| of.failed_late),
            unanswered: of.as_ref().map_or(0, |of| of.unanswered),
        }
    };
    scenario.thresholds.iter().map(record).collect()
}

/// Result of a threshold. If requests were in flight at the end, a threshold must also hold in the
/// worst case, in which these requests fail or take until their timeout.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ThresholdResult {
    /// Value of the metric, in the metric's unit; `None` for too few samples, and for an error rate
    /// without requests.
    pub measured: Option<f64>,
    /// Value of the metric if requests in flight at the end fail or take until their timeout;
    /// `None` if no worst case applies.
    pub worst_case: Option<f64>,
    /// Reason why the threshold failed; `None` where the threshold held.
    pub failed_by: Option<FailedBy>,
}

impl ThresholdResult {
    /// Judges a threshold by the counts and the duration of the measured period.
    pub fn of(threshold: &Threshold, scenario: &Scenario, tally: &Tally, held: Duration) -> Self {
        let measured = measured(threshold, scenario, tally, held);
        let worst_case = measured.and_then(|_| worst_case(threshold, scenario, tally));
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

/// Returns the counts of what a threshold is about; `None` if the scenario does not have it.
pub fn counts_of(threshold: &Threshold, scenario: &Scenario, tally: &Tally) -> Option<Counts> {
    let Tally { steps, flows } = tally;
    match &threshold.of {
        Of::All => Some(together(steps)),
        Of::Step(name) => {
            steps.get(scenario.steps.iter().position(|it| it.name == *name)?).cloned()
        }
        Of::Group(name) => Some(of_group(name, &scenario.steps, steps)),
        Of::Flow(name) => {
            flows.get(scenario.flows.iter().position(|it| it.name == *name)?).cloned()
        }
        Of::Iterations if scenario.measures_iterations() => Some(together(flows)),
        // Each iteration has one request.
        Of::Iterations => {
            let own = scenario.flows.iter().flat_map(|flow| steps.get(flow.steps.clone()));
            Some(together(own.flatten()))
        }
    }
}

/// Returns whether a threshold looks at iterations, which are measured besides requests.
fn measures_iterations(threshold: &Threshold, scenario: &Scenario) -> bool {
    matches!(threshold.of, Of::Flow(_) | Of::Iterations) && scenario.measures_iterations()
}

/// Returns whether a threshold looks at iterations of this flow.
fn is_about_flow(threshold: &Threshold, flow: &Flow) -> bool {
    match &threshold.of {
        Of::Flow(name) => flow.name == *name,
        _ => threshold.of == Of::Iterations,
    }
}

/// Returns the longest time that an iteration of a flow can take, without think times: if each request
/// ends just before its timeout.
fn longest(flow: &Flow, scenario: &Scenario, tally: &Tally) -> Duration {
    let time = |index: usize| scenario.steps[index].timeout * scenario.steps[index].repeat.max;
    let each = scenario.choices(flow).map(|choice| choice.map(time).max().unwrap_or_default());
    let delays = tally.steps.get(flow.steps.clone()).unwrap_or_default().iter();
    let delay = delays.filter_map(|counts| counts.delay.max()).max().unwrap_or(0);
    each.sum::<Duration>() + Duration::from_micros(delay)
}

/// Returns whether a threshold looks at requests to the step of this index. Iterations that are not
/// measured for themselves have one request each.
fn is_about(threshold: &Threshold, scenario: &Scenario, index: usize) -> bool {
    let step = &scenario.steps[index];
    match &threshold.of {
        Of::All => true,
        Of::Step(name) => step.name == *name,
        Of::Group(name) => step.is_in_group(name),
        Of::Flow(_) | Of::Iterations => {
            scenario.flows.iter().any(|flow| flow.steps.contains(&index))
        }
    }
}

fn measured(
    threshold: &Threshold,
    scenario: &Scenario,
    tally: &Tally,
    held: Duration,
) -> Option<f64> {
    let of = counts_of(threshold, scenario, tally)?;
    let counted = |name: &String| Some(*counters(&scenario.steps, &tally.steps).get(name)? as f64);
    let per_second = |n: f64| if held.is_zero() { 0.0 } else { n / held.as_secs_f64() };
    match &threshold.metric {
        Metric::Time(timing, statistic) => time(&times(*timing, &of), *statistic),
        Metric::EventRate => Some(per_second(of.stream.map_or(0, |stream| stream.events) as f64)),
        Metric::ErrorRate => (of.requests() > 0).then(|| of.error_rate()),
        Metric::Rate => Some(per_second(of.answered.len() as f64)),
        Metric::Unsent => Some(of.unsent as f64),
        Metric::Counter(name) => counted(name),
        Metric::CounterRate(name) => counted(name).map(per_second),
        // No threshold has this metric.
        Metric::Used(_) => None,
    }
}

/// Returns all times of a kind; none for times of events without a stream.
fn times(timing: Timing, of: &Counts) -> Cow<'_, Latencies> {
    let of_stream = |times: fn(&StreamCounts) -> &Latencies| {
        of.stream.as_deref().map(times).map_or_else(Cow::default, Cow::Borrowed)
    };
    match timing {
        Timing::Latency => Cow::Borrowed(&of.answered),
        Timing::FirstByte => Cow::Borrowed(of.ttfb()),
        Timing::FirstEvent => of_stream(|stream| &stream.first_event),
        Timing::Gap => of_stream(|stream| &stream.gaps),
    }
}

fn time(of: &Latencies, statistic: Statistic) -> Option<f64> {
    match statistic {
        Statistic::Percentile(percent) => of.quantile(percent / 100.0).map(|us| us as f64),
        Statistic::Mean => of.mean(),
        Statistic::Max => of.max().map(|us| us as f64),
    }
}

/// Returns the metric's value in the worst case of requests that were in flight at the end: an
/// error rate counts requests that failed later or had no answer as failures, and a latency counts
/// requests without an answer as answered at their timeout. `None` without such requests.
///
/// Also `None` for rates, unsent requests and counters, which cover only the hold (the measured
/// period), and for lower bounds, which slow or failed requests cannot break.
fn worst_case(threshold: &Threshold, scenario: &Scenario, tally: &Tally) -> Option<f64> {
    if !threshold.operator.is_upper() {
        return None;
    }
    let of = counts_of(threshold, scenario, tally)?;
    match &threshold.metric {
        Metric::ErrorRate => {
            let in_flight = of.failed_late.saturating_add(of.unanswered);
            (in_flight > 0).then(|| of.error_rate_with_in_flight())
        }
        Metric::Time(timing, statistic) if of.unanswered > 0 => {
            let mut times = times(*timing, &of).into_owned();
            if measures_iterations(threshold, scenario) {
                for (flow, counts) in scenario.flows.iter().zip(&tally.flows) {
                    if is_about_flow(threshold, flow) && counts.unanswered > 0 {
                        times.record_n(longest(flow, scenario, tally), counts.unanswered);
                    }
                }
                return time(&times, *statistic);
            }
            let steps = scenario.steps.iter().zip(&tally.steps).enumerate();
            for (_, (step, counts)) in steps.filter(|(i, _)| is_about(threshold, scenario, *i)) {
                // Latency counts from the planned send, and the timeout counts from the actual
                // send.
                let delay = Duration::from_micros(counts.delay.max().unwrap_or(0));
                let is_measured = step.expect.stream.is_some() || !threshold.metric.is_of_stream();
                if counts.unanswered > 0 && is_measured {
                    times.record_n(step.timeout + delay, counts.unanswered);
                }
            }
            time(&times, *statistic)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
