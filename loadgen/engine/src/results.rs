//! Holds the results of a round, in the same form for one process and for many workers.

use std::collections::BTreeSet;
use std::collections::btree_map::Entry;
use std::fmt;
use std::ops::Range;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::goose_round::Finished;
use super::load_change::LoadChange;
use loadgen_measure::{
    Connections, HeldUp, Latencies, RowsUsed, SendGaps, Series, Snapshot, Strain,
};

/// Results of a round.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Everything that was measured, by all processes together.
    pub series: Series,
    /// Results of each process, in the order of worker numbers; a single process counts as one
    /// worker. The results of lost workers are incomplete.
    pub workers: Vec<WorkerResults>,
    /// Workers that did not stay to the end: those lost before the round, then those lost during
    /// the round, in the order of the losses.
    pub lost: Vec<LostWorker>,
    /// Number of users of the load that no worker had at the end, because workers were lost.
    pub users_lost: u32,
    /// Sentences that say why reports were refused: a report was not understood, or contradicted
    /// others. The results contain no refused report.
    pub refused: Vec<String>,
    /// Load changes, in the order in which they happened.
    pub changes: Vec<LoadChange>,
    /// Skew of the workers' starts; `None` for load from one process.
    pub start_skew: Option<StartSkew>,
}

/// Results of one process.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkerResults {
    /// Number of the worker, from 0.
    pub worker: u32,
    /// Host of the worker; `None` if the manager started the worker, and for load from one process.
    pub host: Option<Host>,
    /// Number of users on the worker.
    pub users: u32,
    /// Round trip between worker and manager, measured shortly before the start. `None` if the
    /// worker was lost before this measurement, and for load from one process.
    pub round_trip: Option<Duration>,
    /// Number of requests that ended in the hold, which is the time after the ramp-up.
    pub requests: u64,
    /// Number of these requests that failed.
    pub errors: u64,
    /// Number of snapshots that arrived.
    pub snapshots: u32,
    /// Numbers of the snapshots that are known to be missing.
    pub gaps: Vec<Range<u32>>,
    /// Final report of the worker. For a worker that was lost before this report, only
    /// [`Finished::held`] is known, and covers the time for which results arrived.
    pub finished: Finished,
    /// CPU time and timer delays of the worker's process, while there was load that counts.
    pub strain: Strain,
}

/// A host on which a worker runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Name of the host.
    pub name: String,
    /// Number of CPUs that the worker may use.
    pub cpus: usize,
}

/// A worker that was lost before the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostWorker {
    /// Number of the worker.
    pub worker: u32,
    /// Seconds from the end of the warm-up to the loss, 0 for a loss in the warm-up; `None` if the
    /// worker was lost before the round.
    pub second: Option<u32>,
    /// Reason for the loss, in words.
    pub why: String,
    /// Time from the end of the warm-up to the moment from which on the other workers carried its load, 0 for a moment in
    /// the warm-up; `None` if they did not.
    pub taken_over: Option<Duration>,
}

/// Upper bound of the time between the earliest and the latest moment at which a worker of a round
/// had to start. How much later a busy worker then started is part of the worker's strain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartSkew {
    /// Upper bound that assumes nothing about the network paths
    /// between the manager and its workers.
    pub any_path: Duration,
    /// Upper bound if each network path takes equally long in both directions.
    pub symmetric: Duration,
}

