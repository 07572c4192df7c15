//! Corrects a comparison for the number of its pairs.

use crate::record::{Comparison, LatencyPair, Pair, Test};
use crate::statistics::{Family, LEVEL, Sample, holm, levels, rounds_needed};

/// Share of the significance level (0 to 1) for comparisons by latency percentiles. The other
/// comparisons of the run, by rate, CPU time and scaling, get the rest. With a tenth, they find
/// nearly as much as alone: see docs/explanation/simulations.md.
pub(super) const LATENCIES: f64 = 0.1;

impl Comparison {
    /// Applies Holm's correction to the p-values of all pairs together, whether the pairs compare
    /// rates, CPU time, scaling or latencies. The percentiles of two targets are tested in
    /// sequences. Also computes the number of further rounds that each pair needs.
    pub(super) fn corrected(mut self) -> Self {
        let others = self.pairs.iter_mut().chain(&mut self.cpu_pairs).chain(&mut self.scaling);
        let others = others.filter(|pair| pair.p_value.is_some()).map(|pair| vec![pair]).collect();
        let tested = [others, in_sequences(&mut self.latency_pairs)];
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

/// Returns the pairs that have a p-value: for each two targets, in the sequences of percentiles.
fn in_sequences(pairs: &mut [LatencyPair]) -> Vec<Vec<&mut Pair>> {
    let mut tested: Vec<&mut LatencyPair> =
        pairs.iter_mut().filter(|it| it.pair.p_value.is_some()).collect();
    tested.sort_by_key(|it| it.percentile.before().len());
    let mut sequences: Vec<Vec<&mut LatencyPair>> = Vec::new();
    for pair in tested {
        match sequences.iter_mut().find(|sequence| follows(pair, sequence[0])) {
            Some(sequence) => sequence.push(pair),
            None => sequences.push(vec![pair]),
        }
    }
    let pairs = sequences.into_iter().map(|of| of.into_iter().map(|it| &mut it.pair).collect());
    pairs.collect()
}

/// Returns whether a pair is tested after the first one of a sequence.
fn follows(pair: &LatencyPair, first: &LatencyPair) -> bool {
    pair.percentile.before().contains(&first.percentile)
        && pair.pair.is_of(&first.pair.better, &first.pair.worse)
}

impl Pair {
    /// Restores the sample of the ratio's logarithms from the confidence interval of the pair;
    /// `None` without an interval.
    pub(crate) fn sample(&self) -> Option<Sample> {
        Sample::of_interval(self.rounds, self.freedom?, self.confidence_95?)
    }
}
