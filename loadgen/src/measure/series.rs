//! A round second by second, in a form that merges.

use std::borrow::Borrow;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

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
///
/// A histogram in use takes 172 KB, an hour of them for each step of each worker more than most
/// machines have. So each interval is kept packed, in a few KB, and unpacked when it is needed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Series(BTreeMap<(Phase, u32), Packed>);

/// A series to which many processes add. Its latest seconds are not packed yet: they would be packed
/// anew with each of the processes.
#[derive(Debug, Default)]
pub struct GrowingSeries {
    packed: Series,
    latest: BTreeMap<(Phase, u32), Vec<Counts>>,
    /// The greatest second that there was.
    newest: u32,
}

impl GrowingSeries {
    /// Adds what one process saw.
    pub fn add(&mut self, snapshot: &Snapshot) {
        for Interval { phase, second, steps } in &snapshot.intervals {
            merge_steps(self.latest.entry((*phase, *second)).or_default(), steps);
            self.newest = self.newest.max(*second);
        }
        // Of the one before the newest, some may not have told yet.
        let before = self.newest.saturating_sub(1);
        self.pack(|second| second < before);
    }

    /// All of it so far.
    pub fn packed(&mut self) -> &mut Series {
        self.pack(|_| true);
        &mut self.packed
    }

    /// The latest second in which there was any of these phases.
    #[must_use]
    pub fn newest(&self, phases: &[Phase]) -> Option<u32> {
        let (latest, packed) = (self.latest.keys(), self.packed.0.keys());
        let of_phases = latest.chain(packed).filter(|(phase, _)| phases.contains(phase));
        of_phases.map(|(_, second)| *second).max()
    }

    /// All that there is of these phases in one second, by step.
    #[must_use]
    pub fn second(&self, phases: &[Phase], second: u32) -> Vec<Counts> {
        let mut total = Vec::new();
        for at in phases.iter().map(|phase| (*phase, second)) {
            if let Some(packed) = self.packed.0.get(&at) {
                merge_steps(&mut total, &packed.unpack());
            }
            if let Some(steps) = self.latest.get(&at) {
                merge_steps(&mut total, steps);
            }
        }
        total
    }

    fn pack(&mut self, is_due: impl Fn(u32) -> bool) {
        for (at, steps) in self.latest.extract_if(.., |(_, second), _| is_due(*second)) {
            self.packed.add_steps(at, &steps);
        }
    }
}

impl From<GrowingSeries> for Series {
    fn from(mut growing: GrowingSeries) -> Self {
        std::mem::take(growing.packed())
    }
}

impl Series {
    /// Adds what one process saw.
    pub fn add(&mut self, snapshot: impl Borrow<Snapshot>) {
        for interval in &snapshot.borrow().intervals {
            self.add_steps((interval.phase, interval.second), &interval.steps);
        }
    }

    /// Adds one interval to those of the same phase and second.
    pub fn add_interval(&mut self, interval: Interval) {
        self.add_steps((interval.phase, interval.second), &interval.steps);
    }

    fn add_steps(&mut self, at: (Phase, u32), steps: &[Counts]) {
        match self.0.entry(at) {
            Entry::Vacant(free) => drop(free.insert(Packed::new(steps))),
            Entry::Occupied(mut taken) => taken.get_mut().merge(steps),
        }
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: Self) {
        for (at, packed) in other.0 {
            match self.0.entry(at) {
                Entry::Vacant(free) => drop(free.insert(packed)),
                Entry::Occupied(mut taken) => taken.get_mut().merge(&packed.unpack()),
            }
        }
    }

    /// All of one phase, by step.
    #[must_use]
    pub fn phase(&self, phase: Phase) -> Vec<Counts> {
        let mut total = Vec::new();
        for (_, packed) in self.0.range((phase, 0)..=(phase, u32::MAX)) {
            merge_steps(&mut total, &packed.unpack());
        }
        total
    }

    /// The seconds in which there was any of these phases, in order: all that they have of each,
    /// by step. One is unpacked at a time.
    pub fn seconds(&self, phases: &[Phase]) -> impl Iterator<Item = (u32, Vec<Counts>)> {
        let keys = self.0.keys().filter(|(phase, _)| phases.contains(phase));
        let seconds: BTreeSet<u32> = keys.map(|(_, second)| *second).collect();
        seconds.into_iter().map(move |second| {
            let mut total = Vec::new();
            for packed in phases.iter().filter_map(|phase| self.0.get(&(*phase, second))) {
                merge_steps(&mut total, &packed.unpack());
            }
            (second, total)
        })
    }

    /// The intervals in order of phase and second. One is unpacked at a time.
    pub fn intervals(&self) -> impl Iterator<Item = (Phase, u32, Vec<Counts>)> {
        self.0.iter().map(|((phase, second), packed)| (*phase, *second, packed.unpack()))
    }
}

/// The counts of an interval, by step, in little memory. The same counts are packed alike.
#[derive(Debug, Clone, PartialEq)]
enum Packed {
    /// MessagePack, with histograms in the V2 encoding: what takes no memory there is not written.
    Bytes(Box<[u8]>),
    /// What can't be encoded. A bucket of a histogram holds up to 2^64 - 1 requests, and the
    /// encoding up to 2^63 - 1: no server answers as many, but a worker's snapshots may claim it.
    Steps(Vec<Counts>),
}

