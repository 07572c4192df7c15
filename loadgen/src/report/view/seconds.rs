//! Divides a round into seconds, each available as soon as its results can be complete.

use std::collections::VecDeque;

use crate::measure::{Counts, GrowingSeries, Latencies};

/// Greatest number of seconds that a percentile covers. A percentile covers only as many seconds as
/// are needed for enough samples.
const MOST: usize = 10;

/// Time, in s, from the end of a second until the clock alone declares the results of the second
/// complete. Workers report once a second, and reports take time to arrive.
const SETTLED: u32 = 2;

/// Results of one second of a round, as the live view and the live page show them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Second {
    /// Requests that were answered as expected.
    pub answered: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Median latency of the expected answers, in µs, which may cover earlier seconds too. `None`
    /// if the second has no expected answer, or if the samples are too few.
    pub p50_us: Option<u64>,
    /// 95th percentile of latency, in µs; covers earlier seconds and is `None` like `p50_us`.
    pub p95_us: Option<u64>,
    /// 99th percentile of latency, in µs; covers earlier seconds and is `None` like `p50_us`.
    pub p99_us: Option<u64>,
}

/// Divides the results of a round into seconds, and returns each second once.
#[derive(Debug, Default)]
pub(crate) struct Seconds {
    /// Number of seconds that were returned so far.
    done: u32,
    /// Latest seconds of all steps together.
    all: Window,
    /// Latest seconds of each step, if there are several steps or iterations are measured.
    steps: Vec<Window>,
    /// Latest seconds of each flow, whose requests are iterations; empty if iterations are not
    /// measured.
    flows: Vec<Window>,
}

/// The latest seconds of a step, of a flow, or of all steps together.
#[derive(Debug, Default)]
struct Window {
    /// Latencies of the latest seconds, the newest first.
    latest: VecDeque<Latencies>,
    newest: Second,
}

impl Seconds {
    /// Returns the complete seconds that were not returned yet. The newest second with results is
    /// withheld, because some workers may not have reported that second yet. If results stop
    /// arriving, a second is complete `SETTLED` s after the end of the second. `now` is the round's
    /// current second; if `now` is `None`, only the results count.
    pub(crate) fn new_in(&mut self, results: &GrowingSeries, now: Option<u32>) -> Vec<Second> {
        let reported = results.newest();
        let passed = now.and_then(|now| now.checked_sub(SETTLED));
        self.until(results, reported.max(passed).unwrap_or(0))
    }

    /// Returns the seconds that were not returned yet of a round that had `whole` whole seconds, and whose results have
    /// all arrived.
    pub(crate) fn rest_of(&mut self, results: &GrowingSeries, whole: u32) -> Vec<Second> {
        self.until(results, whole)
    }

    fn until(&mut self, results: &GrowingSeries, end: u32) -> Vec<Second> {
        let new = self.done..end;
        self.done = self.done.max(end);
        new.map(|second| self.second(&results.second(second), &results.flows_of_second(second)))
            .collect()
    }

    /// Returns the number of seconds that were returned so far.
    pub(crate) fn done(&self) -> u32 {
        self.done
    }

    /// Returns the newest second of each step and then of each flow, in the order of the scenario.
    /// Empty if the scenario has a single step, and before the first second.
    pub(crate) fn steps(&self) -> Vec<Second> {
        self.steps.iter().chain(&self.flows).map(|step| step.newest).collect()
    }

    fn second(&mut self, steps: &[Counts], flows: &[Counts]) -> Second {
        self.flows.resize_with(flows.len().max(self.flows.len()), Window::default);
        if steps.len() > 1 || !flows.is_empty() {
            self.steps.resize_with(steps.len().max(self.steps.len()), Window::default);
        }
        for (windows, counts) in [(&mut self.steps, steps), (&mut self.flows, flows)] {
            for (index, window) in windows.iter_mut().enumerate() {
                // A second without any request has no counts.
                window.add(counts.get(index..=index).unwrap_or_default());
            }
        }
        self.all.add(steps)
    }
}

impl Window {
    /// Adds the counts of a new second, and returns the results of this second.
    fn add(&mut self, steps: &[Counts]) -> Second {
        let mut answered = Latencies::default();
        steps.iter().for_each(|step| answered.merge(&step.answered));
        let count = answered.len();
        self.latest.push_front(answered);
        self.latest.truncate(MOST);
        self.newest = Second {
            answered: count,
            failed: steps.iter().map(Counts::failures).fold(0, u64::saturating_add),
            p50_us: self.quantile(0.5),
            p95_us: self.quantile(0.95),
            p99_us: self.quantile(0.99),
        };
        self.newest
    }

