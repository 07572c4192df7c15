//! What each worker does, as far as it has told.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::measure::{Counts, Phase, Snapshot};

/// A worker reports each second; one that has not for so long is late.
const LATE: Duration = Duration::from_millis(2_500);

/// The workers of a run, by their numbers.
#[derive(Debug, Clone, Default)]
pub struct Workers(BTreeMap<u32, Worker>);

#[derive(Debug, Clone, Default)]
struct Worker {
    host: Option<String>,
    is_lost: bool,
    /// When it reported last, in this round.
    reported: Option<Instant>,
    /// The newest second that it has told of, and the requests that ended in it.
    newest: (u32, u64),
    /// Those of the second before.
    requests: u64,
}

/// How a worker is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Its number.
    pub number: u32,
    /// Its host, where it came from elsewhere.
    pub host: Option<String>,
    /// How it is.
    pub state: State,
}

/// How a worker is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It has nothing to tell at the moment.
    Quiet,
    /// So many requests ended in its latest second.
    Working(u64),
    /// It should have reported, and has not for so long.
    Late(Duration),
    /// It is out of the run.
    Lost,
}

impl Workers {
    /// These share the load, on other hosts where one is named.
    pub fn joined(&mut self, roster: Vec<(u32, Option<String>)>) {
        for (number, host) in roster {
            self.0.entry(number).or_default().host = host;
        }
    }

    /// A round begins.
    pub fn begin(&mut self) {
        for worker in self.0.values_mut() {
            (worker.reported, worker.newest, worker.requests) = (None, (0, 0), 0);
        }
    }

    /// A worker has reported. What comes from this process comes from none.
    pub fn reported(&mut self, number: u32, snapshot: &Snapshot, now: Instant) {
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

    /// A worker is out of the run.
    pub fn lost(&mut self, number: u32) {
        self.0.entry(number).or_default().is_lost = true;
    }

    /// Whether the load comes from any.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them, in order, while load `is_on` or is not.
    pub fn rows(&self, now: Instant, is_on: bool) -> Vec<Row> {
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
            Interval { phase: Phase::Hold, second: *second, steps: vec![counts] }
        };
        Snapshot { number: 0, intervals: seconds.iter().map(interval).collect() }
    }

    #[test]
    fn a_worker_shows_its_latest_whole_second_and_whether_it_is_late() {
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
    fn load_from_this_process_comes_from_no_worker() {
        let mut workers = Workers::default();
        workers.reported(0, &snapshot(&[(0, 5)]), Instant::now());
        assert!(workers.is_empty());
    }
}
