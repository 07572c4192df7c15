//! Who has the place of each worker: one process at a time, however many have its join document. Two that obeyed
//! the same commands would send a share of the load twice, and it would be counted once.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::cluster::challenge::Challenge;

/// The places of all workers.
pub struct Places {
    taken: BTreeMap<u32, Place>,
    /// How long one that was let in may take to join.
    limit: Duration,
}

struct Place {
    /// By which the holder is known: the challenge of its hello.
    holder: Challenge,
    state: State,
    /// Whether another one has asked for it.
    was_wanted: bool,
}

enum State {
    /// It may join until then.
    LetIn(Instant),
    Joined,
}

/// Whether one that says hello has the place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// It has.
    Held,
    /// Another one has it.
    Occupied {
        /// Whether this is the first that is told so.
        first: bool,
    },
}

impl Places {
    /// With all places free. One that has claimed its place and has not joined within `limit` loses it.
    pub fn new(limit: Duration) -> Self {
        Self { taken: BTreeMap::new(), limit }
    }

    /// Gives the place of `worker` to whoever has this challenge, unless another one has it at this moment.
    pub fn claim(&mut self, worker: u32, challenge: &Challenge, now: Instant) -> Claim {
        let is_held = |place: &Place| match place.state {
            State::LetIn(until) => now <= until,
            State::Joined => true,
        };
        match self.taken.get_mut(&worker).filter(|place| is_held(place)) {
            Some(place) if place.holder == *challenge => Claim::Held,
            Some(place) => {
                let first = !std::mem::replace(&mut place.was_wanted, true);
                Claim::Occupied { first }
            }
            None => {
                let (holder, state) = (challenge.clone(), State::LetIn(now + self.limit));
                self.taken.insert(worker, Place { holder, state, was_wanted: false });
                Claim::Held
            }
        }
    }

    /// Notes that the one that has the place of `worker` has joined.
    pub fn joined(&mut self, worker: u32) {
        if let Some(place) = self.taken.get_mut(&worker) {
            place.state = State::Joined;
        }
    }

    /// Frees the place of `worker`.
    pub fn left(&mut self, worker: u32) {
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
    fn a_place_is_of_the_first_until_it_leaves() {
        let (mut places, [a, b], now) = setting();
        assert_eq!(places.claim(0, &a, now), Claim::Held);
        assert_eq!(places.claim(0, &b, now), Claim::Occupied { first: true });
        places.joined(0);
        let later = now + 10 * LIMIT;
        assert_eq!(places.claim(0, &b, later), Claim::Occupied { first: false });
        assert_eq!(places.claim(0, &a, later), Claim::Held, "a hello may come twice");
        assert_eq!(places.claim(1, &b, later), Claim::Held, "of another worker");
        places.left(0);
        assert_eq!(places.claim(0, &b, later), Claim::Held);
        assert_eq!(places.claim(0, &a, later), Claim::Occupied { first: true });
    }

    #[test]
    fn who_does_not_join_in_time_loses_it() {
        let (mut places, [a, b], now) = setting();
        assert_eq!(places.claim(0, &a, now), Claim::Held);
        assert_eq!(places.claim(0, &b, now + LIMIT), Claim::Occupied { first: true });
        assert_eq!(places.claim(0, &b, now + LIMIT + Duration::from_millis(1)), Claim::Held);
    }
}
