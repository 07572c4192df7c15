//! Compares targets by percentiles of their latencies.

use std::collections::BTreeMap;

use super::{ByRound, mean};
use crate::record::{Comparison, Lack, LatencyPair, Percentile, RankedBy};

/// One over a latency percentile in s, of each round, or the reason why it is missing, for each
/// percentile by which targets are compared.
pub type ByPercentile = BTreeMap<Percentile, Result<ByRound, Lack>>;

impl Comparison {
    /// Adds a comparison of all pairs of targets by each latency percentile. A target that lacks a
    /// percentile is not compared by it. In the open model, the comparison already has the medians.
    #[must_use]
    pub fn with_latencies(self, latencies: &[(String, ByPercentile)]) -> Self {
        let of_ranking = (self.ranked_by == RankedBy::Speed).then_some(Percentile::P50);
        let mut latency_pairs = Vec::new();
        let mut latency_lacking: BTreeMap<String, BTreeMap<Percentile, Lack>> = BTreeMap::new();
        for percentile in Percentile::ALL.into_iter().filter(|it| Some(*it) != of_ranking) {
            let mut fastest: Vec<(&str, &ByRound)> = Vec::new();
            for (target, figures) in latencies {
                match figures.get(&percentile) {
                    Some(Ok(rounds)) => fastest.push((target, rounds)),
                    Some(Err(lack)) => {
                        let lacking = latency_lacking.entry(target.clone()).or_default();
                        lacking.insert(percentile, *lack);
                    }
                    None => {}
                }
            }
            fastest.sort_by(|(_, a), (_, b)| mean(b).total_cmp(&mean(a)));
            let pairs = self.test.pairs(&fastest, &self.stages).into_iter();
            latency_pairs.extend(pairs.map(|pair| LatencyPair { percentile, pair }));
        }
        Self { latency_pairs, latency_lacking, ..self }.corrected()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Cell, compare, compare_by};
    use super::*;
    use crate::record::{Pair, Test};

    /// Returns the figures of five rounds: `mean` with relative noise of about `noise`. Different
    /// values of `turn` give different noise.
    fn rounds(mean: f64, noise: f64, turn: usize) -> ByRound {
        let waves = [0.3, -1.2, 0.9, 0.6, -0.6];
        let of = |i: usize| mean * (noise * waves[(i * (turn + 1) + turn) % 5]).exp();
        (1..).zip((0..5).map(of)).collect()
    }

    /// Returns one over each percentile for latencies in ms, in five noisy rounds.
    fn by_percentile(ms: [f64; 5], turn: usize) -> ByPercentile {
        let of =
            |(percentile, ms): (Percentile, f64)| (percentile, Ok(rounds(1e3 / ms, 0.01, turn)));
        Percentile::ALL.into_iter().zip(ms).map(of).collect()
    }

    fn named<T>(all: Vec<(&str, T)>) -> Vec<(String, T)> {
        all.into_iter().map(|(name, of)| (name.to_owned(), of)).collect()
    }

    fn rates() -> Vec<(String, ByRound)> {
        named(vec![("a", rounds(200.0, 0.02, 0)), ("b", rounds(100.0, 0.02, 1))])
    }

    fn shown(comparison: &Comparison) -> Vec<(Percentile, &str)> {
        let shown = comparison.latency_pairs.iter().filter(|it| it.pair.shown);
        shown.map(|it| (it.percentile, it.pair.better.as_str())).collect()
    }

    #[test]
    fn each_percentile_has_its_own_better_target() {
        let latencies = named(vec![
            ("a", by_percentile([1.0, 2.0, 4.0, 16.0, 40.0], 0)),
            ("b", by_percentile([2.0, 4.0, 8.0, 8.0, 10.0], 1)),
        ]);
        let comparison = compare(&rates()).with_latencies(&latencies);
        let better = [
            (Percentile::P50, "a"),
            (Percentile::P90, "a"),
            (Percentile::P95, "a"),
            (Percentile::P99, "b"),
            (Percentile::P99_9, "b"),
        ];
        assert_eq!(shown(&comparison), better);
        let p99 = comparison.latency_pair(Percentile::P99, "a", "b").unwrap();
        assert!((p99.ratio.unwrap() - 2.0).abs() < 0.05, "{p99:?}");
        assert_eq!(comparison.latency_lacking, BTreeMap::new());
    }

    /// Compares two targets of which the second one has these latencies in ms.
    fn with_second(ms: [f64; 5]) -> Comparison {
        let latencies = named(vec![
            ("a", by_percentile([1.0, 2.0, 4.0, 16.0, 40.0], 0)),
            ("b", by_percentile(ms, 1)),
        ]);
        compare(&rates()).with_latencies(&latencies)
    }

    #[test]
    fn a_percentile_is_tested_only_after_those_before_it() {
        let comparison = with_second([2.0, 4.0, 8.0, 16.0, 80.0]);
        let found = [(Percentile::P50, "a"), (Percentile::P90, "a"), (Percentile::P95, "a")];
        assert_eq!(shown(&comparison), found, "p99.9 is after p99, which is equal");
        let [p99, p99_9] = [Percentile::P99, Percentile::P99_9]
            .map(|percentile| comparison.latency_pair(percentile, "a", "b").unwrap());
        assert!(p99_9.p_value < Some(1e-6) && p99_9.p_holm >= p99.p_holm, "{p99_9:?} {p99:?}");
        let untested = |comparison: &Comparison| {
            let is_untested = |it: &Percentile| !comparison.is_tested(*it, "b", "a");
            Percentile::ALL.into_iter().filter(is_untested).collect::<Vec<_>>()
        };
        assert_eq!(untested(&comparison), [Percentile::P99_9]);
        let comparison = with_second([1.0, 4.0, 4.0, 32.0, 80.0]);
        assert_eq!(shown(&comparison), [(Percentile::P99, "a"), (Percentile::P99_9, "a")]);
        assert_eq!(untested(&comparison), [Percentile::P90], "p90 is after p50, which is equal");
        let comparison = with_second([1.0, 2.0, 8.0, 16.0, 40.0]);
        assert_eq!(shown(&comparison), [(Percentile::P95, "a")], "the p95 waits for no other");
    }

