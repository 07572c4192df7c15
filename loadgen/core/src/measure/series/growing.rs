//! Collects a series while it grows.

use std::collections::BTreeMap;

use super::{Interval, Series, Snapshot, merge_steps};
use crate::measure::counts::Counts;
use crate::measure::timeline::Phase;

/// A series to which many processes add. The latest seconds are not packed yet: each process's
/// snapshot would pack them anew. The oldest seconds are closed.
#[derive(Debug, Default)]
pub struct GrowingSeries {
    packed: Series,
    latest: BTreeMap<(Phase, u32), Vec<Counts>>,
    /// The latest second in any snapshot so far.
    newest: u32,
}

/// Seconds for which counts may still arrive: longer than any silent worker is waited for.
const SETTLES: u32 = 64;

/// Number of settled seconds that are closed together, because each closing packs the sums anew.
const TOGETHER: u32 = 32;

impl GrowingSeries {
    /// Adds a snapshot of one process.
    pub fn add(&mut self, snapshot: &Snapshot) {
        for Interval { phase, second, steps } in &snapshot.intervals {
            merge_steps(self.latest.entry((*phase, *second)).or_default(), steps);
            self.newest = self.newest.max(*second);
        }
        // Some processes may not have reported the second before the newest yet.
        let before = self.newest.saturating_sub(1);
        self.pack(|second| second < before);
        let settled = self.newest.saturating_sub(SETTLES);
        if self.packed.oldest().is_some_and(|oldest| oldest.saturating_add(TOGETHER) <= settled) {
            self.packed.close(settled);
        }
    }

    /// Packs everything, and returns the series so far.
    pub fn packed(&mut self) -> &mut Series {
        self.pack(|_| true);
        &mut self.packed
    }

    /// Returns the latest second in which anything was measured.
    #[must_use]
    pub fn newest(&self) -> Option<u32> {
        let (latest, packed) = (self.latest.keys(), self.packed.open.keys());
        let measured = latest.chain(packed).filter(|(phase, _)| Phase::MEASURED.contains(phase));
        measured.map(|(_, second)| *second).max()
    }

    /// Returns all counts that were measured in one of the latest seconds, by step.
    #[must_use]
    pub fn second(&self, second: u32) -> Vec<Counts> {
        let mut total = self.packed.second(second);
        for phase in Phase::MEASURED {
            if let Some(steps) = self.latest.get(&(phase, second)) {
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
