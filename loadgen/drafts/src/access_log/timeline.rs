//! The number of requests over time, and the stages of a load that follow from it.

use std::collections::BTreeMap;
use std::time::Duration;

/// Most intervals that are kept. Beyond, intervals become twice as long: a day has intervals of two
/// seconds, a year of ten minutes.
const MOST: usize = 65_536;

/// Most pieces of the log that the stages follow.
const PIECES: i64 = 24;

/// Shortest piece, in seconds: the times of most logs have whole seconds.
const SHORTEST: i64 = 5;

/// Requests per interval. Their times may be in any order.
#[derive(Debug)]
pub(super) struct Timeline {
    /// Requests by the number of their interval.
    counts: BTreeMap<i64, u64>,
    /// Length of an interval, in seconds.
    width: i64,
    /// The interval of the last request, and the requests that are not yet in `counts`.
    last: (i64, u64),
    /// First and last second.
    ends: Option<(i64, i64)>,
    total: u64,
}

/// A change of the rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Stage {
    /// Requests per second at its end.
    pub rate: f64,
    /// Its length.
    pub over: Duration,
}

impl Default for Timeline {
    /// A timeline without requests.
    fn default() -> Self {
        Self { counts: BTreeMap::new(), width: 1, last: (0, 0), ends: None, total: 0 }
    }
}

impl Timeline {
    /// Adds a request.
    pub(super) fn add(&mut self, second: i64) {
        self.total += 1;
        let (first, last) = self.ends.unwrap_or((second, second));
        self.ends = Some((first.min(second), last.max(second)));
        if second.div_euclid(self.width) != self.last.0 {
            self.settle();
            self.last.0 = second.div_euclid(self.width);
        }
        self.last.1 += 1;
    }

    /// Adds the last requests to `counts`, which then has at most [`MOST`] intervals.
    fn settle(&mut self) {
        let (interval, count) = self.last;
        if count > 0 {
            *self.counts.entry(interval).or_default() += count;
            self.last.1 = 0;
        }
        while self.counts.len() > MOST {
            self.width *= 2;
            let mut wider = BTreeMap::new();
            for (interval, count) in &self.counts {
                *wider.entry(interval.div_euclid(2)).or_default() += count;
            }
            self.counts = wider;
        }
        // The width may have changed since.
        self.last.0 = i64::MIN;
    }

    /// Returns the number of requests.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Returns the time from the first request to the last one, in seconds, both included.
    pub(super) fn span(&self) -> i64 {
        self.ends.map_or(0, |(first, last)| last - first + 1)
    }

    /// Returns the requests per second over the whole span.
    pub(super) fn mean(&self) -> f64 {
        self.total as f64 / self.span().max(1) as f64
    }

    /// Returns the highest rate, and the length in seconds of the interval that had it.
    pub(super) fn peak(&mut self) -> (f64, i64) {
        self.settle();
        let most = self.counts.values().copied().max().unwrap_or(0);
        (most as f64 / self.width as f64, self.width)
    }

    /// Returns stages of `length` in all, whose rates are `speed` times those of the log: the rate is
    /// that of each piece of the log at the middle of the piece, and changes linearly from one to the
    /// next. These stages have as many requests as the pieces.
    pub(super) fn stages(&mut self, length: Duration, speed: f64) -> Vec<Stage> {
        self.settle();
        let rates: Vec<f64> =
            self.pieces().into_iter().map(|rate| significant(rate * speed)).collect();
        let piece = length / rates.len().max(1) as u32;
        let (Some(&first), Some(&last)) = (rates.first(), rates.last()) else { return Vec::new() };
        let mut stages = vec![
            Stage { rate: first, over: Duration::ZERO },
            Stage { rate: first, over: piece / 2 },
        ];
        stages.extend(rates.iter().skip(1).map(|&rate| Stage { rate, over: piece }));
        stages.push(Stage { rate: last, over: piece / 2 });
        stages
    }

