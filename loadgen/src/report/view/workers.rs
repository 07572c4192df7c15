//! Tracks the workers by their reports.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::measure::{Counts, Phase, Snapshot};

/// Silence after which a worker is late. Workers report each second.
const LATE: Duration = Duration::from_millis(2_500);

/// Workers of a run, by their numbers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Workers(BTreeMap<u32, Worker>);

#[derive(Debug, Clone, Default)]
struct Worker {
    host: Option<String>,
    is_lost: bool,
    /// Time of the worker's last report in this round; `None` before the first report.
    reported: Option<Instant>,
    /// Newest second that the worker has reported, and the number of requests that ended in that
    /// second.
    newest: (u32, u64),
    /// Number of requests that ended in the second before the newest.
    requests: u64,
}

/// A worker as the live view and the live page show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    /// Number of the worker, counted from 0.
    pub number: u32,
    /// Host of the worker; `None` for a process on this host.
    pub host: Option<String>,
    /// Current state of the worker.
    pub state: State,
}

/// State of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// No figure to show: there is no load, or the worker has not reported a whole second yet.
    Quiet,
    /// Number of requests that ended in the worker's latest whole second.
    Working(u64),
    /// Time since the last report; the next report is overdue.
    Late(Duration),
    /// No longer part of the run.
    Lost,
}

/// Returns the rows that fit into `room`, and the number of the others. If not all rows fit, late and
/// lost workers come first.
pub(crate) fn fitting(mut all: Vec<Row>, room: usize) -> (Vec<Row>, usize) {
    let more = all.len().saturating_sub(room);
    if more > 0 {
        all.sort_by_key(|row| !matches!(row.state, State::Late(_) | State::Lost));
        all.truncate(room);
    }
    (all, more)
}

impl Workers {
    /// Adds the workers that send the load: the number of each worker, and the name of the worker's
    /// host if the worker runs on another host.
    pub(crate) fn joined(&mut self, roster: Vec<(u32, Option<String>)>) {
        for (number, host) in roster {
            self.0.entry(number).or_default().host = host;
        }
    }

    /// Begins a round: forgets all reports.
    pub(crate) fn begin(&mut self) {
        for worker in self.0.values_mut() {
            (worker.reported, worker.newest, worker.requests) = (None, (0, 0), 0);
        }
    }

    /// Records a worker's report. Ignores the number of a worker that has not joined, because load
    /// from this process comes from no worker.
    pub(crate) fn reported(&mut self, number: u32, snapshot: &Snapshot, now: Instant) {
        let Some(worker) = self.0.get_mut(&number) else { return };
        worker.reported = Some(now);
        for interval in snapshot.intervals.iter().filter(|i| Phase::MEASURED.contains(&i.phase)) {
            let requests = interval.steps.iter().map(Counts::requests).sum::<u64>();
            let (newest, so_far) = worker.newest;
            if interval.second > newest {
                worker.requests = if interval.second == newest + 1 { so_far } else { 0 };
                worker.newest = (interval.second, requests);
            } else if interval.second == newest {
                worker.newest.1 = so_far.saturating_add(requests);
            } else if interval.second + 1 == newest {
                worker.requests = worker.requests.saturating_add(requests);
            }
        }
    }

    /// Marks a worker as no longer part of the run.
    pub(crate) fn lost(&mut self, number: u32) {
        self.0.entry(number).or_default().is_lost = true;
    }

    /// Returns whether there are no workers, so that the load comes from this process.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns all workers in the order of their numbers. Without load (`is_on` is false), each
    /// worker that is not lost is [`State::Quiet`].
    pub(crate) fn rows(&self, now: Instant, is_on: bool) -> Vec<Row> {
        let row = |(number, worker): (&u32, &Worker)| Row {
            number: *number,
            host: worker.host.clone(),
            state: worker.state(now, is_on),
        };
        self.0.iter().map(row).collect()
    }
}

impl Worker {
    fn state(&self, now: Instant, is_on: bool) -> State {
        let silent = self.reported.map(|last| now.saturating_duration_since(last));
        match silent {
            _ if self.is_lost => State::Lost,
            Some(silent) if is_on && silent > LATE => State::Late(silent),
            Some(_) if is_on && self.newest.0 > 0 => State::Working(self.requests),
            _ => State::Quiet,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Interval;

    fn snapshot(seconds: &[(u32, u64)]) -> Snapshot {
        let interval = |(second, requests): &(u32, u64)| {
            let mut counts = Counts::default();
            (0..*requests).for_each(|_| counts.answered.record(Duration::from_millis(1)));
            let steps = vec![counts];
            Interval { phase: Phase::Hold, second: *second, steps, ..Interval::default() }
        };
        Snapshot::new(0, seconds.iter().map(interval).collect())
    }

    #[test]
    fn a_worker_shows_its_latest_complete_second_or_its_delay() {
        let start = Instant::now();
        let mut workers = Workers::default();
        workers.joined(vec![(0, None), (1, Some("web-7".to_owned()))]);
        let state =
            |workers: &Workers, ms| workers.rows(start + Duration::from_millis(ms), true)[1].state;
        assert_eq!(state(&workers, 9_000), State::Quiet);
        workers.reported(1, &snapshot(&[(0, 5)]), start);
        assert_eq!(state(&workers, 100), State::Quiet);
        workers.reported(1, &snapshot(&[(0, 2), (1, 3)]), start);
        assert_eq!(state(&workers, 100), State::Working(7));
        workers.reported(1, &snapshot(&[(1, 4), (2, 1)]), start);
        assert_eq!(state(&workers, 100), State::Working(7));
        workers.reported(1, &snapshot(&[(5, 1)]), start);
        assert_eq!(state(&workers, 2_500), State::Working(0));
        assert_eq!(state(&workers, 3_000), State::Late(Duration::from_secs(3)));
        assert_eq!(workers.rows(start, false)[1].state, State::Quiet);
        workers.begin();
        assert_eq!(state(&workers, 9_000), State::Quiet);
        workers.lost(1);
        assert_eq!(state(&workers, 100), State::Lost);
    }

    #[test]
    fn load_from_this_process_lists_no_worker() {
        let mut workers = Workers::default();
        workers.reported(0, &snapshot(&[(0, 5)]), Instant::now());
        assert!(workers.is_empty());
    }
}
