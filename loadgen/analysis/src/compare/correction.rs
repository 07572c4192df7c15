//! Corrects a comparison for the number of its pairs.

use crate::record::{Comparison, LatencyPair, Pair, Percentile, Test};
use crate::statistics::{Family, LEVEL, Sample, holm, levels, rounds_needed};

/// Share of the significance level (0 to 1) for comparisons by latency percentiles. The other
/// comparisons of the run, by rate, CPU time and scaling, get the rest. With a tenth, they find
/// nearly as much as alone: see docs/explanation/simulations.md.
const LATENCIES: f64 = 0.1;

/// Order in which the percentiles of two targets are tested. The question is mostly about p99, so
/// p99 comes first; p99.9 has so few samples that it might keep others from being tested.
const ORDER: [Percentile; 5] =
    [Percentile::P99, Percentile::P95, Percentile::P90, Percentile::P50, Percentile::P99_9];

impl Comparison {
    /// Applies Holm's correction to the p-values of all pairs together, whether the pairs compare
    /// rates, CPU time, scaling or latencies. The percentiles of two targets are tested in a fixed
    /// order. Also computes the number of further rounds that each pair needs.
    pub(super) fn corrected(mut self) -> Self {
        let others = self.pairs.iter_mut().chain(&mut self.cpu_pairs).chain(&mut self.scaling);
        let others = others.filter(|pair| pair.p_value.is_some()).map(|pair| vec![pair]).collect();
        let tested = [others, in_order(&mut self.latency_pairs)];
        let p_values = |pairs: &Vec<&mut Pair>| pairs.iter().filter_map(|it| it.p_value).collect();
        let families: Vec<Family> = [1.0 - LATENCIES, LATENCIES]
            .into_iter()
            .zip(&tested)
            .map(|(weight, of)| Family { weight, sequences: of.iter().map(p_values).collect() })
            .collect();
        let adjusted = holm(&families).into_iter().zip(levels(&families));
        for (sequences, (adjusted, level)) in tested.into_iter().zip(adjusted) {
            let pairs = sequences.into_iter().flatten();
            for (pair, p_holm) in pairs.zip(adjusted.into_iter().flatten()) {
                pair.p_holm = Some(p_holm);
                pair.shown = p_holm < LEVEL;
                // More rounds of the same start do not show what another start would bring.
                let sample = pair.sample().filter(|_| self.test != Test::OneStart);
                let needed = sample.and_then(|sample| rounds_needed(&sample, level));
                pair.more_rounds_for_5_percent = needed.map(|n| n.saturating_sub(pair.rounds));
            }
        }
        self
    }
}

/// Returns the pairs that have a p-value: for each two targets, one after the other in [`ORDER`].
fn in_order(pairs: &mut [LatencyPair]) -> Vec<Vec<&mut Pair>> {
    let place = |percentile| ORDER.iter().position(|one| *one == percentile);
    let mut tested: Vec<&mut LatencyPair> =
        pairs.iter_mut().filter(|it| it.pair.p_value.is_some()).collect();
    tested.sort_by_key(|it| place(it.percentile));
    let mut sequences: Vec<Vec<&mut Pair>> = Vec::new();
    for pair in tested.into_iter().map(|it| &mut it.pair) {
        match sequences.iter_mut().find(|sequence| is_same(sequence[0], pair)) {
            Some(sequence) => sequence.push(pair),
            None => sequences.push(vec![pair]),
        }
    }
    sequences
}

/// Returns whether two pairs compare the same targets.
fn is_same(one: &Pair, other: &Pair) -> bool {
    one.is_of(&other.better, &other.worse)
}

impl Pair {
    /// Restores the sample of the ratio's logarithms from the confidence interval of the pair;
    /// `None` without an interval.
    pub(crate) fn sample(&self) -> Option<Sample> {
        Sample::of_interval(self.rounds, self.freedom?, self.confidence_95?)
    }
}
