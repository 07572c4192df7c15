//! Compares the times between successive sends of the open model with the planned ones.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::latencies::Latencies;

/// Length of the window in which sends count as one clump. A server that waits in one call for all
/// of its connections takes what arrives within so short a time at once, or nearly so.
pub const CLUMP: Duration = Duration::from_millis(1);

/// Jitter of sends in µs that comes with a kernel timer and a thread that has to wake up. No schedule
/// can be kept more precisely.
const PRECISION_US: f64 = 50.0;

/// Times between successive sends of the planned requests of each process, as planned and as sent.
/// Merges without loss.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SendGaps {
    /// Times between the planned sends.
    pub planned: Latencies,
    /// Times between the actual sends.
    pub sent: Latencies,
    /// Most requests that one process planned to send within [`CLUMP`].
    pub planned_clump: u64,
    /// Most requests that one process sent within [`CLUMP`].
    pub clump: u64,
}

impl SendGaps {
    /// Adds the gaps of another process or round.
    pub fn merge(&mut self, other: &Self) {
        self.planned.merge(&other.planned);
        self.sent.merge(&other.sent);
        self.planned_clump = self.planned_clump.max(other.planned_clump);
        self.clump = self.clump.max(other.clump);
    }

    /// Returns the distance between the distributions of the actual and of the planned gaps, 0 to 1:
    /// at least this share of the gaps was longer or shorter than planned by more than a tolerance.
    /// `None` without gaps.
    ///
    /// The distance is that of Kolmogorov and Smirnov with the tolerance: the greatest excess of one
    /// distribution function over the other at a place further right by the tolerance (Strassen,
    /// "The Existence of Probability Measures with Given Marginals", 1965, theorem 11, for
    /// half-lines). Without a tolerance, evenly spaced requests would have a great distance however
    /// small their jitter, because all their planned gaps are equal. The tolerance is a tenth of the
    /// mean planned gap, but at least `PRECISION_US`, and at most half of the mean planned gap.
    #[must_use]
    pub fn distance(&self) -> Option<f64> {
        let mean = self.planned.mean()?;
        let tolerance = (mean / 10.0).max(PRECISION_US).min(mean / 2.0);
        let [planned, sent] = [&self.planned, &self.sent].map(Shares::of);
        let excess = |one: &Shares, other: &Shares| {
            let places = one.0.iter();
            let over = places.map(|(us, share)| share - other.up_to(*us as f64 + tolerance));
            over.fold(0.0_f64, f64::max)
        };
        (!sent.0.is_empty()).then(|| excess(&sent, &planned).max(excess(&planned, &sent)))
    }
}

/// A distribution function: for each recorded time in µs, in ascending order, the share of times (0
/// to 1) that are no longer.
struct Shares(Vec<(u64, f64)>);

impl Shares {
    fn of(times: &Latencies) -> Self {
        let all = times.len() as f64;
        let mut below = 0;
        let share = |(us, count): (u64, u64)| {
            below += count;
            (us, below as f64 / all)
        };
        Self(times.recorded().into_iter().map(share).collect())
    }

    /// Returns the share of times that are at most `us`.
    fn up_to(&self, us: f64) -> f64 {
        let longer = self.0.partition_point(|(time, _)| *time as f64 <= us);
        longer.checked_sub(1).map_or(0.0, |last| self.0[last].1)
    }
}

/// Collects the gaps of one process while a round runs.
#[derive(Debug, Default)]
pub struct SendGapsMeter {
    gaps: SendGaps,
    planned: Clump,
    sent: Clump,
}

/// Sends within the last window, in the order of time.
#[derive(Debug, Default)]
struct Clump(VecDeque<Instant>);

impl SendGapsMeter {
    /// Adds a request. Requests must be added in about the order of their sends: two threads that
    /// send at nearly the same time may add their requests in either order.
    pub fn add(&mut self, planned: Instant, sent: Instant) {
        let Self { gaps, planned: planned_clump, sent: clump } = self;
        for (clump, at, all, most) in [
            (planned_clump, planned, &mut gaps.planned, &mut gaps.planned_clump),
            (clump, sent, &mut gaps.sent, &mut gaps.clump),
        ] {
            if let Some(gap) = clump.add(at) {
                all.record(gap);
            }
            *most = (*most).max(clump.0.len() as u64);
        }
    }

    /// Returns the gaps so far, and forgets them.
    pub fn take(&mut self) -> SendGaps {
        std::mem::take(&mut self.gaps)
    }
}