    /// Returns the mean rates of equal pieces of the span.
    fn pieces(&self) -> Vec<f64> {
        let Some((first, _)) = self.ends else { return Vec::new() };
        let span = self.span();
        let number = (span / SHORTEST).clamp(1, PIECES);
        let length = span as f64 / number as f64;
        let mut counts = vec![0.0; number as usize];
        for (interval, count) in &self.counts {
            // The requests of an interval are divided among the pieces in which it lies.
            let from = (interval * self.width - first).max(0) as f64;
            let to = ((interval + 1) * self.width - first).min(span) as f64;
            let pieces = (from / length) as usize..=(to / length) as usize;
            for (piece, sum) in
                counts.iter_mut().enumerate().take(pieces.end() + 1).skip(*pieces.start())
            {
                let (start, end) = (piece as f64 * length, (piece + 1) as f64 * length);
                let within = (to.min(end) - from.max(start)).max(0.0);
                *sum += *count as f64 * within / (to - from);
            }
        }
        counts.into_iter().map(|count| count / length).collect()
    }
}

/// Rounds to four significant digits.
fn significant(rate: f64) -> f64 {
    format!("{rate:.3e}").parse().unwrap_or(rate)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::access_log::sample::SplitMix;

    fn requests(stages: &[Stage]) -> f64 {
        let mut before = 0.0;
        let of = |stage: &Stage| {
            let mean = (before + stage.rate) / 2.0;
            before = stage.rate;
            mean * stage.over.as_secs_f64()
        };
        stages.iter().map(of).sum()
    }

    fn timeline(times: impl IntoIterator<Item = i64>) -> Timeline {
        let mut timeline = Timeline::default();
        times.into_iter().for_each(|time| timeline.add(time));
        timeline
    }

    #[test]
    fn a_steady_log_has_a_steady_rate() {
        let mut steady = timeline((0..600_000).map(|n| 1_795_849_175 + n / 1_000));
        assert_eq!((steady.span(), steady.mean(), steady.peak()), (600, 1_000.0, (1_000.0, 1)));
        let stages = steady.stages(Duration::from_secs(600), 2.0);
        assert!(stages.iter().all(|stage| stage.rate == 2_000.0), "{stages:?}");
        assert_eq!(stages.len(), 26);
    }

    #[test]
    fn a_rise_and_a_fall_are_followed() {
        let day = (0..86_400).flat_map(|second: i64| {
            let wave = 1.0 - (second as f64 / 86_400.0 * std::f64::consts::TAU).cos();
            std::iter::repeat_n(second, (wave * 5.0) as usize)
        });
        let mut day = timeline(day);
        let stages = day.stages(Duration::from_secs(600), 1.0);
        let expected = day.mean() * 600.0;
        assert!((requests(&stages) / expected - 1.0).abs() < 0.02, "{stages:?}");
        let most = stages.iter().map(|stage| stage.rate).fold(0.0, f64::max);
        assert!((8.5..10.0).contains(&most) && stages[0].rate == 1.0, "{stages:?}");
    }

    #[test]
    fn years_take_no_more_memory() {
        let mut random = SplitMix(1);
        let years = 20 * 365 * 86_400;
        let mut long = timeline((0..500_000).map(|_| (random.next() % years) as i64));
        assert_eq!(long.stages(Duration::from_secs(600), 1.0).len(), 26);
        assert!(long.counts.len() <= MOST);
        assert_eq!(long.counts.values().sum::<u64>(), 500_000);
    }

    proptest! {
        #[test]
        fn stages_have_the_requests_of_the_log(
            times in prop::collection::vec(0..2_000_i64, 1..300),
            speed in 0.1..10.0,
            scale in 1..100_000_i64,
        ) {
            let mut any = timeline(times.into_iter().map(|time| time * scale));
            let length = Duration::from_secs(any.span() as u64);
            let expected = any.total() as f64 * speed;
            let stages = any.stages(length, speed);
            let requests = requests(&stages);
            prop_assert!((requests / expected - 1.0).abs() < 0.001, "{requests} {expected}");
            let total: Duration = stages.iter().map(|stage| stage.over).sum();
            prop_assert!(total.abs_diff(length) < Duration::from_millis(1));
        }
    }
}
