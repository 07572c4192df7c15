//! A round second by second, in a form that merges.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::counts::Counts;
use super::timeline::Phase;

/// One second of results, or the part of it that lies in one phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The phase that it lies in.
    pub phase: Phase,
    /// Seconds from the end of the warm-up; zero for all of the warm-up.
    pub second: u32,
    /// What happened, by step, in the order of the scenario.
    pub steps: Vec<Counts>,
}

/// What one process drained from its recorder at one time. Numbered from zero without a gap, so
/// that a lost one is noticed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Its place in the sequence of one process and round.
    pub number: u32,
    /// The intervals that had something to report.
    pub intervals: Vec<Interval>,
}

/// Snapshots merged: a round, second by second.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Series(BTreeMap<(Phase, u32), Vec<Counts>>);

impl Series {
    /// Adds what one process saw.
    pub fn add(&mut self, snapshot: Snapshot) {
        for interval in snapshot.intervals {
            self.add_interval(interval);
        }
    }

    /// Adds one interval to those of the same phase and second.
    pub fn add_interval(&mut self, interval: Interval) {
        let steps = self.0.entry((interval.phase, interval.second)).or_default();
        merge_steps(steps, &interval.steps);
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: Self) {
        other.into_intervals().into_iter().for_each(|interval| self.add_interval(interval));
    }

    /// All of one phase, by step.
    #[must_use]
    pub fn phase(&self, phase: Phase) -> Vec<Counts> {
        let mut total = Vec::new();
        for ((p, _), steps) in &self.0 {
            if *p == phase {
                merge_steps(&mut total, steps);
            }
        }
        total
    }

    /// The intervals in order of phase and second.
    #[must_use]
    pub fn into_intervals(self) -> Vec<Interval> {
        self.0
            .into_iter()
            .map(|((phase, second), steps)| Interval { phase, second, steps })
            .collect()
    }

    /// The intervals in order of phase and second.
    pub fn intervals(&self) -> impl Iterator<Item = (Phase, u32, &[Counts])> {
        self.0.iter().map(|((phase, second), steps)| (*phase, *second, steps.as_slice()))
    }
}

/// Adds `more` to `steps`, step by step.
pub(super) fn merge_steps(steps: &mut Vec<Counts>, more: &[Counts]) {
    if steps.len() < more.len() {
        steps.resize_with(more.len(), Counts::default);
    }
    for (ours, theirs) in steps.iter_mut().zip(more) {
        ours.merge(theirs);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::measure::ErrorKind;
    use proptest::prelude::*;
    use std::time::Duration;

    fn counts() -> impl Strategy<Value = Counts> {
        let kind = prop::sample::select(ErrorKind::ALL.to_vec());
        (
            prop::collection::vec(1u64..1_000_000, 0..4),
            prop::collection::btree_map(kind.clone(), 1u64..9, 0..3),
            prop::collection::btree_map(kind, "[a-c]{1,2}", 0..3),
            (0u64..9, 0u64..99),
            prop::collection::vec(0u64..99, 0..3),
        )
            .prop_map(|(answered, errors, examples, (cancelled, bytes), counters)| {
                let mut counts =
                    Counts { errors, examples, cancelled, bytes, counters, ..Counts::default() };
                for us in answered {
                    counts.answered.record(Duration::from_micros(us));
                }
                counts
            })
    }

    /// Any snapshot, for the property tests of this and other modules.
    pub(crate) fn snapshot() -> impl Strategy<Value = Snapshot> {
        let phase =
            prop::sample::select(vec![Phase::Warmup, Phase::RampUp, Phase::Hold, Phase::Tail]);
        let interval = (phase, 0u32..4, prop::collection::vec(counts(), 0..3))
            .prop_map(|(phase, second, steps)| Interval { phase, second, steps });
        (0u32..99, prop::collection::vec(interval, 0..3))
            .prop_map(|(number, intervals)| Snapshot { number, intervals })
    }

    fn merged<'a>(snapshots: impl IntoIterator<Item = &'a Snapshot>) -> Series {
        let mut series = Series::default();
        snapshots.into_iter().for_each(|s| series.add(s.clone()));
        series
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn the_order_of_merging_does_not_matter(a in snapshot(), b in snapshot(), c in snapshot()) {
            prop_assert_eq!(merged([&a, &b, &c]), merged([&c, &a, &b]));
        }

        #[test]
        fn merging_merged_parts_is_the_same_as_merging_all(a in snapshot(), b in snapshot(), c in snapshot()) {
            let mut left = merged([&a, &b]);
            left.merge(merged([&c]));
            let mut right = merged([&a]);
            right.merge(merged([&b, &c]));
            prop_assert_eq!(left, right);
        }

        #[test]
        fn a_snapshot_survives_the_journey(a in snapshot()) {
            let bytes = rmp_serde::to_vec_named(&a).unwrap();
            prop_assert_eq!(rmp_serde::from_slice::<Snapshot>(&bytes).unwrap(), a);
        }
    }
}
