//! Where more load is served no more, and only waits longer: what several loads on one target tell
//! together, and one alone can't.
//!
//! In the closed model all users are in flight at any time, whether the server works for them or lets
//! them wait, so that throughput times latency (Little 1961) is the number of users either way. It
//! takes another load to see the difference: below its limit a server gives more answers to more users,
//! above it as many to all. The throughput there, times how long a request takes while nobody waits, is
//! how many are being served at a time (Denning and Buzen 1978, the bounds of a closed system).

/// One load on a target, and what came of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Loaded {
    /// Users, or requests per second that were asked for.
    pub amount: f64,
    /// Expected answers per second.
    pub rate_per_s: f64,
    /// Their median latency, in s.
    pub latency_s: f64,
}

/// More load that was not served.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plateau {
    /// The lesser of the loads.
    pub from: Loaded,
    /// The greater.
    pub to: Loaded,
    /// The least load of all, where it is less than these: by its latency, which is that of a request
    /// that waits little.
    pub least: Option<Loaded>,
}

/// A load is another one from so many times as much on.
const MORE: f64 = 1.3;

/// Rates are alike that differ by no more than this share.
const ALIKE: f64 = 0.05;

/// A load is lighter, and tells how long a request takes, if it takes this share of the time at most.
const LIGHTER: f64 = 0.7;

impl Plateau {
    /// The two greatest of these loads, if they were served alike, and the greater waited as long or longer.
    #[must_use]
    pub fn of(loads: &[Loaded]) -> Option<Self> {
        let mut sorted = loads.to_vec();
        sorted.sort_by(|a, b| a.amount.total_cmp(&b.amount));
        let to = *sorted.last()?;
        let from = *sorted.iter().rev().find(|one| one.amount * MORE <= to.amount)?;
        let is_alike = (to.rate_per_s / from.rate_per_s - 1.0).abs() <= ALIKE;
        let waits = to.latency_s >= from.latency_s;
        let least = sorted.first().filter(|one| one.latency_s <= LIGHTER * from.latency_s);
        (from.rate_per_s > 0.0 && is_alike && waits).then_some(Self {
            from,
            to,
            least: least.copied(),
        })
    }

    /// How many requests were being served at a time, by Little's law: no more than this, since also under
    /// the least load some may have waited; `None` where no load was light enough to tell.
    #[must_use]
    pub fn served(&self) -> Option<f64> {
        self.least.map(|least| self.to.rate_per_s * least.latency_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server of ten threads, each of which takes 50 ms for a request.
    fn ten_threads(users: f64) -> Loaded {
        let rate_per_s = 200.0_f64.min(users / 0.05);
        Loaded { amount: users, rate_per_s, latency_s: users / rate_per_s }
    }

    #[test]
    fn ten_threads_are_seen_by_three_loads() {
        let found = Plateau::of(&[40.0, 5.0, 20.0].map(ten_threads)).unwrap();
        assert_eq!((found.from.amount, found.to.amount), (20.0, 40.0));
        assert!((found.served().unwrap() - 10.0).abs() < 1e-9);
    }

    #[test]
    fn two_loads_that_both_wait_tell_only_that_more_is_not_served() {
        let found = Plateau::of(&[20.0, 40.0].map(ten_threads)).unwrap();
        assert_eq!(found.served(), None);
    }

    #[test]
    fn one_load_tells_nothing_nor_do_those_that_are_served() {
        assert_eq!(Plateau::of(&[ten_threads(40.0)]), None);
        assert_eq!(Plateau::of(&[]), None);
        assert_eq!(Plateau::of(&[2.0, 8.0].map(ten_threads)), None, "it serves more");
        assert_eq!(Plateau::of(&[5.0, 20.0].map(ten_threads)), None, "20 users get more than 5");
        assert_eq!(Plateau::of(&[38.0, 40.0].map(ten_threads)), None, "nearly the same load");
    }
}