/// An event of a running round.
#[derive(Debug)]
pub enum Seen<'a> {
    /// All processes prepare, and will start at this moment.
    Started(Instant),
    /// The worker with this number sent a snapshot of its results.
    /// Each snapshot is shown once, as it arrives.
    Snapshot(u32, &'a Snapshot),
    /// A worker was lost.
    Lost(&'a LostWorker),
    /// Time has passed. Occurs several times a second.
    Tick,
    /// All results of the round have arrived. Occurs once, as the last event.
    Complete,
}

impl WorkerResults {
    /// Adds the same worker's results of another round, in the fields that are
    /// reported for all rounds together.
    pub fn add(&mut self, other: &Self) {
        self.round_trip = self.round_trip.max(other.round_trip);
        self.requests += other.requests;
        self.errors += other.errors;
        self.snapshots += other.snapshots;
        self.strain.merge(&other.strain);
    }
}

impl Results {
    /// Returns the longest time for which the load of a worker ran after the ramp-up.
    #[must_use]
    pub fn held(&self) -> Duration {
        self.workers.iter().map(|worker| worker.finished.held).max().unwrap_or_default()
    }

    /// Whether the whole load lasted to the end and all of its results arrived.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.missing().is_none()
    }

    /// Describes in a sentence what is missing in the results: lost workers first, then
    /// [`Results::gaps`]. Returns `None` if nothing is missing.
    #[must_use]
    pub fn missing(&self) -> Option<String> {
        let lost = self.missed().map(ToString::to_string);
        let all: Vec<String> = lost.chain(self.gaps()).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    /// Describes what did not arrive, apart from lost workers: one sentence for each worker with
    /// missing snapshots, and one for each refused report.
    #[must_use]
    pub fn gaps(&self) -> Vec<String> {
        let gaps = self.workers.iter().filter(|worker| !worker.gaps.is_empty()).map(|worker| {
            let gaps: Vec<String> = worker.gaps.iter().map(numbers).collect();
            format!("worker {}: snapshots did not arrive: {}", worker.worker, gaps.join(", "))
        });
        let refused = self.refused.iter().map(|reason| format!("a report was refused: {reason}"));
        gaps.chain(refused).collect()
    }

    /// Returns the results of `worker`, if the worker took part.
    #[must_use]
    pub fn worker(&self, worker: u32) -> Option<&WorkerResults> {
        self.workers.iter().find(|of| of.worker == worker)
    }

    /// Returns the lost workers that had a share of the load.
    fn missed(&self) -> impl Iterator<Item = &LostWorker> {
        self.lost.iter().filter(|lost| self.worker(lost.worker).is_some())
    }

    /// Returns the names of the data files whose rows ran out in at least one process.
    #[must_use]
    pub fn ran_out(&self) -> BTreeSet<&str> {
        let files = self.workers.iter().flat_map(|worker| &worker.finished.ran_out);
        files.map(String::as_str).collect()
    }

    /// Returns the rows of the data files that were used by users' starts and by iterations after
    /// the warm-up. Empty if a worker was lost, because a lost worker cannot report its rows.
    #[must_use]
    pub fn rows(&self) -> RowsUsed {
        let mut all = RowsUsed::new();
        if self.missed().next().is_some() {
            return all;
        }
        for (name, used) in self.workers.iter().flat_map(|worker| &worker.finished.rows) {
            match all.entry(name.clone()) {
                Entry::Occupied(mut known) => known.get_mut().merge(used),
                Entry::Vacant(new) => drop(new.insert(used.clone())),
            }
        }
        all
    }

    /// Returns the processes that were held up during the hold, by worker number, and for how long.
    pub fn held_up(&self) -> impl Iterator<Item = (u32, HeldUp)> {
        let all = self.workers.iter().map(|worker| (worker.worker, worker.finished.held_up));
        all.filter(|(_, held_up)| !held_up.is_none())
    }

    /// Returns how late all processes read what had arrived; empty unless a step expects a stream.
    #[must_use]
    pub fn reading_lag(&self) -> Latencies {
        let mut all = Latencies::default();
        self.workers.iter().for_each(|worker| all.merge(&worker.finished.reading_lag));
        all
    }

    /// Returns the gaps between the sends of all processes; empty in the closed model. The gaps of
    /// lost workers are unknown and missing.
    #[must_use]
    pub fn send_gaps(&self) -> SendGaps {
        let mut all = SendGaps::default();
        self.workers.iter().for_each(|worker| all.merge(&worker.finished.send_gaps));
        all
    }

    /// Returns the counts of opened connections. The connections of
    /// lost workers are unknown and missing.
    #[must_use]
    pub fn connections(&self) -> Connections {
        let mut all = Connections::default();
        self.workers.iter().for_each(|worker| all.merge(&worker.finished.connections));
        all
    }
}

/// Formats a range of missing snapshots as "4" or "4 to 7".
fn numbers(gap: &Range<u32>) -> String {
    match gap.end.saturating_sub(1) {
        last if last <= gap.start => gap.start.to_string(),
        last => format!("{} to {last}", gap.start),
    }
}

impl fmt::Display for LostWorker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "worker {} was lost", self.worker)?;
        if let Some(second) = self.second {
            write!(f, " in second {second}")?;
        }
        write!(f, ": {}", self.why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker(worker: u32, gaps: &[Range<u32>]) -> WorkerResults {
        WorkerResults { worker, gaps: gaps.to_vec(), ..WorkerResults::default() }
    }

    #[test]
    fn missing_results_are_reported_worst_first() {
        let workers = vec![worker(0, &[]), worker(1, &[])];
        let whole = Results { workers, ..Results::default() };
        assert_eq!(whole.missing(), None);
        let all = Results {
            workers: vec![worker(0, &[]), worker(1, &[1..2, 4..8])],
            lost: vec![LostWorker {
                worker: 0,
                second: Some(2),
                why: "it ended".to_owned(),
                taken_over: None,
            }],
            refused: vec!["there is no worker 7".to_owned()],
            ..Results::default()
        };
        assert_eq!(
            all.missing().unwrap(),
            "worker 0 was lost in second 2: it ended; \
             worker 1: snapshots did not arrive: 1, 4 to 7; \
             a report was refused: there is no worker 7"
        );
    }
}
