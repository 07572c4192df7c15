//! Collects the results of a round, second by second, while the round runs.

use std::collections::BTreeMap;

use super::{Place, Series, Snapshot, measured_in, merge_steps};
use crate::counts::Counts;
use crate::timeline::Phase;

/// Results of a running round, to which many processes add snapshots. The latest seconds stay
/// unpacked, because each process's snapshot would require packing them again. The oldest seconds
/// are closed: only their records and sums remain.
#[derive(Debug, Default)]
pub struct GrowingSeries {
    packed: Series,
    latest: BTreeMap<Place, Vec<Counts>>,
    /// Counts of iterations of the latest seconds, by flow.
    latest_flows: BTreeMap<(Phase, u32), Vec<Counts>>,
    /// Number of the latest second in any snapshot so far.
    newest: u32,
}

/// Number of latest seconds that stay open, because counts may still arrive. Longer than the wait
/// for any silent worker.
const SETTLES: u32 = 64;

/// Number of old seconds that are closed together. Closing seconds one by one would pack the sums
/// again for each second.
const TOGETHER: u32 = 32;

impl GrowingSeries {
    /// Adds a snapshot of one process.
    pub fn add(&mut self, snapshot: &Snapshot) {
        for interval in &snapshot.intervals {
            merge_steps(self.latest.entry(interval.place()).or_default(), &interval.steps);
            let at = (interval.phase, interval.second);
            merge_steps(self.latest_flows.entry(at).or_default(), &interval.flows);
            self.newest = self.newest.max(interval.second);
        }
        // Some processes may not have reported the second before the newest yet.
        let before = self.newest.saturating_sub(1);
        self.pack(|second| second < before);
        let settled = self.newest.saturating_sub(SETTLES);
        if self.packed.oldest().is_some_and(|oldest| oldest.saturating_add(TOGETHER) <= settled) {
            self.packed.close(settled);
        }
    }

    /// Packs the counts of all seconds, and returns the series so far.
    pub fn packed(&mut self) -> &mut Series {
        self.pack(|_| true);
        &mut self.packed
    }

    /// Returns the latest second with measured requests; `None` without measured requests.
    #[must_use]
    pub fn newest(&self) -> Option<u32> {
        let (latest, packed) = (self.latest.keys(), self.packed.open.keys());
        let measured = latest.chain(packed).filter(|at| Phase::MEASURED.contains(&at.phase));
        measured.map(|at| at.second).max()
    }

    /// Returns the measured counts of one second, by step. The second must be one of the latest,
    /// whose counts are still kept.
    #[must_use]
    pub fn second(&self, second: u32) -> Vec<Counts> {
        let mut total = self.packed.second(second);
        for (_, steps) in measured_in(&self.latest, second) {
            merge_steps(&mut total, steps);
        }
        total
    }

    /// Returns the measured counts of iterations in one of the latest seconds, by flow.
    #[must_use]
    pub fn flows_of_second(&self, second: u32) -> Vec<Counts> {
        let mut total = Vec::new();
        let of = |phase| self.latest_flows.get(&(phase, second));
        for flows in Phase::MEASURED.into_iter().filter_map(of) {
            merge_steps(&mut total, flows);
        }
        total
    }

    fn pack(&mut self, is_due: impl Fn(u32) -> bool) {
        for ((phase, _), flows) in self.latest_flows.extract_if(.., |(_, at), _| is_due(*at)) {
            self.packed.add_flows(phase, &flows);
        }
        for (at, steps) in self.latest.extract_if(.., |at, _| is_due(at.second)) {
            self.packed.add_steps(at, &steps);
        }
    }
}

impl From<GrowingSeries> for Series {
    fn from(mut growing: GrowingSeries) -> Self {
        std::mem::take(growing.packed())
    }
}
