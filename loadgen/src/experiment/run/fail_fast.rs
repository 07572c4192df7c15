//! Implements `--fail-fast`: ends the run as soon as a threshold is known to have failed.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Duration;

use crate::analysis::steps::{Tally, no_counts};
use crate::analysis::thresholds::{ThresholdResult, counts_of};
use crate::experiment::measured::MeasuredRound;
use crate::experiment::observe::{self, Begun, Event, Observe};
use crate::measure::{Phase, Series, Snapshot};
use crate::record::{FailedBy, StoppedEarly};
use crate::scenario::{Metric, Scenario, Statistic, Threshold};

/// Minimum number of failed requests for judging an error rate during a round, because a rate from
/// fewer failures says little. Similarly, a percentile needs ten samples beyond the percentile.
const FEWEST_FAILURES: u64 = 10;

/// Observer that judges each target against the thresholds during the run, by all of the target's
/// results so far, and ends the run when a threshold has failed.
pub struct FailFast<'a> {
    scenario: &'a Scenario,
    /// Results so far of each target, by the target's index in the job.
    targets: BTreeMap<usize, SoFar>,
    /// The round in progress: the target's index and name, and the number of the round.
    round: (usize, String, u32),
    failed: Option<&'a Threshold>,
}

/// Results so far of one target, while the full load was held.
struct SoFar {
    /// Counts of all rounds, including the round in progress.
    counts: Tally,
    /// Counts of what the end of a round cut off.
    cut: Tally,
    /// Time for which the full load was held in all finished rounds together.
    held: Duration,
}

/// Moment at which a threshold is judged.
#[derive(Clone, Copy, PartialEq)]
enum Moment {
    /// During a round, whenever a process reports its results of a second.
    Second,
    /// At the end of a round.
    Round,
}

impl<'a> FailFast<'a> {
    /// Creates an observer that judges targets by the thresholds of this scenario.
    pub fn new(scenario: &'a Scenario) -> Self {
        Self { scenario, targets: BTreeMap::new(), round: Default::default(), failed: None }
    }

    /// Adds a round that an earlier manager measured, and that did not end the run.
    #[must_use]
    pub fn after(mut self, round: &MeasuredRound) -> Self {
        let series = &round.results.series;
        let so_far = self.so_far(round.contender);
        for (phase, counts) in [(Phase::Hold, &mut so_far.counts), (Phase::Tail, &mut so_far.cut)] {
            counts.merge(&series.phase(phase), &Series::flows_of([series], phase));
        }
        so_far.held += round.held;
        self
    }

    /// Adds one process's results of a second to those of a target, and judges the thresholds.
    fn snapshot(&mut self, target: usize, snapshot: &Snapshot) {
        let so_far = self.so_far(target);
        for interval in &snapshot.intervals {
            let counts = match interval.phase {
                Phase::Hold => &mut so_far.counts,
                Phase::Tail => &mut so_far.cut,
                _ => continue,
            };
            counts.merge(&interval.steps, &interval.flows);
        }
        self.judge(target, Moment::Second);
    }

    /// Adds `held`, the time for which a finished round held the
    /// full load, to the target's total, and judges the thresholds.
    fn round_over(&mut self, target: usize, held: Duration) {
        self.so_far(target).held += held;
        self.judge(target, Moment::Round);
    }

    fn so_far(&mut self, target: usize) -> &mut SoFar {
        let none = || no_counts(self.scenario);
        let nothing = || SoFar { counts: none(), cut: none(), held: Duration::ZERO };
        self.targets.entry(target).or_insert_with(nothing)
    }

    fn judge(&mut self, target: usize, moment: Moment) {
        if self.failed.is_some() {
            return;
        }
        let scenario = self.scenario;
        let SoFar { counts, cut, held } = self.so_far(target);
        // The outcome of in-flight requests is known when the round is over.
        let whole;
        let counts = match moment {
            Moment::Second => &*counts,
            Moment::Round => {
                whole = counts.clone().with_cut(cut);
                &whole
            }
        };
        let has_failed = |threshold: &&Threshold| {
            can_tell(threshold, moment, scenario, counts)
                && matches!(
                    ThresholdResult::of(threshold, scenario, counts, *held).failed_by,
                    Some(FailedBy::Measured | FailedBy::InFlight)
                )
        };
        self.failed = scenario.thresholds.iter().find(has_failed);
    }
}

