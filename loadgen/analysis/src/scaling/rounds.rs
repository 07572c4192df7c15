//! Groups observations by round, as logarithms.

use std::collections::{BTreeMap, BTreeSet};

use super::{CannotFit, FEWEST_SIZES_AMDAHL, Observation};

/// The logarithms of the rates of the rounds that measured at least two sizes.
#[derive(Debug)]
pub(super) struct Rounds {
    /// One curve for each round.
    pub curves: Vec<Curve>,
    /// Distinct sizes in ascending order.
    pub sizes: Vec<u32>,
}

/// Natural logarithm of the rate at each size, of one round.
pub(super) type Curve = BTreeMap<u32, f64>;

impl Rounds {
    /// Groups valid observations; the result is independent of their order.
    pub fn of(observations: &[Observation]) -> Result<Self, CannotFit> {
        let mut by_round: BTreeMap<u32, BTreeMap<u32, Vec<f64>>> = BTreeMap::new();
        for observation in observations {
            let logarithm = logarithm(observation)?;
            let round = by_round.entry(observation.round).or_default();
            round.entry(observation.size).or_default().push(logarithm);
        }
        let curves = by_round.into_values().filter(|round| round.len() > 1);
        let curves: Vec<Curve> = curves
            .map(|round| round.into_iter().map(|(size, rates)| (size, mean(rates))).collect())
            .collect();
        if curves.is_empty() {
            return Err(CannotFit::OneSizePerRound);
        }
        let sizes: BTreeSet<u32> = curves.iter().flat_map(|curve| curve.keys().copied()).collect();
        if sizes.len() < FEWEST_SIZES_AMDAHL {
            return Err(CannotFit::TooFewSizes(sizes.len()));
        }
        Ok(Self { curves, sizes: sizes.into_iter().collect() })
    }

    /// Returns whether every round measured every size.
    pub fn are_complete(&self) -> bool {
        self.curves.iter().all(|curve| curve.len() == self.sizes.len())
    }
}

fn logarithm(observation: &Observation) -> Result<f64, CannotFit> {
    if observation.size == 0 {
        return Err(CannotFit::SizeZero(observation.round));
    }
    let logarithm = observation.rate.ln();
    if logarithm.is_finite() { Ok(logarithm) } else { Err(CannotFit::Rate(*observation)) }
}

/// Returns the mean of the logarithms, in an order of summation that the caller cannot influence.
fn mean(mut logarithms: Vec<f64>) -> f64 {
    logarithms.sort_by(f64::total_cmp);
    average(logarithms)
}

/// Returns the arithmetic mean; not a number without any value.
pub(super) fn average(values: impl IntoIterator<Item = f64>) -> f64 {
    let (sum, n) = values.into_iter().fold((0.0, 0.0), |(sum, n), value| (sum + value, n + 1.0));
    sum / n
}
