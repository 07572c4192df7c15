//! Holds the results of a round, second by second, in a form that merges.

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
use super::traces::TracedRequest;

/// Results of one second, or of the part of a second that lies in one phase of the round and in one
/// stage of the load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The phase in which the interval lies.
    pub phase: Phase,
    /// Number of the second, counted from 0 at the end of the warm-up; 0 for the whole warm-up.
    pub second: u32,
    /// Number of the stage of the load, counted from 0; 0 for a load without stages.
    #[serde(default)]
    pub stage: u32,
    /// Counts by step, in the order of the scenario.
    pub steps: Vec<Counts>,
    /// Counts of whole iterations by flow, in the order of the scenario; empty if iterations are not
    /// measured.
    pub flows: Vec<Counts>,
}

/// Intervals that one process's recorder returned at one time. Snapshots are numbered from zero
/// without a gap, so that a lost snapshot is noticed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Number of the snapshot within its process and round.
    pub number: u32,
    /// Results of each second and phase in which anything was counted.
    pub intervals: Vec<Interval>,
    /// Requests that were traced, of those that ended since the last snapshot.
    pub traced: Vec<TracedRequest>,
    /// Requests that were chosen to be traced, but were not: see [`Traces::MOST`](super::Traces::MOST).
    pub over_limit: u64,
}

impl Snapshot {
    /// Creates the snapshot of this number, without traced requests.
    #[must_use]
    pub fn new(number: u32, intervals: Vec<Interval>) -> Self {
        Self { number, intervals, ..Self::default() }
    }
}

/// Place of an interval in a round, in the order of time within a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Place {
    pub phase: Phase,
    pub second: u32,
    pub stage: u32,
}

impl Interval {
    /// Returns the place of the interval in the round.
    pub(super) fn place(&self) -> Place {
        Place { phase: self.phase, second: self.second, stage: self.stage }
    }

    /// Returns the interval at `place` with these counts.
    pub(super) fn at(place: Place, steps: Vec<Counts>, flows: Vec<Counts>) -> Self {
        let Place { phase, second, stage } = place;
        Self { phase, second, stage, steps, flows }
    }
}

/// Results of a round, second by second, merged from snapshots.
///
/// A histogram in use takes 172 KB, so an hour of histograms for each step exceeds most machines'
/// memory. Therefore each interval is kept packed, in a few KB, and unpacked when needed. In a long
/// round, old seconds are closed. Of a closed second, only the computed record remains (a hundred
/// bytes per step), and the histograms become part of the sum of the phase
/// and the stage.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Packed counts of each interval to which more counts may be added.
    open: BTreeMap<Place, Packed>,
    /// Sums of the counts of all closed intervals, by phase and stage.
    closed: BTreeMap<(Phase, u32), Packed>,
    /// Results of each closed second, by the number of the second.
    told: BTreeMap<u32, Told>,
    /// Sums of the counts of iterations, by phase.
    flows: BTreeMap<Phase, Packed>,
}

impl Series {
    /// Adds a snapshot of one process.
    pub fn add(&mut self, snapshot: impl Borrow<Snapshot>) {
        for interval in &snapshot.borrow().intervals {
            self.add_steps(interval.place(), &interval.steps);
            self.add_flows(interval.phase, &interval.flows);
        }
    }

    /// Returns the summed counts of one phase, by step.
    #[must_use]
    pub fn phase(&self, phase: Phase) -> Vec<Counts> {
        Self::phase_of([self], phase)
    }

