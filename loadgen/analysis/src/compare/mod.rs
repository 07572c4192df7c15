//! Compares targets: ranks them, and tests the difference of each two of them.

mod correction;
mod duets;
mod latencies;
mod matrix;
#[cfg(test)]
mod simulations;

use std::collections::BTreeMap;
use std::f64::consts::SQRT_2;

pub use latencies::ByPercentile;
pub use matrix::Cell;

use crate::record::FEWEST_ROUNDS;
use crate::record::{Comparison, Lack, LoadRecord, Pair, Placing, RankedBy, Test};
use crate::statistics::{OVER_STARTS, Sample};

/// One figure, such as a rate, for each start, by the number of the start. Without slices, each round is
/// a start.
pub type ByRound = BTreeMap<u32, f64>;

/// Ranks targets by their rates of expected answers, and compares all pairs of targets.
///
/// `rates` holds the name of each target, and its rate in each round. Two targets are compared
/// within the same rounds, so that an influence on a whole round cancels out. A target without a
/// rate has no place in the ranking.
#[must_use]
pub fn compare(rates: &[(String, ByRound)]) -> Comparison {
    compare_by(Test::Paired, rates)
}

/// Like [`compare`], for a measurement in stages. `stages` has the number of the last round of each
/// stage.
#[must_use]
pub fn compare_in_stages(rates: &[(String, ByRound)], stages: &[u32]) -> Comparison {
    compare_with(Test::Paired, rates, stages)
}

/// Like [`compare`], for rounds that share one start of each server.
#[must_use]
pub fn compare_in_one_start(rates: &[(String, ByRound)]) -> Comparison {
    compare_with(Test::OneStart, rates, &[])
}

/// Like [`compare`], but with a given statistical test.
#[must_use]
pub(super) fn compare_by(test: Test, rates: &[(String, ByRound)]) -> Comparison {
    compare_with(test, rates, &[])
}

fn compare_with(test: Test, rates: &[(String, ByRound)], stages: &[u32]) -> Comparison {
    let mut ranked: Vec<(Placing, &ByRound)> = rates
        .iter()
        .map(|(target, rounds)| (test.placing(target, rounds, stages), rounds))
        .collect();
    ranked.sort_by(|(a, _), (b, _)| b.rate_per_s.total_cmp(&a.rate_per_s));
    let none = ranked.iter().filter(|(_, rounds)| rounds.is_empty());
    let unranked: Vec<String> = none.map(|(placing, _)| placing.target.clone()).collect();
    let best = ranked.first().map_or(0.0, |(placing, _)| placing.rate_per_s);
    for (placing, _) in &mut ranked {
        placing.relative_to_best = if best > 0.0 { placing.rate_per_s / best } else { 0.0 };
    }
    let comparison = Comparison {
        ranked_by: RankedBy::Answers,
        test,
        stages: stages.to_vec(),
        pairs: test.pairs(&named(&ranked), stages),
        cpu_pairs: Vec::new(),
        latency_pairs: Vec::new(),
        scaling: Vec::new(),
        ranking: ranked
            .into_iter()
            .filter(|(_, rounds)| !rounds.is_empty())
            .map(|(placing, _)| placing)
            .collect(),
        noise_floor_percent: None,
        latency_lacking: BTreeMap::new(),
        lacking: unranked.iter().map(|name| (name.clone(), Lack::NoWholeRound)).collect(),
        unranked,
    };
    comparison.corrected()
}

