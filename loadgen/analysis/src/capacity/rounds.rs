//! Combines the rounds of a capacity search into one capacity.

use std::collections::BTreeMap;

use crate::compare::compare;
use crate::record::Comparison;
use crate::record::{Bound, Capacity, CapacityRound, CapacityTarget};
use crate::statistics::Sample;

impl Capacity {
    /// Combines the rounds into one capacity; rounds that did not end are left out. If no round
    /// ended, the result is [`Bound::Unknown`] with the least of the highest rates that passed in
    /// each round. A single round with only a bound makes the result a bound.
    #[must_use]
    pub fn of(rounds: &[CapacityRound]) -> Self {
        let ended: Vec<_> = rounds.iter().filter(|r| r.bound != Bound::Unknown).collect();
        let any = |bound| ended.iter().any(|round| round.bound == bound);
        let greatest = ended.iter().filter_map(|r| r.failed_per_s).max_by(f64::total_cmp);
        let (bound, rate_per_s, sample) = if ended.is_empty() {
            (Bound::Unknown, least_passed(rounds), None)
        } else if any(Bound::Below) {
            (Bound::Below, greatest, None)
        } else if any(Bound::AtLeast) {
            (Bound::AtLeast, least_passed(ended), None)
        } else {
            let sample = Sample::of_figures(ended.iter().filter_map(|r| r.capacity_per_s));
            (Bound::Found, sample.map(|s| s.geometric_mean()), sample)
        };
        let confidence_95_per_s = sample.and_then(|sample| sample.geometric_95());
        Self { bound, rate_per_s, confidence_95_per_s }
    }
}

fn least_passed<'a>(rounds: impl IntoIterator<Item = &'a CapacityRound>) -> Option<f64> {
    rounds.into_iter().filter_map(|round| round.passed_per_s).min_by(f64::total_cmp)
}

/// Compares the targets whose capacity was found, paired by round; `None` for fewer than two such
/// targets.
#[must_use]
pub fn compare_capacities(targets: &[CapacityTarget]) -> Option<Comparison> {
    let found = targets.iter().filter(|target| target.capacity.bound == Bound::Found);
    let rates: Vec<(String, BTreeMap<u32, f64>)> =
        found.map(|target| (target.name.clone(), target.found_per_s())).collect();
    (rates.len() > 1).then(|| compare(&rates).by_capacity())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(number: u32, bound: Bound, held: f64) -> CapacityRound {
        CapacityRound {
            round: number,
            bound,
            capacity_per_s: (bound == Bound::Found).then_some(held * 1.02),
            passed_per_s: (bound != Bound::Below).then_some(held),
            failed_per_s: Some(held * 1.04),
            trials: 5,
        }
    }

    #[test]
    fn rounds_with_a_capacity_have_a_mean_and_an_interval() {
        let rounds = [1, 2, 3].map(|n| round(n, Bound::Found, 100.0 * f64::from(n)));
        let capacity = Capacity::of(&rounds);
        let mean = 102.0 * 6.0_f64.cbrt();
        assert!((capacity.rate_per_s.unwrap() - mean).abs() < 1e-9);
        let [low, high] = capacity.confidence_95_per_s.unwrap();
        assert!(low < mean && mean < high);
        assert_eq!(Capacity::of(&rounds[..1]).confidence_95_per_s, None);
    }

    #[test]
    fn one_bound_among_the_rounds_makes_the_capacity_a_bound() {
        let found = round(1, Bound::Found, 100.0);
        let at_least = Capacity::of(&[found.clone(), round(2, Bound::AtLeast, 90.0)]);
        assert_eq!((at_least.bound, at_least.rate_per_s), (Bound::AtLeast, Some(90.0)));
        let cut_bound =
            Capacity::of(&[round(1, Bound::AtLeast, 90.0), round(2, Bound::Unknown, 2.0)]);
        assert_eq!((cut_bound.bound, cut_bound.rate_per_s), (Bound::AtLeast, Some(90.0)));
        let below = Capacity::of(&[found.clone(), round(2, Bound::Below, 2.0)]);
        assert_eq!((below.bound, below.rate_per_s), (Bound::Below, Some(104.0)));
        let cut = Capacity::of(&[found, round(2, Bound::Unknown, 2.0)]);
        assert_eq!((cut.bound, cut.rate_per_s.map(f64::round)), (Bound::Found, Some(102.0)));
        let only_cut = Capacity::of(&[round(1, Bound::Unknown, 2.0)]);
        assert_eq!((only_cut.bound, only_cut.rate_per_s), (Bound::Unknown, Some(2.0)));
        assert_eq!(Capacity::of(&[]).rate_per_s, None);
    }
}