    /// Returns the summed counts of one phase over several rounds, by step.
    #[must_use]
    pub fn phase_of<'a>(rounds: impl IntoIterator<Item = &'a Self>, phase: Phase) -> Vec<Counts> {
        Self::sum(rounds, |of, _| of == phase)
    }

    /// Returns the summed counts of one stage of the hold over several rounds, by step. Stages are
    /// numbered from 0.
    #[must_use]
    pub fn stage_of<'a>(rounds: impl IntoIterator<Item = &'a Self>, stage: u32) -> Vec<Counts> {
        Self::sum(rounds, |phase, of| (phase, of) == (Phase::Hold, stage))
    }

    /// Returns the summed counts of the phases and stages that `is_part` accepts.
    fn sum<'a>(
        rounds: impl IntoIterator<Item = &'a Self>,
        is_part: impl Fn(Phase, u32) -> bool,
    ) -> Vec<Counts> {
        let mut total = Vec::new();
        for round in rounds {
            let closed =
                round.closed.iter().map(|(&(phase, stage), packed)| (phase, stage, packed));
            let open = round.open.iter().map(|(at, packed)| (at.phase, at.stage, packed));
            for (_, _, packed) in closed.chain(open).filter(|of| is_part(of.0, of.1)) {
                merge_steps(&mut total, &packed.unpack());
            }
        }
        total
    }

    /// Returns the summed counts of iterations in one phase over several rounds, by flow.
    #[must_use]
    pub fn flows_of<'a>(rounds: impl IntoIterator<Item = &'a Self>, phase: Phase) -> Vec<Counts> {
        let mut total = Vec::new();
        for packed in rounds.into_iter().filter_map(|round| round.flows.get(&phase)) {
            merge_steps(&mut total, &packed.unpack());
        }
        total
    }

    /// Returns the results of each second in which anything was measured, in ascending order.
    pub fn seconds(&self) -> impl Iterator<Item = Told> {
        let numbers: BTreeSet<u32> = self.measured().chain(self.told.keys().copied()).collect();
        numbers.into_iter().map(|number| {
            let open = Told::of(number, &self.second(number));
            let Some(mut told) = self.told.get(&number).cloned() else { return open };
            told.add_late(&open);
            told
        })
    }

    /// Closes the seconds before `before`: keeps their results and sums, but not their histograms.
    /// Later counts for closed seconds are still added, but don't change percentiles that are
    /// known.
    fn close(&mut self, before: u32) {
        let due = self.measured().filter(|number| *number < before);
        for number in due.collect::<BTreeSet<u32>>() {
            let told = Told::of(number, &self.second(number));
            match self.told.entry(number) {
                Entry::Vacant(free) => drop(free.insert(told)),
                Entry::Occupied(mut closed) => closed.get_mut().add_late(&told),
            }
        }
        let mut sums: BTreeMap<(Phase, u32), Vec<Counts>> = BTreeMap::new();
        for (at, packed) in self.open.extract_if(.., |at, _| at.second < before) {
            merge_steps(sums.entry((at.phase, at.stage)).or_default(), &packed.unpack());
        }
        for (part, steps) in sums {
            add_to(&mut self.closed, part, &steps);
        }
    }

    /// Returns the seconds with measured requests that are not closed.
    fn measured(&self) -> impl Iterator<Item = u32> {
        let places = self.open.keys().filter(|at| Phase::MEASURED.contains(&at.phase));
        places.map(|at| at.second)
    }

    /// Returns the first second that is not closed.
    fn oldest(&self) -> Option<u32> {
        self.open.keys().map(|at| at.second).min()
    }

    /// Returns the measured counts of one second, by step; empty if the second is closed.
    fn second(&self, second: u32) -> Vec<Counts> {
        let mut total = Vec::new();
        for (_, packed) in measured_in(&self.open, second) {
            merge_steps(&mut total, &packed.unpack());
        }
        total
    }

    fn add_steps(&mut self, at: Place, steps: &[Counts]) {
        add_to(&mut self.open, at, steps);
    }

    fn add_flows(&mut self, phase: Phase, flows: &[Counts]) {
        if !flows.is_empty() {
            add_to(&mut self.flows, phase, flows);
        }
    }
}

/// Returns the values at the places of one second, in the phases whose requests are measured.
fn measured_in<T>(map: &BTreeMap<Place, T>, second: u32) -> impl Iterator<Item = (&Place, &T)> {
    Phase::MEASURED.into_iter().flat_map(move |phase| {
        let at = |stage| Place { phase, second, stage };
        map.range(at(0)..=at(u32::MAX))
    })
}

fn add_to<K: Ord>(map: &mut BTreeMap<K, Packed>, at: K, steps: &[Counts]) {
    match map.entry(at) {
        Entry::Vacant(free) => drop(free.insert(Packed::new(steps))),
        Entry::Occupied(mut taken) => taken.get_mut().merge(steps),
    }
}

/// Adds the counts in `more` to the counts in `steps`, step by step.
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