fn named<'a>(ranked: &'a [(Placing, &'a ByRound)]) -> Vec<(&'a str, &'a ByRound)> {
    ranked.iter().map(|(placing, rounds)| (placing.target.as_str(), *rounds)).collect()
}

/// Returns the geometric mean of the rounds; zero without a round, or where a figure is zero.
fn mean(rounds: &ByRound) -> f64 {
    Sample::of_figures(rounds.values().copied()).map_or(0.0, |sample| sample.geometric_mean())
}

/// Returns half the width of the interval of a ratio, in %.
fn half_width(pair: &Pair) -> Option<f64> {
    pair.confidence_95.map(|[low, high]| ((high / low).sqrt() - 1.0) * 100.0)
}

impl RankedBy {
    /// Returns the quantity by which the targets of a run under this load are ranked.
    pub(super) fn under(load: &LoadRecord) -> Self {
        match load.rate_per_s {
            Some(_) => Self::Speed,
            None => Self::Answers,
        }
    }
}

impl Comparison {
    /// Adds the noise floor, which is the difference to expect between two measurements of the same
    /// server. All targets of the comparison must be one server that was measured several times.
    #[must_use]
    pub fn of_one_server(self) -> Self {
        let noise_floor_percent = self.pairs.first().and_then(half_width);
        Self { noise_floor_percent, ..self }
    }

    /// Like [`Self::of_one_server`], but by CPU time per request.
    pub(super) fn of_one_server_by_cpu(self) -> Self {
        let noise_floor_percent = self.cpu_pairs.first().and_then(half_width);
        Self { noise_floor_percent, ..self }
    }

    /// Ranks and compares targets by speed instead of by rate, for the open model, in which all
    /// targets get the same requested rate. The speed is one over the median latency of each round.
    /// A target without a speed comes last.
    #[must_use]
    pub fn by_speed(mut self, speeds: &[(String, Result<ByRound, Lack>)]) -> Self {
        let none = BTreeMap::new();
        let lacking =
            speeds.iter().filter_map(|(name, speeds)| Some((name.clone(), speeds.clone().err()?)));
        self.lacking.extend(lacking);
        let of = |target: &str| {
            let speeds = speeds.iter().find(|(name, _)| name == target);
            speeds.and_then(|(_, speeds)| speeds.as_ref().ok())
        };
        let mut ranked: Vec<(Placing, &ByRound)> = self
            .ranking
            .into_iter()
            .map(|placing| {
                let rounds = of(&placing.target).unwrap_or(&none);
                (placing, rounds)
            })
            .collect();
        ranked.sort_by(|(_, a), (_, b)| mean(b).total_cmp(&mean(a)));
        let comparison = Self {
            ranked_by: RankedBy::Speed,
            pairs: self.test.pairs(&named(&ranked), &self.stages),
            ranking: ranked.into_iter().map(|(placing, _)| placing).collect(),
            ..self
        };
        comparison.corrected()
    }

    /// Turns a comparison of rates into a comparison of capacities. For a target without a figure,
    /// the reason becomes that the search found only a bound of the capacity.
    #[must_use]
    pub fn by_capacity(mut self) -> Self {
        self.lacking.values_mut().for_each(|lack| *lack = Lack::OnlyABound);
        Self { ranked_by: RankedBy::Capacity, ..self }
    }

    /// Keeps only the pairs for which `are_compared` returns true.
    #[must_use]
    pub fn only(mut self, are_compared: impl Fn(&Pair) -> bool) -> Self {
        self.pairs.retain(&are_compared);
        self.cpu_pairs.retain(&are_compared);
        self.latency_pairs.retain(|it| are_compared(&it.pair));
        self.corrected()
    }

    /// Adds a comparison of all pairs of targets by expected answers per CPU-second. Targets
    /// without figures of CPU time are left out.
    #[must_use]
    pub fn with_cpu(self, per_cpu_s: &[(String, ByRound)]) -> Self {
        let mut thriftiest: Vec<(&str, &ByRound)> =
            per_cpu_s.iter().map(|(target, rounds)| (target.as_str(), rounds)).collect();
        thriftiest.retain(|(_, rounds)| !rounds.is_empty());
        thriftiest.sort_by(|(_, a), (_, b)| mean(b).total_cmp(&mean(a)));
        let cpu_pairs = self.test.pairs(&thriftiest, &self.stages);
        Self { cpu_pairs, ..self }.corrected()
    }
}

/// Returns the sample of the logarithms of these figures, by round, of a measurement in stages.
fn staged(figures: &ByRound, stages: &[u32]) -> Option<Sample> {
    let logarithms: Vec<f64> = figures.values().map(|figure| figure.ln()).collect();
    let until = |end: &u32| figures.range(..=*end).count();
    Sample::in_stages(&logarithms, &stages.iter().map(until).collect::<Vec<_>>())
}

impl Test {
    /// Returns the place of a target with these rates by round, whose order is not yet known.
    fn placing(self, target: &str, rounds: &ByRound, stages: &[u32]) -> Placing {
        let sample = self.error_of(staged(rounds, stages), OVER_STARTS);
        let mean = rounds.values().sum::<f64>() / rounds.len().max(1) as f64;
        Placing {
            target: target.to_owned(),
            rate_per_s: sample.map_or(mean, |sample| sample.geometric_mean()),
            confidence_95_per_s: sample.and_then(|sample| sample.geometric_95()),
            relative_to_best: 0.0,
        }
    }

    /// Returns a sample with the error of this test. `over_starts` is the standard deviation over starts.
    fn error_of(self, sample: Option<Sample>, over_starts: f64) -> Option<Sample> {
        match self {
            Self::OneStart => sample.map(|sample| sample.within_one_start(over_starts)),
            Self::Paired | Self::Welch => sample,
        }
    }

    /// Compares all pairs of these targets, which are sorted best first. The p-values are not yet
    /// corrected.
    fn pairs(self, ranked: &[(&str, &ByRound)], stages: &[u32]) -> Vec<Pair> {
        let after = |i: usize| ranked[i + 1..].iter();
        let all = ranked.iter().enumerate();
        all.flat_map(|(i, one)| after(i).map(move |other| self.pair(*one, *other, stages)))
            .collect()
    }

    /// Compares two targets, each given by its name and its figures by round. The p-value is not
    /// yet corrected.
    fn pair(
        self,
        (one, rates): (&str, &ByRound),
        (other, others): (&str, &ByRound),
        stages: &[u32],
    ) -> Pair {
        let (rounds, sample) = self.difference(rates, others, stages);
        // The ranking is by all rounds, so the common rounds alone may give the opposite order.
        let swapped = sample.is_some_and(|sample| sample.mean < 0.0);
        let sample = match sample {
            Some(sample) if swapped => Some(Sample { mean: -sample.mean, ..sample }),
            sample => sample,
        };
        let (better, worse) = if swapped { (other, one) } else { (one, other) };
        let enough = sample.filter(|sample| sample.rounds >= FEWEST_ROUNDS);
        Pair {
            better: better.to_owned(),
            worse: worse.to_owned(),
            rounds: u32::try_from(rounds).unwrap_or(u32::MAX),
            ratio: sample.map(|sample| sample.geometric_mean()),
            freedom: enough.map(|sample| sample.freedom),
            confidence_95: enough.and_then(|sample| sample.geometric_95()),
            p_value: enough.and_then(|sample| sample.p_value()),
            p_holm: None,
            shown: false,
            more_rounds_for_5_percent: None,
        }
    }

    /// Returns the number of compared rounds, and a sample of the logarithms of the ratio of two
    /// targets' figures; `None` if a target has no figure or a figure is zero.
    fn difference(
        self,
        figures: &ByRound,
        others: &ByRound,
        stages: &[u32],
    ) -> (usize, Option<Sample>) {
        match self {
            Self::Paired | Self::OneStart => {
                let both = figures.iter();
                let both = both.filter_map(|(round, one)| Some((*round, one / others.get(round)?)));
                let ratios: ByRound = both.collect();
                // Each of the two servers was started once.
                (ratios.len(), self.error_of(staged(&ratios, stages), OVER_STARTS * SQRT_2))
            }
            Self::Welch => {
                let of = |rounds: &ByRound| Sample::of_figures(rounds.values().copied());
                let samples = of(figures).zip(of(others));
                (figures.len().min(others.len()), samples.map(|(one, other)| one.less(&other)))
            }
        }
    }
}

#[cfg(test)]
mod tests;
