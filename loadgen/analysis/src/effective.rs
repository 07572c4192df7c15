//! Computes how many independent requests would give a percentile the same precision.

use std::collections::BTreeMap;

use crate::record::{FEWEST_ROUNDS, Percentile};
use loadgen_measure::{Latencies, LatencySummary};

/// Returns the effective sample size of each latency percentile of all rounds together: the number of
/// independent requests whose percentile would vary as little. `rounds` has the latencies of each round.
/// A percentile that has too few samples is missing, and all are with fewer than five rounds.
///
/// The share of requests above the percentile varies from round to round. Of independent requests, it
/// would vary by the binomial distribution alone. The effective sample size is the number of requests,
/// times the variance of the latter over that of the former, but not more than the number of requests
/// (batch means with rounds as batches; see Geyer, "Practical Markov Chain Monte Carlo", 1992, on the
/// size). Rounds are independent, so that it counts everything that makes the requests of a round alike,
/// whether they follow each other or not.
#[must_use]
pub fn effective_samples(rounds: &[Latencies]) -> BTreeMap<Percentile, u64> {
    let mut all = Latencies::default();
    rounds.iter().for_each(|round| all.merge(round));
    let summary = LatencySummary::from(&all);
    if rounds.len() < FEWEST_ROUNDS as usize {
        return BTreeMap::new();
    }
    let of = |percentile: Percentile| {
        let us = percentile.of(&summary)?;
        let above = |of: &Latencies| of.above(us) as f64;
        let (requests, slow) = (all.len() as f64, above(&all));
        let share = slow / requests;
        let squares = rounds.iter().map(|it| (above(it) - share * it.len() as f64).powi(2));
        let batches = rounds.len() as f64;
        let measured = squares.sum::<f64>() / (batches - 1.0) * batches;
        let independent = requests * share * (1.0 - share);
        // Without a slower request, as of equal latencies, nothing is known of their variation.
        let size = requests * (independent / measured).min(1.0);
        (independent > 0.0).then(|| (percentile, size.round().max(1.0) as u64))
    };
    Percentile::ALL.into_iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// Returns rounds of 1,000 requests, in which clusters of `cluster` requests have one latency.
    fn rounds(rounds: usize, cluster: u64) -> Vec<Latencies> {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut round = || {
            let mut latencies = Latencies::default();
            for _ in 0..1_000 / cluster {
                let us = 1_000.0 - 1_000.0 * (1.0 - random.random::<f64>()).ln();
                latencies.record_n(Duration::from_micros(us as u64), cluster);
            }
            latencies
        };
        (0..rounds).map(|_| round()).collect()
    }

    #[test]
    fn independent_requests_count_in_full() {
        for (percentile, size) in effective_samples(&rounds(200, 1)) {
            // The estimate of a variance from 200 rounds has a standard error of a tenth.
            assert!((150_000..=200_000).contains(&size), "{percentile}: {size}");
        }
    }

    #[test]
    fn requests_in_clusters_count_as_one_each() {
        let sizes = effective_samples(&rounds(200, 20));
        assert_eq!(sizes.len(), 5);
        for (percentile, size) in sizes {
            assert!((7_500..=12_500).contains(&size), "{percentile}: {size} of 10,000 clusters");
        }
    }

    #[test]
    fn few_rounds_and_few_requests_have_no_size() {
        assert_eq!(effective_samples(&rounds(4, 1)), BTreeMap::new());
        let sizes = effective_samples(&rounds(5, 1));
        assert_eq!(sizes.keys().max(), Some(&Percentile::P99), "5,000 requests have no p99.9");
        let mut equal = Latencies::default();
        equal.record_n(Duration::from_millis(1), 100);
        assert_eq!(effective_samples(&vec![equal; 5]), BTreeMap::new());
    }
}