impl Packed {
    fn new(steps: &[Counts]) -> Self {
        match rmp_serde::to_vec(steps) {
            Ok(bytes) => Self::Bytes(bytes.into_boxed_slice()),
            Err(_) => Self::Steps(steps.to_vec()),
        }
    }

    fn unpack(&self) -> Vec<Counts> {
        match self {
            #[expect(clippy::expect_used, reason = "`new` wrote these bytes, and nobody else")]
            Self::Bytes(bytes) => rmp_serde::from_slice(bytes).expect("our own encoding"),
            Self::Steps(steps) => steps.clone(),
        }
    }

    fn merge(&mut self, more: &[Counts]) {
        let mut steps = self.unpack();
        merge_steps(&mut steps, more);
        *self = Self::new(&steps);
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
        let phase = prop::sample::select(vec![
            Phase::Warmup,
            Phase::RampUp,
            Phase::Hold,
            Phase::Tail,
            Phase::Stop,
        ]);
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

    /// 10,000 requests, half of them within 5 ms and one in a thousand beyond 40 ms: log-logistic.
    fn busy_second() -> Counts {
        let mut counts = Counts::default();
        for i in 0..10_000 {
            let q = (f64::from(i) + 0.5) / 10_000.0;
            counts.answered.record(Duration::from_secs_f64(0.005 * (q / (1.0 - q)).powf(0.3)));
        }
        counts
    }

    #[test]
    fn an_hour_takes_little_memory() {
        let steps = [busy_second()];
        let mut series = Series::default();
        (0..3_600).for_each(|second| series.add_steps((Phase::Hold, second), &steps));
        let size = |packed: &Packed| match packed {
            Packed::Bytes(bytes) => bytes.len(),
            Packed::Steps(_) => panic!("it was not packed"),
        };
        let total: usize = series.0.values().map(size).sum();
        assert!(total < 16 << 20, "{total} bytes");
        assert_eq!(series.phase(Phase::Hold)[0].answered.len(), 36_000_000);
    }

    #[test]
    fn counts_beyond_the_encoding_are_kept_all_the_same() {
        let mut most = Counts::default();
        most.answered.record(Duration::from_millis(1));
        // Twice as many each time, up to 2^62 in one bucket: the most that can still travel.
        (0..62).for_each(|_| most.merge(&most.clone()));
        let steps = [most];
        let mut series = Series::default();
        (0..2).for_each(|_| series.add_steps((Phase::Hold, 0), &steps));
        assert!(matches!(series.0[&(Phase::Hold, 0)], Packed::Steps(_)));
        assert_eq!(series.phase(Phase::Hold)[0].answered.len(), 1 << 63);
        let mut other = Series::default();
        other.add_steps((Phase::Hold, 0), &steps);
        series.merge(other);
        assert_eq!(series.phase(Phase::Hold)[0].answered.len(), 3 << 62);
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
        fn packing_later_is_the_same(
            snapshots in prop::collection::vec((snapshot(), any::<bool>()), 0..5),
        ) {
            let mut growing = GrowingSeries::default();
            for (snapshot, is_looked_at) in &snapshots {
                growing.add(snapshot);
                if *is_looked_at {
                    growing.packed();
                }
            }
            let expected = merged(snapshots.iter().map(|(snapshot, _)| snapshot));
            let phases = [Phase::RampUp, Phase::Hold];
            let seconds: Vec<_> = expected.seconds(&phases).collect();
            prop_assert_eq!(growing.newest(&phases), seconds.last().map(|(second, _)| *second));
            for (second, steps) in seconds {
                prop_assert_eq!(growing.second(&phases, second), steps);
            }
            prop_assert_eq!(Series::from(growing), expected);
        }

        #[test]
        fn packing_loses_nothing(a in snapshot(), b in snapshot()) {
            let mut plain: BTreeMap<(Phase, u32), Vec<Counts>> = BTreeMap::new();
            for interval in a.intervals.iter().chain(&b.intervals) {
                merge_steps(plain.entry((interval.phase, interval.second)).or_default(), &interval.steps);
            }
            let series = merged([&a, &b]);
            let expected: Vec<_> = plain.iter().map(|((p, s), steps)| (*p, *s, steps.clone())).collect();
            prop_assert_eq!(series.intervals().collect::<Vec<_>>(), expected);
            for (second, steps) in series.seconds(&[Phase::RampUp, Phase::Hold]) {
                let mut both = plain.remove(&(Phase::RampUp, second)).unwrap_or_default();
                merge_steps(&mut both, &plain.remove(&(Phase::Hold, second)).unwrap_or_default());
                prop_assert_eq!(steps, both);
            }
            prop_assert!(plain.keys().all(|(p, _)| !matches!(p, Phase::RampUp | Phase::Hold)));
        }

        #[test]
        fn a_snapshot_survives_the_journey(a in snapshot()) {
            let bytes = rmp_serde::to_vec_named(&a).unwrap();
            prop_assert_eq!(rmp_serde::from_slice::<Snapshot>(&bytes).unwrap(), a);
        }
    }
}
