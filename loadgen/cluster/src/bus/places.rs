//! Admits one process at a time as each worker, even if several processes hold the same join
//! document. Two processes that obeyed the same commands would send one share of the load twice,
//! and the results would count the share once.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::challenge::Challenge;

/// Record of the process that is admitted as each worker, if any.
pub(super) struct Places {
    taken: BTreeMap<u32, Place>,
    /// Time limit for an admitted process to join.
    limit: Duration,
}

struct Place {
    /// Random challenge in the first message of the admitted process; identifies the process.
    holder: Challenge,
    state: State,
    /// Whether another process has asked to be the same worker.
    was_wanted: bool,
}

enum State {
    /// The process is admitted, and may join until this time.
    LetIn(Instant),
    Joined,
}

/// Decision about a process that asks to be a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    /// The process is admitted as the worker.
    Admitted,
    /// Another process is already admitted as the worker.
    Occupied {
        /// Whether this refusal is the first since the other process was admitted.
        first: bool,
    },
}

impl Places {
    /// Creates a record in which no process is admitted. An admission expires if the
    /// process does not join within `limit`.
    pub(super) fn new(limit: Duration) -> Self {
        Self { taken: BTreeMap::new(), limit }
    }

    /// Admits the process that sent this challenge as `worker`, unless another process is
    /// admitted as `worker` at the time `now`.
    pub(super) fn admit(&mut self, worker: u32, challenge: &Challenge, now: Instant) -> Decision {
        let is_held = |place: &Place| match place.state {
            State::LetIn(until) => now <= until,
            State::Joined => true,
        };
        match self.taken.get_mut(&worker).filter(|place| is_held(place)) {
            Some(place) if place.holder == *challenge => Decision::Admitted,
            Some(place) => {
                let first = !std::mem::replace(&mut place.was_wanted, true);
                Decision::Occupied { first }
            }
            None => {
                let (holder, state) = (challenge.clone(), State::LetIn(now + self.limit));
                self.taken.insert(worker, Place { holder, state, was_wanted: false });
                Decision::Admitted
            }
        }
    }

    /// Records that the process that is admitted as `worker` has joined.
    pub(super) fn joined(&mut self, worker: u32) {
        if let Some(place) = self.taken.get_mut(&worker) {
            place.state = State::Joined;
        }
    }

    /// Ends the admission of a process as `worker`, so that another process can be admitted.
    pub(super) fn left(&mut self, worker: u32) {
        self.taken.remove(&worker);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(6);

    fn setting() -> (Places, [Challenge; 2], Instant) {
        (Places::new(LIMIT), [(); 2].map(|()| Challenge::new().unwrap()), Instant::now())
    }

    #[test]
    fn a_place_belongs_to_the_first_process_until_it_leaves() {
        let (mut places, [a, b], now) = setting();
        assert_eq!(places.admit(0, &a, now), Decision::Admitted);
        assert_eq!(places.admit(0, &b, now), Decision::Occupied { first: true });
        places.joined(0);
        let later = now + 10 * LIMIT;
        assert_eq!(places.admit(0, &b, later), Decision::Occupied { first: false });
        assert_eq!(places.admit(0, &a, later), Decision::Admitted, "a hello may come twice");
        assert_eq!(places.admit(1, &b, later), Decision::Admitted, "of another worker");
        places.left(0);
        assert_eq!(places.admit(0, &b, later), Decision::Admitted);
        assert_eq!(places.admit(0, &a, later), Decision::Occupied { first: true });
    }

    #[test]
    fn a_process_that_joins_too_late_loses_its_place() {
        let (mut places, [a, b], now) = setting();
        assert_eq!(places.admit(0, &a, now), Decision::Admitted);
        assert_eq!(places.admit(0, &b, now + LIMIT), Decision::Occupied { first: true });
        assert_eq!(places.admit(0, &b, now + LIMIT + Duration::from_millis(1)), Decision::Admitted);
    }
}