    #[test]
    fn a_percentile_that_a_round_lacks_is_in_no_sequence() {
        let mut same = by_percentile([1.0, 2.0, 4.0, 16.0, 40.0], 0);
        let mut slower = by_percentile([2.0, 4.0, 8.0, 16.0, 80.0], 1);
        let latencies = |same: &ByPercentile, slower: &ByPercentile| {
            named(vec![("a", same.clone()), ("b", slower.clone())])
        };
        slower.insert(Percentile::P99, Err(Lack::TooFewAnswers));
        let comparison = compare(&rates()).with_latencies(&latencies(&same, &slower));
        assert_eq!(shown(&comparison).len(), 4);
        assert!(comparison.is_tested(Percentile::P99_9, "a", "b"));
        assert_eq!(comparison.latency_pair(Percentile::P99, "a", "b"), None);
        let lacking = &comparison.latency_lacking["b"];
        assert_eq!(*lacking, BTreeMap::from([(Percentile::P99, Lack::TooFewAnswers)]));
        same.values_mut().for_each(|it| *it = Err(Lack::TooManyErrors));
        let comparison = compare(&rates()).with_latencies(&latencies(&same, &slower));
        assert_eq!(comparison.latency_pairs, []);
        assert_eq!(comparison.latency_lacking["a"].len(), 5);
    }

    #[test]
    fn latencies_cost_the_rates_a_tenth_of_the_level() {
        let rates = named(vec![("a", rounds(103.0, 0.02, 0)), ("b", rounds(100.0, 0.02, 1))]);
        let equal = [1.0, 2.0, 4.0, 16.0, 40.0];
        let latencies = named(vec![("a", by_percentile(equal, 0)), ("b", by_percentile(equal, 1))]);
        let alone = compare(&rates).pairs[0].clone();
        let both = compare(&rates).with_latencies(&latencies).pairs[0].clone();
        assert!((both.p_holm.unwrap() / alone.p_holm.unwrap() - 1.0 / 0.9).abs() < 1e-9);
        assert!(both.more_rounds_for_5_percent >= alone.more_rounds_for_5_percent);
        let none = named(vec![("a", ByPercentile::new()), ("b", ByPercentile::new())]);
        assert_eq!(compare(&rates).with_latencies(&none).pairs[0], alone);
    }

    #[test]
    fn the_open_model_has_its_medians_in_the_ranking() {
        let of = |ms: f64, turn| Ok(rounds(1e3 / ms, 0.01, turn));
        let speeds = named(vec![("a", of(2.0, 0)), ("b", of(1.0, 1))]);
        let latencies = named(vec![
            ("a", by_percentile([2.0, 4.0, 8.0, 16.0, 80.0], 0)),
            ("b", by_percentile([1.0, 4.0, 8.0, 12.0, 80.0], 1)),
        ]);
        let comparison = compare(&rates()).by_speed(&speeds).with_latencies(&latencies);
        assert_eq!(comparison.latency_pairs.len(), 4);
        let median = comparison.latency_pair(Percentile::P50, "a", "b").unwrap();
        assert_eq!((median, median.better.as_str()), (&comparison.pairs[0], "b"));
        assert_eq!(shown(&comparison), [(Percentile::P99, "b")]);
    }

    #[test]
    fn targets_of_a_matrix_are_compared_within_a_cell() {
        let names = ["a ×1", "a ×2", "b ×1", "b ×2"];
        let rates = names.map(|name| (name, rounds(100.0, 0.02, name.len() % 3)));
        let latencies = names.map(|name| (name, by_percentile([1.0; 5], name.len() % 3)));
        let cells = names.map(|name| Cell {
            name,
            target: &name[..1],
            server_workers: name[4..].parse().unwrap(),
            replicas: None,
            users: 10,
        });
        let comparison = compare(&named(rates.into()))
            .with_latencies(&named(latencies.into()))
            .of_matrix(&cells);
        let two = |pair: &Pair| [pair.better.clone(), pair.worse.clone()];
        let compared = comparison.latency_pairs.iter().map(|it| two(&it.pair));
        assert_eq!(compared.len(), 2 * 5);
        for [one, other] in compared {
            assert_eq!(one[1..], other[1..], "{one} and {other}");
        }
    }

    #[test]
    fn saved_runs_are_compared_without_pairing_rounds() {
        let latencies = named(vec![
            ("a", by_percentile([1.0, 2.0, 4.0, 16.0, 40.0], 0)),
            ("b", by_percentile([2.0, 4.0, 8.0, 32.0, 80.0], 1)),
        ]);
        let comparison = compare_by(Test::Welch, &rates()).with_latencies(&latencies);
        assert_eq!(shown(&comparison).len(), 5);
        assert!(comparison.latency_pairs.iter().all(|it| it.pair.freedom != Some(4.0)));
    }
}
