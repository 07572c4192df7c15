//! Finds loads above which a target serves no more, and requests only wait longer. Several loads on
//! one target show such a plateau; one load cannot.
//!
//! In the closed model all users are in flight at any time, whether the server works for them or
//! lets them wait. So throughput times latency (Little 1961) is the number of users in either case.
//! Another load shows the difference: below its limit a server gives more answers to more users,
//! and above its limit the same number of answers. The throughput at the limit times the latency of
//! a request while no request waits is the number of requests being served at a time (Denning and
//! Buzen 1978, the bounds of a closed system).

/// One load on a target, and its result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Loaded {
    /// Users, or requested rate in requests/s.
    pub amount: f64,
    /// Expected answers per second.
    pub rate_per_s: f64,
    /// Median latency of the expected answers, in s.
    pub latency_s: f64,
}

/// Two loads that the target served at the same rate: the higher load only made requests wait
/// longer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plateau {
    /// The lower of the two loads that were served at the same rate.
    pub from: Loaded,
    /// The higher of the two loads that were served at the same rate.
    pub to: Loaded,
    /// The lowest of all measured loads, if requests hardly wait under this load. `None` if its
    /// latency is not clearly below the latency of `from`.
    pub least: Option<Loaded>,
}

/// Least ratio of two loads that count as different.
const MORE: f64 = 1.3;

/// Greatest relative difference of rates that count as equal.
const ALIKE: f64 = 0.05;

/// Greatest ratio of the lowest load's latency to the latency of the load `from` at which requests
/// under the lowest load count as hardly waiting.
const LIGHTER: f64 = 0.7;

impl Plateau {
    /// Returns the plateau of the greatest load and the next load that is clearly lower. `None`
    /// unless the target served both loads at the same rate, and requests under the greater load
    /// took as long or longer.
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

    /// Returns an upper bound of the number of requests that the target serves at the same time, by
    /// Little's law. The number is an upper bound because some requests may have waited even under
    /// the lowest load. `None` if no load was low enough to know.
    #[must_use]
    pub fn served(&self) -> Option<f64> {
        self.least.map(|least| self.to.rate_per_s * least.latency_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the result of `users` users on a server with ten threads, each of which takes 50 ms
    /// for a request.
    fn ten_threads(users: f64) -> Loaded {
        let rate_per_s = 200.0_f64.min(users / 0.05);
        Loaded { amount: users, rate_per_s, latency_s: users / rate_per_s }
    }

    #[test]
    fn three_loads_reveal_ten_threads() {
        let found = Plateau::of(&[40.0, 5.0, 20.0].map(ten_threads)).unwrap();
        assert_eq!((found.from.amount, found.to.amount), (20.0, 40.0));
        assert!((found.served().unwrap() - 10.0).abs() < 1e-9);
    }

    #[test]
    fn two_queueing_loads_reveal_only_the_plateau() {
        let found = Plateau::of(&[20.0, 40.0].map(ten_threads)).unwrap();
        assert_eq!(found.served(), None);
    }

    #[test]
    fn one_load_or_growing_throughput_reveals_no_plateau() {
        assert_eq!(Plateau::of(&[ten_threads(40.0)]), None);
        assert_eq!(Plateau::of(&[]), None);
        assert_eq!(Plateau::of(&[2.0, 8.0].map(ten_threads)), None, "it serves more");
        assert_eq!(Plateau::of(&[5.0, 20.0].map(ten_threads)), None, "20 users get more than 5");
        assert_eq!(Plateau::of(&[38.0, 40.0].map(ten_threads)), None, "nearly the same load");
    }
}
