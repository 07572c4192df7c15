//! Who has the place of each worker: one process at a time, however many have its join document. Two that obeyed
//! the same commands would send a share of the load twice, and it would be counted once.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The places of all workers.
#[derive(Debug)]
pub struct Places {
    taken: BTreeMap<u32, Place>,
    /// How long one that was let in may take to join.
    limit: Duration,
}

#[derive(Debug)]
struct Place {
    /// What its holder alone has said: the challenge of its hello.
    holder: Vec<u8>,
    since: Instant,
    has_joined: bool,
    /// Whether another one was refused.
    was_wanted: bool,
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

    /// Gives the place of `worker` to `holder`, unless another one has it at this moment.
    pub fn claim(&mut self, worker: u32, holder: &[u8], now: Instant) -> Claim {
        let limit = self.limit;
        let is_free = |place: &Place| !place.has_joined && now.duration_since(place.since) > limit;
        match self.taken.get_mut(&worker).filter(|place| !is_free(place)) {
            Some(place) if place.holder == holder => Claim::Held,
            Some(place) => {
                let first = !std::mem::replace(&mut place.was_wanted, true);
                Claim::Occupied { first }
            }
            None => {
                let holder = holder.to_vec();
                let place = Place { holder, since: now, has_joined: false, was_wanted: false };
                self.taken.insert(worker, place);
                Claim::Held
            }
        }
    }

    /// Notes that the one that has the place of `worker` has joined.
    pub fn joined(&mut self, worker: u32) {
        if let Some(place) = self.taken.get_mut(&worker) {
            place.has_joined = true;
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

    #[test]
    fn a_place_is_of_the_first_until_it_leaves() {
        let (mut places, now) = (Places::new(LIMIT), Instant::now());
        assert_eq!(places.claim(0, b"a", now), Claim::Held);
        assert_eq!(places.claim(0, b"b", now), Claim::Occupied { first: true });
        places.joined(0);
        let later = now + 10 * LIMIT;
        assert_eq!(places.claim(0, b"b", later), Claim::Occupied { first: false });
        assert_eq!(places.claim(0, b"a", later), Claim::Held, "a hello may come twice");
        assert_eq!(places.claim(1, b"b", later), Claim::Held, "of another worker");
        places.left(0);
        assert_eq!(places.claim(0, b"b", later), Claim::Held);
        assert_eq!(places.claim(0, b"a", later), Claim::Occupied { first: true });
    }

    #[test]
    fn who_does_not_join_in_time_loses_it() {
        let (mut places, now) = (Places::new(LIMIT), Instant::now());
        assert_eq!(places.claim(0, b"a", now), Claim::Held);
        assert_eq!(places.claim(0, b"b", now + LIMIT), Claim::Occupied { first: true });
        assert_eq!(places.claim(0, b"b", now + LIMIT + Duration::from_millis(1)), Claim::Held);
    }
}