impl Observe for FailFast<'_> {
    fn observe(&mut self, event: &mut Event<'_>) -> ControlFlow<StoppedEarly> {
        match event {
            Event::RoundBegan(Begun { contender, number, name, .. }) => {
                self.round = (*contender, (*name).to_owned(), *number);
            }
            Event::Snapshot(_, snapshot, _) => self.snapshot(self.round.0, snapshot),
            Event::RoundOver(observe::SoFar::Run(_, measured), _) => {
                if let Some(round) = measured.rounds.last() {
                    self.round_over(round.contender, round.held);
                }
            }
            _ => {}
        }
        let Some(failed) = self.failed else { return ControlFlow::Continue(()) };
        let (_, target, round) = self.round.clone();
        ControlFlow::Break(StoppedEarly { target, round, threshold: failed.to_string() })
    }
}

/// Returns whether a threshold can be judged at this moment. A value that only grows, such as a
/// maximum, is judged only by an upper bound: once exceeded, an upper bound stays exceeded, but a
/// lower bound may still be reached. Rates and means are judged at the end of a round. An error
/// rate with an upper bound is judged during a round, too, after enough failures.
fn can_tell(threshold: &Threshold, moment: Moment, scenario: &Scenario, counts: &Tally) -> bool {
    let is_upper = threshold.operator.is_upper();
    match threshold.metric {
        Metric::Time(_, Statistic::Max) | Metric::Unsent | Metric::Counter(_) => is_upper,
        // A percentile has no value before enough samples support it.
        Metric::Time(_, Statistic::Percentile(_)) => true,
        Metric::ErrorRate if moment == Moment::Second => {
            let own = counts_of(threshold, scenario, counts);
            let enough = own.is_some_and(|own| own.failures() >= FEWEST_FAILURES);
            is_upper && (enough || threshold.bound == 0.0)
        }
        Metric::Time(_, Statistic::Mean)
        | Metric::ErrorRate
        | Metric::Rate
        | Metric::EventRate
        | Metric::CounterRate(_) => moment == Moment::Round,
        // No threshold has this metric.
        Metric::Used(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{Counts, ErrorKind, Interval, Latencies};
    use crate::scenario;

    fn scenario(threshold: &str) -> Scenario {
        let text = format!(
            "[[step]]\nname = \"a\"\nget = \"/\"\ncounters = {{ n = \"/n\" }}\n\
             [thresholds]\n{threshold}\n"
        );
        scenario::parse("test", "test.toml", &text).unwrap()
    }

    /// Returns a snapshot of one second: `failed` failed requests, and `answered` answers that took
    /// 1 ms each and add 1 to a counter.
    fn second(answered: u64, failed: u64) -> Snapshot {
        let mut latencies = Latencies::default();
        (0..answered).for_each(|_| latencies.record(Duration::from_millis(1)));
        let counts = Counts {
            answered: latencies,
            errors: BTreeMap::from([(ErrorKind::Status, failed)]),
            counters: vec![answered],
            ..Counts::default()
        };
        let steps = vec![counts.clone()];
        let interval = |phase| Interval { phase, steps: steps.clone(), ..Interval::default() };
        let intervals = vec![interval(Phase::RampUp), interval(Phase::Hold)];
        Snapshot::new(0, intervals)
    }

    /// Returns the number of the second, from 1, in which a threshold
    /// fails in a round with these answers and failures per second. 0
    /// is the end of the round; `None` if the threshold does not fail.
    fn failed(threshold: &str, seconds: &[(u64, u64)]) -> Option<usize> {
        let scenario = scenario(threshold);
        let mut watch = FailFast::new(&scenario);
        for (number, (answered, failed)) in (1..).zip(seconds) {
            watch.snapshot(0, &second(*answered, *failed));
            if watch.failed.is_some() {
                return Some(number);
            }
        }
        watch.round_over(0, Duration::from_secs(seconds.len() as u64));
        watch.failed.map(|_| 0)
    }

    #[test]
    fn a_percentile_fails_once_its_samples_support_it() {
        assert_eq!(failed("\"a.p95\" = \"< 0.5ms\"", &[(99, 0), (100, 0), (1, 0)]), Some(3));
        assert_eq!(failed("\"a.p95\" = \"< 0.5ms\"", &[(99, 0)]), None);
        assert_eq!(failed("\"a.p95\" = \"< 2ms\"", &[(500, 0)]), None);
    }

    #[test]
    fn an_error_rate_fails_from_ten_failures_or_the_first_if_none_is_allowed() {
        assert_eq!(failed("error_rate = \"< 1%\"", &[(9, 9), (9, 1), (9, 9)]), Some(2));
        assert_eq!(failed("error_rate = \"< 1%\"", &[(9, 9)]), Some(0));
        assert_eq!(failed("error_rate = \"<= 0%\"", &[(500, 0), (500, 1)]), Some(2));
        assert_eq!(failed("error_rate = \"> 1%\"", &[(500, 0), (0, 99)]), None);
    }

    #[test]
    fn the_error_rate_of_a_step_is_judged_by_its_failures() {
        let text = "[[step]]\nname = \"a\"\nget = \"/\"\n[[step]]\nname = \"b\"\nget = \"/\"\n\
                    [thresholds]\n\"a.error_rate\" = \"< 1%\"\n";
        let scenario = scenario::parse("test", "test.toml", text).unwrap();
        let failures =
            |n| Counts { errors: BTreeMap::from([(ErrorKind::Status, n)]), ..Counts::default() };
        let second = |a, b| {
            let steps = vec![failures(a), failures(b)];
            Snapshot::new(0, vec![Interval { phase: Phase::Hold, steps, ..Interval::default() }])
        };
        let mut watch = FailFast::new(&scenario);
        watch.snapshot(0, &second(1, 500));
        assert_eq!(watch.failed, None, "one failure of its own tells nothing yet");
        watch.snapshot(0, &second(9, 0));
        assert_eq!(watch.failed.unwrap().to_string(), "a.error_rate < 1%");
    }

    #[test]
    fn unanswered_requests_fail_a_bound_on_errors_after_the_round() {
        let scenario = scenario("error_rate = \"< 1%\"");
        let mut watch = FailFast::new(&scenario);
        watch.snapshot(0, &second(90, 0));
        let cut = Counts { cancelled: 10, unanswered: 10, ..Counts::default() };
        let (phase, steps) = (Phase::Tail, vec![cut]);
        let tail = Interval { phase, second: 1, steps, ..Interval::default() };
        watch.snapshot(0, &Snapshot::new(1, vec![tail]));
        assert_eq!(watch.failed, None);
        watch.round_over(0, Duration::from_secs(1));
        assert_eq!(watch.failed.unwrap().to_string(), "error_rate < 1%");
    }

    #[test]
    fn growing_metrics_fail_at_once_and_never_too_early() {
        assert_eq!(failed("\"counter.n\" = \"<= 10\"", &[(10, 0), (1, 0)]), Some(2));
        assert_eq!(failed("\"counter.n\" = \"> 10\"", &[(5, 0)]), None);
        assert_eq!(failed("max = \"< 0.5ms\"", &[(0, 5), (1, 0)]), Some(2));
        assert_eq!(failed("max = \"> 2ms\"", &[(9, 0)]), None);
    }

    #[test]
    fn rates_and_means_are_judged_after_whole_rounds() {
        assert_eq!(failed("rate = \"> 50\"", &[(0, 0), (101, 0)]), None);
        assert_eq!(failed("rate = \"> 50\"", &[(100, 0), (0, 0)]), Some(0));
        assert_eq!(failed("\"counter.n\" = \"> 50/s\"", &[(49, 0)]), Some(0));
        assert_eq!(failed("mean = \"< 0.5ms\"", &[(9, 0)]), Some(0));
    }

    #[test]
    fn each_target_is_judged_by_its_own_rounds() {
        let scenario = scenario("\"counter.n\" = \"< 10\"");
        let mut watch = FailFast::new(&scenario);
        watch.snapshot(0, &second(6, 0));
        watch.snapshot(1, &second(6, 0));
        assert_eq!(watch.failed, None);
        watch.snapshot(0, &second(6, 0));
        assert_eq!(watch.failed.unwrap().to_string(), "counter.n < 10");
    }

    #[test]
    fn rounds_of_an_earlier_manager_count() {
        let scenario = scenario("\"counter.n\" = \"< 10\"");
        let mut kept = MeasuredRound { held: Duration::from_secs(1), ..MeasuredRound::default() };
        kept.results.series.add(second(6, 0));
        let mut watch = FailFast::new(&scenario).after(&kept);
        assert_eq!(watch.failed, None, "it did not end the run");
        watch.snapshot(1, &second(6, 0));
        assert_eq!(watch.failed, None, "of another target");
        watch.snapshot(0, &second(6, 0));
        assert_eq!(watch.failed.unwrap().to_string(), "counter.n < 10");
        assert_eq!(watch.targets[&0].held, Duration::from_secs(1));
    }
}
