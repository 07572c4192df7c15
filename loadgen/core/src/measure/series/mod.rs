//! Holds a round second by second, in a form that merges.

mod growing;
mod packed;

use std::borrow::Borrow;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

pub use growing::GrowingSeries;
use packed::Packed;
use serde::{Deserialize, Serialize};

use super::counts::Counts;
use super::seconds::Told;
use super::timeline::Phase;

/// One second of results, or the part of a second that lies in one phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The phase in which the interval lies.
    pub phase: Phase,
    /// Seconds from the end of the warm-up; zero for all of the warm-up.
    pub second: u32,
    /// Counts by step, in the order of the scenario.
    pub steps: Vec<Counts>,
}

/// The intervals drained from one process's recorder at one time. Snapshots are numbered from zero
/// without a gap, so that a lost snapshot is noticed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Number of the snapshot within its process and round.
    pub number: u32,
    /// The intervals with something to report.
    pub intervals: Vec<Interval>,
}

/// Merged snapshots: a round, second by second.
///
/// A histogram in use takes 172 KB, so an hour of histograms for each step exceeds most machines'
/// memory. Therefore each interval is kept packed, in a few KB, and unpacked when needed. A long
/// round closes its old seconds: a closed second's record is computed and kept, in a hundred bytes
/// per step, and its histograms remain only as part of their phase's sum.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Series {
    /// Intervals to which more counts may be added.
    open: BTreeMap<(Phase, u32), Packed>,
    /// Sums of all other intervals, by phase.
    closed: BTreeMap<Phase, Packed>,
    /// Records of the closed seconds.
    told: BTreeMap<u32, Told>,
}

impl Series {
    /// Adds a snapshot of one process.
    pub fn add(&mut self, snapshot: impl Borrow<Snapshot>) {
        for interval in &snapshot.borrow().intervals {
            self.add_steps((interval.phase, interval.second), &interval.steps);
        }
    }

    /// Returns all counts of one phase, by step.
    #[must_use]
    pub fn phase(&self, phase: Phase) -> Vec<Counts> {
        Self::phase_of([self], phase)
    }

    /// Returns all counts of one phase over several rounds, by step.
    #[must_use]
    pub fn phase_of<'a>(rounds: impl IntoIterator<Item = &'a Self>, phase: Phase) -> Vec<Counts> {
        let mut total = Vec::new();
        for round in rounds {
            let open = round.open.range((phase, 0)..=(phase, u32::MAX)).map(|(_, packed)| packed);
            for packed in round.closed.get(&phase).into_iter().chain(open) {
                merge_steps(&mut total, &packed.unpack());
            }
        }
        total
    }

    /// Returns the records of each second in which anything was measured, in order.
    pub fn seconds(&self) -> impl Iterator<Item = Told> {
        let numbers: BTreeSet<u32> = self.measured().chain(self.told.keys().copied()).collect();
        numbers.into_iter().map(|number| {
            let open = Told::of(number, &self.second(number));
            let Some(mut told) = self.told.get(&number).cloned() else { return open };
            told.add_late(&open);
            told
        })
    }

    /// Closes the seconds before `before`. Later counts for these seconds are still added, but
    /// don't change percentiles that are known.
    fn close(&mut self, before: u32) {
        let due = self.measured().filter(|number| *number < before);
        for number in due.collect::<BTreeSet<u32>>() {
            let told = Told::of(number, &self.second(number));
            match self.told.entry(number) {
                Entry::Vacant(free) => drop(free.insert(told)),
                Entry::Occupied(mut closed) => closed.get_mut().add_late(&told),
            }
        }
        let mut sums: BTreeMap<Phase, Vec<Counts>> = BTreeMap::new();
        for ((phase, _), packed) in self.open.extract_if(.., |(_, number), _| *number < before) {
            merge_steps(sums.entry(phase).or_default(), &packed.unpack());
        }
        for (phase, steps) in sums {
            add_to(&mut self.closed, phase, &steps);
        }
    }

    /// Returns the open seconds in which anything was measured.
    fn measured(&self) -> impl Iterator<Item = u32> {
        let keys = self.open.keys().filter(|(phase, _)| Phase::MEASURED.contains(phase));
        keys.map(|(_, number)| *number)
    }

    /// Returns the first open second.
    fn oldest(&self) -> Option<u32> {
        self.open.keys().map(|(_, second)| *second).min()
    }

    /// Returns the open counts that were measured in one second, by step.
    fn second(&self, second: u32) -> Vec<Counts> {
        let mut total = Vec::new();
        for packed in Phase::MEASURED.iter().filter_map(|phase| self.open.get(&(*phase, second))) {
            merge_steps(&mut total, &packed.unpack());
        }
        total
    }

    fn add_steps(&mut self, at: (Phase, u32), steps: &[Counts]) {
        add_to(&mut self.open, at, steps);
    }
}

fn add_to<K: Ord>(map: &mut BTreeMap<K, Packed>, at: K, steps: &[Counts]) {
    match map.entry(at) {
        Entry::Vacant(free) => drop(free.insert(Packed::new(steps))),
        Entry::Occupied(mut taken) => taken.get_mut().merge(steps),
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
mod tests;
