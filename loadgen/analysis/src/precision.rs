//! Decides how many rounds a run needs for intervals of a given width.

use super::figures::rates;
use super::statistics::Sample;
use crate::record::{Pair, RunRecord};

/// Rounds that a run needs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Needed {
    /// Number of rounds in all.
    pub rounds: u32,
    /// Number of rounds so far that count for each interval.
    pub measured: u32,
    /// Half the width of the widest interval so far, in %.
    pub widest_percent: f64,
}

impl Needed {
    /// Returns the rounds that a run needs until each interval that matters is no wider than ±
    /// `percent` %: the intervals of the ratios of all compared pairs or, for a single target, that of
    /// its rate. `None` if one of them is unknown.
    #[must_use]
    pub fn of(record: &RunRecord, percent: f64) -> Option<Self> {
        let comparison = record.comparison.as_ref()?;
        let pairs: Vec<&Pair> = match record.duet {
            Some(_) => comparison.cpu_pairs.iter().collect(),
            None => comparison.pairs.iter().chain(&comparison.scaling).collect(),
        };
        let samples: Option<Vec<Sample>> = match record.load.targets.len() {
            1 => {
                comparison.ranking.iter().map(|it| rate(it.confidence_95_per_s?, record)).collect()
            }
            _ => pairs.iter().map(|pair| pair.sample()).collect(),
        };
        let samples = samples.filter(|samples| !samples.is_empty())?;
        let rounds = samples.iter().map(|sample| sample.rounds_for(percent));
        let widest = samples.iter().map(Sample::plus_minus_percent);
        let widest = widest.collect::<Option<Vec<f64>>>()?;
        Some(Self {
            rounds: rounds.collect::<Option<Vec<u32>>>()?.into_iter().max()?,
            measured: samples.iter().map(|sample| sample.rounds).min()?,
            widest_percent: widest.into_iter().fold(0.0, f64::max),
        })
    }
}

/// Restores the sample of the only target's rate from its interval.
fn rate(interval: [f64; 2], record: &RunRecord) -> Option<Sample> {
    let first = record.comparison.as_ref()?.stages.first().copied();
    let rounds = u32::try_from(rates(&record.targets.first()?.rounds).len()).ok()?;
    let freedom = f64::from(first.map_or(rounds, |first| first.min(rounds))) - 1.0;
    Sample::of_interval(rounds, freedom, interval)
}