    /// Returns the latency, in µs, that a share `q` (0 to 1) of the expected answers did not
    /// exceed. Covers the latest second and as many earlier seconds as enough samples need. `None`
    /// if the latest second has no answer, or if all retained seconds have too few samples.
    fn quantile(&self, q: f64) -> Option<u64> {
        if self.latest.front().is_none_or(Latencies::is_empty) {
            return None;
        }
        let mut all = Latencies::default();
        self.latest.iter().find_map(|second| {
            all.merge(second);
            all.quantile(q)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{Interval, Phase, Snapshot};
    use std::time::Duration;

    /// Returns the seconds that are shown after workers have sent `reports`. A report is the number
    /// of a second and the number of answers in that second. Each answer took as many ms as the
    /// second's number plus one.
    fn shown(reports: &[(u32, usize)], now: Option<u32>) -> Vec<Second> {
        let (mut results, mut seconds) = (GrowingSeries::default(), Seconds::default());
        let mut shown = Vec::new();
        for (second, answers) in reports {
            let mut counts = Counts::default();
            let latency = Duration::from_millis(u64::from(*second) + 1);
            (0..*answers).for_each(|_| counts.answered.record(latency));
            let (phase, steps) = (Phase::Hold, vec![counts]);
            let interval = Interval { phase, second: *second, steps, ..Interval::default() };
            results.add(&Snapshot::new(*second, vec![interval]));
            shown.extend(seconds.new_in(&results, None));
        }
        shown.extend(seconds.new_in(&results, now));
        shown
    }

    fn answered(reports: &[(u32, usize)], now: Option<u32>) -> Vec<u64> {
        shown(reports, now).iter().map(|second| second.answered).collect()
    }

    #[test]
    fn flows_follow_the_steps() {
        let (mut results, mut seconds) = (GrowingSeries::default(), Seconds::default());
        let of = |answers: u64| {
            let mut counts = Counts::default();
            counts.answered.record_n(std::time::Duration::from_millis(1), answers);
            counts
        };
        for second in 0..4 {
            let n = u64::from(second) + 1;
            let (steps, flows) = (vec![of(3 * n)], vec![of(n), of(2 * n)]);
            let phase = Phase::Hold;
            let interval = Interval { phase, second, steps, flows, ..Interval::default() };
            results.add(&Snapshot::new(second, vec![interval]));
            let all: Vec<u64> =
                seconds.new_in(&results, None).iter().map(|second| second.answered).collect();
            let newest: Vec<u64> = seconds.steps().iter().map(|row| row.answered).collect();
            match n - 1 {
                0 => assert_eq!((all, newest), (vec![], vec![])),
                n => assert_eq!((all, newest), (vec![3 * n], vec![3 * n, n, 2 * n])),
            }
        }
    }

    #[test]
    fn each_of_several_steps_has_its_newest_second() {
        let (mut results, mut seconds) = (GrowingSeries::default(), Seconds::default());
        let mut report = |second, answers: &[u64]| {
            let step = |(ms, n): (u64, &u64)| {
                let mut counts = Counts::default();
                counts.answered.record_n(Duration::from_millis(ms), *n);
                counts
            };
            let steps = (1..).zip(answers).map(step).collect();
            let interval = Interval { phase: Phase::Hold, second, steps, ..Interval::default() };
            results.add(&Snapshot::new(second, vec![interval]));
            seconds.new_in(&results, None);
            let figures = |of: Second| (of.answered, of.p50_us);
            seconds.steps().into_iter().map(figures).collect::<Vec<_>>()
        };
        assert_eq!(report(0, &[20, 30]), []);
        assert_eq!(report(1, &[21, 0]), [(20, Some(1_000)), (30, Some(2_000))]);
        assert_eq!(report(4, &[1, 1]), [(0, None), (0, None)]);
    }

    #[test]
    fn a_second_is_shown_when_the_next_has_results() {
        assert_eq!(answered(&[], None), [0; 0]);
        assert_eq!(answered(&[(0, 5), (0, 6)], None), [0; 0]);
        assert_eq!(answered(&[(0, 5), (0, 6), (1, 1)], None), [11]);
        assert_eq!(answered(&[(0, 5), (0, 6), (1, 1), (1, 2), (2, 3)], None), [11, 3]);
        assert_eq!(answered(&[(0, 5), (4, 1)], None), [5, 0, 0, 0]);
    }

    #[test]
    fn seconds_without_results_are_shown_after_a_delay() {
        assert_eq!(answered(&[(0, 5)], Some(2)), [0; 0]);
        assert_eq!(answered(&[(0, 5)], Some(3)), [5]);
        assert_eq!(answered(&[(0, 5)], Some(6)), [5, 0, 0, 0]);
        assert_eq!(answered(&[], Some(4)), [0, 0]);
    }

    #[test]
    fn the_end_of_a_round_shows_its_whole_seconds() {
        let (mut results, mut seconds) = (GrowingSeries::default(), Seconds::default());
        let mut counts = Counts::default();
        counts.answered.record_n(Duration::from_millis(1), 7);
        for second in 0..3 {
            let steps = vec![counts.clone()];
            let interval = Interval { phase: Phase::Hold, second, steps, ..Interval::default() };
            results.add(&Snapshot::new(second, vec![interval]));
        }
        let mut answered = |new: fn(&mut Seconds, &GrowingSeries) -> Vec<Second>| {
            new(&mut seconds, &results).iter().map(|it| it.answered).collect::<Vec<_>>()
        };
        assert_eq!(answered(|seconds, results| seconds.new_in(results, None)), [7, 7]);
        // The third second is shorter.
        assert_eq!(answered(|seconds, results| seconds.rest_of(results, 2)), [0; 0]);
        assert_eq!(answered(|seconds, results| seconds.rest_of(results, 3)), [7]);
        // In the fourth, nothing was answered.
        assert_eq!(answered(|seconds, results| seconds.rest_of(results, 4)), [0]);
    }

    #[test]
    fn a_percentile_covers_as_many_seconds_as_it_needs() {
        let p99 = |reports: &[(u32, usize)]| shown(reports, None).last().unwrap().p99_us;
        assert_eq!(p99(&[(0, 900), (1, 1_000), (2, 1)]), Some(2_000));
        assert_eq!(p99(&[(0, 900), (1, 100), (2, 1)]), Some(2_000));
        assert_eq!(p99(&[(0, 899), (1, 100), (2, 1)]), None);
        let few: Vec<(u32, usize)> = (0..=11).map(|second| (second, 99)).collect();
        assert_eq!(p99(&few), None);
        // A second without an answer has no percentile, regardless of earlier seconds.
        assert_eq!(p99(&[(0, 1_000), (3, 1)]), None);
    }
}
