//! Deals the parts of lost processes to the processes that go on.
//!
//! Users and arrivals have places in the whole test, from 0, and are dealt to the processes in turn, as
//! [`Share`](super::Share) says. From the moment of a takeover on, the places of the lost process are dealt in turn to
//! the processes that go on. All of them compute the same deal, so that each place has one owner at each moment.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The transfer of a lost process's part to others. Processes are named by the index of their share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Takeover {
    /// Time of the takeover, counted from the common start; not before that of an earlier takeover.
    pub at: Duration,
    /// Process that was lost.
    pub lost: u32,
    /// Processes that go on, in ascending order; none of them was lost before.
    pub by: Vec<u32>,
}

/// A user's place among all users of the load, from 0: its number for everything but its process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Number of the place.
    pub number: u32,
    /// Number of the takeover, from 1, by which the user came to have the place; 0 for its first user.
    pub takeover: u32,
}

impl Place {
    /// The place of a user that took it over from nobody.
    #[must_use]
    pub fn first(number: u32) -> Self {
        Self { number, takeover: 0 }
    }

    /// Returns the seed of this user's data, where that of the first user is `seed`: the server may have seen what the
    /// first user made.
    #[must_use]
    pub fn seed(self, seed: u64) -> u64 {
        // Far from the seeds of other rounds: 2^64 divided by the golden ratio.
        seed.wrapping_add(u64::from(self.takeover).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// Returns the number of this user's first iteration. No earlier user at this place had the number or one after it,
    /// for 255 takeovers and 2^31 iterations each; all together fit below those of the warm-up.
    #[must_use]
    pub fn first_iteration(self) -> u64 {
        u64::from(self.takeover.min(255)) << 31
    }
}

/// The owner of each place, at each moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deal {
    of: u32,
    takeovers: Vec<Takeover>,
}

impl Deal {
    /// Deals all places to `of` processes; at least one.
    #[must_use]
    pub fn new(of: u32) -> Self {
        Self { of: of.max(1), takeovers: Vec::new() }
    }

    /// Adds takeovers, of which those that are known already come first. Returns the new ones, each with its number from
    /// 1.
    pub fn learn(&mut self, all: &[Takeover]) -> Vec<(u32, Duration)> {
        let known = self.takeovers.len();
        let new = all.get(known..).unwrap_or_default();
        self.takeovers.extend_from_slice(new);
        // There are fewer takeovers than processes, whose number is a `u32`.
        (known as u32 + 1..).zip(new.iter().map(|takeover| takeover.at)).collect()
    }

    /// Returns the process that has this place at this time.
    #[must_use]
    pub fn owner(&self, place: u64, at: Duration) -> u32 {
        self.owner_after(place, |takeover| takeover.at <= at)
    }

    /// Returns the process that had this place until this time.
    #[must_use]
    pub fn owner_before(&self, place: u64, at: Duration) -> u32 {
        self.owner_after(place, |takeover| takeover.at < at)
    }

    fn owner_after(&self, place: u64, counts: impl Fn(&Takeover) -> bool) -> u32 {
        // The remainder is less than a `u32`.
        let mut owner = (place % u64::from(self.of)) as u32;
        let mut turn = place / u64::from(self.of);
        for Takeover { lost, by, .. } in self.takeovers.iter().filter(|takeover| counts(takeover)) {
            let hands = by.len() as u64;
            if *lost == owner && hands > 0 {
                // The remainder is less than the length.
                owner = by[(turn % hands) as usize];
                turn /= hands;
            }
        }
        owner
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: Duration = Duration::from_millis(1);

    /// Returns takeovers in which processes are lost in this order, a second apart, until one is left.
    pub fn takeovers(of: u32, order: &[prop::sample::Index]) -> Vec<Takeover> {
        let mut left: Vec<u32> = (0..of).collect();
        let mut all = Vec::new();
        for (number, index) in order.iter().enumerate().take(of.saturating_sub(1) as usize) {
            let lost = left.remove(index.index(left.len()));
            all.push(Takeover { at: 1_000 * (number as u32 + 1) * MS, lost, by: left.clone() });
        }
        all
    }

    proptest! {
        #[test]
        fn each_place_has_one_owner_who_is_there(
            of in 1u32..20,
            order in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
            place in 0u64..10_000,
        ) {
            let takeovers = takeovers(of, &order);
            let mut deal = Deal::new(of);
            deal.learn(&takeovers);
            for (number, takeover) in takeovers.iter().enumerate() {
                let (before, after) = (takeover.at - MS, takeover.at);
                let owner = deal.owner(place, after);
                prop_assert!(takeovers[..=number].iter().all(|one| one.lost != owner));
                let had = deal.owner(place, before);
                prop_assert_eq!(deal.owner_before(place, after), had);
                // Who is there keeps what is its own.
                prop_assert!(had == takeover.lost || had == owner);
            }
        }

        #[test]
        fn places_are_dealt_evenly(of in 2u32..12, lost in any::<prop::sample::Index>()) {
            let takeovers = takeovers(of, &[lost]);
            let mut deal = Deal::new(of);
            deal.learn(&takeovers);
            let hands = u64::from(of - 1);
            let mut owned = vec![0_u64; of as usize];
            for place in 0..u64::from(of) * hands * 5 {
                owned[deal.owner(place, 1_000 * MS) as usize] += 1;
            }
            owned.remove(takeovers[0].lost as usize);
            prop_assert!(owned.iter().all(|count| *count == owned[0]), "{:?}", owned);
        }
    }

    #[test]
    fn a_takeover_that_is_told_again_counts_once() {
        let of = |at: u32, lost, by: &[u32]| Takeover { at: at * MS, lost, by: by.to_vec() };
        let both = [of(1, 0, &[1, 2]), of(5, 1, &[2])];
        let mut deal = Deal::new(3);
        assert_eq!(deal.learn(&both[..1]), [(1, MS)]);
        assert_eq!(deal.learn(&both), [(2, 5 * MS)]);
        assert!(deal.learn(&both[..1]).is_empty(), "an old message arrives late");
        assert_eq!([0, 4, 5].map(|ms| deal.owner(0, ms * MS)), [0, 1, 2]);
        let nobody = [of(9, 2, &[])];
        assert_eq!(Deal::new(3).learn(&nobody), [(1, 9 * MS)]);
        let mut alone = Deal::new(1);
        alone.learn(&[of(1, 0, &[])]);
        assert_eq!(alone.owner(7, 2 * MS), 0, "nobody is there to take it");
    }
}