impl Clump {
    /// Adds a send. Returns its distance from the last one; `None` for the first.
    fn add(&mut self, at: Instant) -> Option<Duration> {
        let last = self.0.back().copied();
        let at = last.map_or(at, |last| last.max(at));
        while self.0.front().is_some_and(|first| at.duration_since(*first) >= CLUMP) {
            self.0.pop_front();
        }
        self.0.push_back(at);
        last.map(|last| at - last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the gaps of requests that were sent and planned at these times in µs.
    fn of(requests: impl IntoIterator<Item = (u64, u64)>) -> SendGaps {
        let start = Instant::now();
        let mut meter = SendGapsMeter::default();
        for (planned, sent) in requests {
            let at = |us| start + Duration::from_micros(us);
            meter.add(at(planned), at(sent));
        }
        meter.take()
    }

    fn distance(requests: impl IntoIterator<Item = (u64, u64)>) -> f64 {
        of(requests).distance().unwrap()
    }

    #[test]
    fn jitter_is_no_distance() {
        assert_eq!(distance((0..1_000).map(|i| (i * 500, i * 500))), 0.0);
        assert_eq!(distance((0..1_000).map(|i| (i * 500, i * 500 + i % 2 * 45))), 0.0);
        assert_eq!(distance((0..1_000).map(|i| (i * 60, i * 60 + i % 2 * 25))), 0.0, "half a gap");
        assert_eq!(distance((0..1_000).map(|i| (i * 5_000, i * 5_000 + i % 2 * 450))), 0.0);
        assert!(distance((0..1_000).map(|i| (i * 5_000, i * 5_000 + i % 2 * 600))) > 0.4);
        assert_eq!(distance((0..1_000).map(|i| (i * 500, i * 500 + 40_000))), 0.0, "late alike");
    }

    #[test]
    fn clumps_are_a_distance_and_counted() {
        // Every fourth request waits for a timer, and the next three follow at once.
        let clumped = of((0..4_000).map(|i| (i * 500, i / 4 * 2_000)));
        assert!((clumped.distance().unwrap() - 0.75).abs() < 0.001, "{:?}", clumped.distance());
        assert_eq!((clumped.planned_clump, clumped.clump), (2, 4));
        // One request in ten is sent with the one before it.
        let some = |i: u64| if i % 10 == 9 { (i * 500, (i - 1) * 500) } else { (i * 500, i * 500) };
        assert!((distance((0..10_000).map(some)) - 0.1).abs() < 0.001);
    }

    #[test]
    fn clumps_that_are_planned_are_no_distance() {
        let pairs = of((0..1_000).map(|i| (i / 2 * 10_000, i / 2 * 10_000 + i)));
        assert!(pairs.distance().unwrap() < 0.01, "{:?}", pairs.distance());
        assert_eq!((pairs.planned_clump, pairs.clump), (2, 2));
    }

    #[test]
    fn a_clump_is_shorter_than_a_millisecond() {
        assert_eq!(of([(0, 0), (999, 1_000), (1_500, 1_998)]).clump, 2);
        assert_eq!(of([(0, 0), (999, 1_000), (1_500, 1_998)]).planned_clump, 2);
        assert_eq!(of([(0, 0)]).clump, 1);
        assert_eq!(of([(0, 0)]).distance(), None);
    }

    #[test]
    fn requests_in_the_wrong_order_have_no_negative_gap() {
        let gaps = of([(0, 5), (20, 25), (10, 15), (30, 35)]);
        assert_eq!((gaps.sent.len(), gaps.sent.min(), gaps.sent.max()), (3, Some(1), Some(20)));
        assert_eq!(gaps.distance(), Some(0.0));
    }

    proptest! {
        #[test]
        fn gaps_merge_without_loss(
            one in prop::collection::vec((0_u64..100_000, 0_u64..100_000), 0..50),
            other in prop::collection::vec((0_u64..100_000, 0_u64..100_000), 0..50),
        ) {
            let (one, other) = (of(one), of(other));
            let (mut there, mut back) = (one.clone(), other.clone());
            there.merge(&other);
            back.merge(&one);
            prop_assert_eq!(&there, &back);
            prop_assert_eq!(there.sent.len(), one.sent.len() + other.sent.len());
            prop_assert_eq!(there.clump, one.clump.max(other.clump));
            if let Some(distance) = there.distance() {
                prop_assert!((0.0..=1.0).contains(&distance));
            }
        }

        #[test]
        fn the_distance_never_exceeds_the_share_of_changed_gaps(
            gaps in prop::collection::vec((500_u64..1_500, 0_u64..3_000), 2..200),
        ) {
            // Within a tenth of a percent, histograms are exact.
            let (planned, sent): (Vec<u64>, Vec<u64>) = gaps.iter().copied().unzip();
            let mean = planned.iter().sum::<u64>() as f64 / planned.len() as f64;
            let at = |gaps: &[u64]| -> Vec<u64> {
                let sums = gaps.iter().scan(0, |sum, gap| { *sum += gap; Some(*sum) });
                std::iter::once(0).chain(sums).collect()
            };
            let of = of(at(&planned).into_iter().zip(at(&sent)));
            let off = gaps.iter().filter(|(planned, sent)| {
                (*planned as f64 - *sent as f64).abs() > (mean / 10.0).max(PRECISION_US) * 0.9
            });
            let share = off.count() as f64 / gaps.len() as f64;
            prop_assert!(of.distance().unwrap() <= share + 1e-9);
        }
    }
}
