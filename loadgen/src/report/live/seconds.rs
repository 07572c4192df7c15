//! A round second by second, each as soon as all of it can be there.

use std::collections::VecDeque;

use crate::measure::{Counts, GrowingSeries, Latencies};

/// A percentile is told of as many seconds as it takes to tell it, up to so many.
const MOST: usize = 10;

/// By the clock, the results of a second are there when so many more are over: they are reported once a
/// second, and travel.
const SETTLED: u32 = 2;

/// What is shown of a second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Second {
    /// Requests that were answered as expected.
    pub answered: u64,
    /// Requests that failed.
    pub failed: u64,
    /// The median latency of the answered ones, in µs; `None` where they are too few to say.
    pub p50_us: Option<u64>,
    /// Their 99th percentile.
    pub p99_us: Option<u64>,
}

/// Makes seconds of what was measured.
#[derive(Debug, Default)]
pub struct Seconds {
    /// How many there were.
    done: u32,
    /// The latencies of the latest, the latest first.
    latest: VecDeque<Latencies>,
}

impl Seconds {
    /// The seconds that are over and were not given yet, where the round is in second `now`. Of the newest
    /// one with results some workers may not have told yet. Where none come any more the clock tells that
    /// nothing happened.
    pub fn new_in(&mut self, results: &GrowingSeries, now: Option<u32>) -> Vec<Second> {
        let reported = results.newest();
        let passed = now.and_then(|now| now.checked_sub(SETTLED));
        let Some(end) = reported.max(passed) else { return Vec::new() };
        let new = self.done..end;
        self.done = self.done.max(end);
        new.map(|second| self.second(&results.second(second))).collect()
    }

    fn second(&mut self, steps: &[Counts]) -> Second {
        let mut answered = Latencies::default();
        steps.iter().for_each(|step| answered.merge(&step.answered));
        let count = answered.len();
        self.latest.push_front(answered);
        self.latest.truncate(MOST);
        Second {
            answered: count,
            failed: steps.iter().map(Counts::failures).fold(0, u64::saturating_add),
            p50_us: self.quantile(0.5),
            p99_us: self.quantile(0.99),
        }
    }

    /// Of the latest second, or of as many before it as it takes to tell.
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

    /// What is shown after workers have reported so many answers in these seconds, each of as many ms
    /// as the second's number, and one more.
    fn shown(reports: &[(u32, usize)], now: Option<u32>) -> Vec<Second> {
        let (mut results, mut seconds) = (GrowingSeries::default(), Seconds::default());
        let mut shown = Vec::new();
        for (second, answers) in reports {
            let mut counts = Counts::default();
            let latency = Duration::from_millis(u64::from(*second) + 1);
            (0..*answers).for_each(|_| counts.answered.record(latency));
            let interval = Interval { phase: Phase::Hold, second: *second, steps: vec![counts] };
            results.add(&Snapshot { number: *second, intervals: vec![interval] });
            shown.extend(seconds.new_in(&results, None));
        }
        shown.extend(seconds.new_in(&results, now));
        shown
    }

    fn answered(reports: &[(u32, usize)], now: Option<u32>) -> Vec<u64> {
        shown(reports, now).iter().map(|second| second.answered).collect()
    }

    #[test]
    fn a_second_is_shown_when_the_one_after_it_has_results() {
        assert_eq!(answered(&[], None), [0; 0]);
        assert_eq!(answered(&[(0, 5), (0, 6)], None), [0; 0]);
        assert_eq!(answered(&[(0, 5), (0, 6), (1, 1)], None), [11]);
        assert_eq!(answered(&[(0, 5), (0, 6), (1, 1), (1, 2), (2, 3)], None), [11, 3]);
        assert_eq!(answered(&[(0, 5), (4, 1)], None), [5, 0, 0, 0]);
    }

    #[test]
    fn seconds_without_results_are_shown_by_the_clock() {
        assert_eq!(answered(&[(0, 5)], Some(2)), [0; 0]);
        assert_eq!(answered(&[(0, 5)], Some(3)), [5]);
        assert_eq!(answered(&[(0, 5)], Some(6)), [5, 0, 0, 0]);
        assert_eq!(answered(&[], Some(4)), [0, 0]);
    }

    #[test]
    fn a_percentile_is_of_as_many_seconds_as_it_takes() {
        let p99 = |reports: &[(u32, usize)]| shown(reports, None).last().unwrap().p99_us;
        assert_eq!(p99(&[(0, 900), (1, 1_000), (2, 1)]), Some(2_000));
        assert_eq!(p99(&[(0, 900), (1, 100), (2, 1)]), Some(2_000));
        assert_eq!(p99(&[(0, 899), (1, 100), (2, 1)]), None);
        let few: Vec<(u32, usize)> = (0..=11).map(|second| (second, 99)).collect();
        assert_eq!(p99(&few), None);
        // Of a second without an answer there is none, whatever was before.
        assert_eq!(p99(&[(0, 1_000), (3, 1)]), None);
    }
}
