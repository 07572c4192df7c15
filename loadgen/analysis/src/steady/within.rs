//! Finds changes within one round, of any kind.

use super::noise::deviation;
use super::over_rounds::mean;
use super::pelt::changes;

/// Least number of seconds that a round must measure to show a change of its own.
const FEWEST_SECONDS: usize = 20;

/// Factor of the penalty for each change: the penalty is this factor times the logarithm of the number
/// of values, in variances of the noise. Barrett et al. ("Virtual Machine Warmup Blows Hot and Cold",
/// 2017, section 4) use 15. Seconds on a shared machine depend on each other more than iterations do:
/// with 22, the simulation of steady targets stays below 5 %.
const PENALTY: f64 = 22.0;

/// A stretch of a round in which a figure kept one level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Level {
    /// First second of the level, counted from the beginning of the hold.
    pub from: usize,
    /// Mean of the logarithms of the figure.
    pub mean: f64,
}

/// Returns the levels of a figure in a round, given the logarithms of the figure in each second. There
/// is one level if the figure did not change by more than its noise, or if there are too few.
pub(super) fn levels(series: &[f64]) -> Vec<Level> {
    levels_of(series, FEWEST_SECONDS, PENALTY)
}

/// Like [`levels`], for values that are no seconds: at least `fewest` of them, with this factor of the penalty.
pub(crate) fn levels_of(series: &[f64], fewest: usize, penalty: f64) -> Vec<Level> {
    let found = Some(series)
        .filter(|series| series.len() >= fewest)
        .and_then(deviation)
        .map(|noise| changes(series, penalty * (series.len() as f64).ln() * noise.powi(2)));
    let begins: Vec<usize> = std::iter::once(0).chain(found.unwrap_or_default()).collect();
    let ends = begins[1..].iter().copied().chain([series.len()]);
    let level = |(&from, to): (&usize, usize)| Level { from, mean: mean(&series[from..to]) };
    begins.iter().zip(ends).map(level).collect()
}
