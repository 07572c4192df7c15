//! The results of a round: the same from one process as from many workers.

use std::collections::BTreeSet;
use std::collections::btree_map::Entry;
use std::fmt;
use std::ops::Range;
use std::time::{Duration, Instant};

use super::goose_round::Finished;
use super::load_change::LoadChange;
use crate::measure::{Connections, RowsUsed, Series, Snapshot, Strain};

/// The results of a round.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Results {
    /// Everything that was measured, by all processes together.
    pub series: Series,
    /// The results of each process, in the order of their numbers: one process is one worker. Those that were lost
    /// gave less.
    pub workers: Vec<WorkerResults>,
    /// The workers that were not there to the end: those lost before the round, then those that were lost in
    /// it, in the order in which they were.
    pub lost: Vec<LostWorker>,
    /// Sentences about reports that were not understood or contradicted others; none of those is in the
    /// results.
    pub refused: Vec<String>,
    /// How the load was changed, in the order in which it was.
    pub changes: Vec<LoadChange>,
    /// How far apart the workers had to start, at most; `None` for load from one process.
    pub start_skew: Option<StartSkew>,
}

/// The results of one process.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WorkerResults {
    /// Its number, from 0.
    pub worker: u32,
    /// Its host, where that is another one.
    pub host: Option<Host>,
    /// Its share of the users.
    pub users: u32,
    /// Its round trip to the manager, shortly before the start; `None` where it was lost before that was
    /// measured, and for load from one process.
    pub round_trip: Option<Duration>,
    /// Requests that came to an end while the load was held.
    pub requests: u64,
    /// Snapshots that came of it.
    pub snapshots: u32,
    /// The numbers of the snapshots that are missing, as far as it is known.
    pub gaps: Vec<Range<u32>>,
    /// Its last word. Of a worker that was lost before that only `held` is known, as far as its results go.
    pub finished: Finished,
    /// How hard pressed it was while there was load that counts.
    pub strain: Strain,
}

/// A host with a worker on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// The CPUs that the worker may use.
    pub cpus: usize,
}

/// A worker that went before its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostWorker {
    /// Its number.
    pub worker: u32,
    /// Seconds from the end of the warm-up, 0 before that; `None` when it was lost before the round.
    pub second: Option<u32>,
    /// The reason, as far as it is known.
    pub why: String,
}

/// How far apart the moments were at which the workers of a round had to start, at most. How late a busy
/// one then was is in its strain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StartSkew {
    /// Whatever the paths between the manager and its workers are like.
    pub any_path: Duration,
    /// Where each of them takes as long in one direction as in the other.
    pub symmetric: Duration,
}

/// An event of a round while it runs.
#[derive(Debug)]
pub enum Seen<'a> {
    /// All make ready, and start at this moment.
    Started(Instant),
    /// Results of a worker, each once, as they arrive.
    Snapshot(u32, &'a Snapshot),
    /// A worker was lost.
    Lost(&'a LostWorker),
    /// Time has passed; some times a second.
    Tick,
}

impl WorkerResults {
    /// Adds what the same worker did in another round, as far as it is told of all rounds together.
    pub fn add(&mut self, other: &Self) {
        self.round_trip = self.round_trip.max(other.round_trip);
        self.requests += other.requests;
        self.snapshots += other.snapshots;
        self.strain.merge(&other.strain);
    }
}

impl Results {
    /// How long the load was held: by the worker that held it longest.
    #[must_use]
    pub fn held(&self) -> Duration {
        self.workers.iter().map(|worker| worker.finished.held).max().unwrap_or_default()
    }

    /// Whether all of the load was there to the end, and all that came of it is here.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.missing().is_none()
    }

    /// Tells in a sentence what is missing in the results: lost workers first, then [`Results::gaps`]. `None`
    /// where nothing is.
    #[must_use]
    pub fn missing(&self) -> Option<String> {
        let lost = self.lost.iter().map(ToString::to_string);
        let all: Vec<String> = lost.chain(self.gaps()).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    /// Tells what did not arrive although nobody was lost: a sentence for each worker whose snapshots are
    /// missing, and for each report that was refused.
    #[must_use]
    pub fn gaps(&self) -> Vec<String> {
        let gaps = self.workers.iter().filter(|worker| !worker.gaps.is_empty()).map(|worker| {
            let gaps: Vec<String> = worker.gaps.iter().map(numbers).collect();
            format!("worker {}: snapshots did not arrive: {}", worker.worker, gaps.join(", "))
        });
        let refused = self.refused.iter().map(|reason| format!("a report was refused: {reason}"));
        gaps.chain(refused).collect()
    }

    /// Gives the results of this worker, if it was there.
    #[must_use]
    pub fn worker(&self, worker: u32) -> Option<&WorkerResults> {
        self.workers.iter().find(|of| of.worker == worker)
    }

    /// The users of the workers that were lost.
    #[must_use]
    pub fn users_lost(&self) -> u32 {
        let lost = self.lost.iter().filter_map(|lost| self.worker(lost.worker));
        lost.map(|worker| worker.users).sum()
    }

    /// The files of rows that ran out on some process.
    #[must_use]
    pub fn ran_out(&self) -> BTreeSet<&str> {
        let files = self.workers.iter().flat_map(|worker| &worker.finished.ran_out);
        files.map(String::as_str).collect()
    }

    /// The rows that its requests used; none where a lost worker can't tell.
    #[must_use]
    pub fn rows(&self) -> RowsUsed {
        let mut all = RowsUsed::new();
        if !self.lost.is_empty() {
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

    /// The connections that were opened; of workers that were lost none is known.
    #[must_use]
    pub fn connections(&self) -> Connections {
        let mut all = Connections::default();
        self.workers.iter().for_each(|worker| all.merge(&worker.finished.connections));
        all
    }
}

/// "4" or "4 to 7".
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
    fn what_is_missing_is_told_with_the_worst_first() {
        let workers = vec![worker(0, &[]), worker(1, &[])];
        let whole = Results { workers, ..Results::default() };
        assert_eq!(whole.missing(), None);
        let all = Results {
            workers: vec![worker(0, &[]), worker(1, &[1..2, 4..8])],
            lost: vec![LostWorker { worker: 0, second: Some(2), why: "it ended".to_owned() }],
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
