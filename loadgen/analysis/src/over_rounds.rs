//! Computes the mean of each latency percentile over rounds, and its confidence interval.

use super::starts::by_start;
use super::statistics::Sample;
use crate::record::{LatencyOverRounds, OverRounds, RoundRecord};
use loadgen_measure::LatencySummary;

impl OverRounds {
    /// Returns the geometric mean of the figures of several rounds, with its 95 % confidence
    /// interval; `None` for fewer than two figures, or if a figure is 0.
    #[must_use]
    pub fn of(figures: impl IntoIterator<Item = f64>) -> Option<Self> {
        let sample = Sample::of_figures(figures)?;
        let confidence_95 = sample.geometric_95()?;
        Some(Self { mean: sample.geometric_mean(), confidence_95 })
    }
}

impl LatencyOverRounds {
    /// Returns the mean and the confidence interval of each latency percentile, all steps together,
    /// over those of these rounds that ran as planned: other rounds do not show how much rounds
    /// differ. With slices, over starts.
    #[must_use]
    pub fn of(rounds: &[RoundRecord]) -> Self {
        let over = |percentile: fn(&LatencySummary) -> Option<u64>| {
            let us = |round: &RoundRecord| Some(percentile(&round.total.latency_us)? as f64);
            OverRounds::of(by_start(rounds, us)?.into_values())
        };
        Self {
            p50: over(|round| round.p50),
            p90: over(|round| round.p90),
            p95: over(|round| round.p95),
            p99: over(|round| round.p99),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadgen_measure::{Latencies, Summary};

    /// Returns rounds with these p50 and p99.
    fn rounds<const N: usize>(latencies: [(u64, Option<u64>); N]) -> [RoundRecord; N] {
        let mut number = 0;
        latencies.map(|(p50, p99)| {
            number += 1;
            let empty = LatencySummary::from(&Latencies::default());
            let latency_us = LatencySummary { p50: Some(p50), p99, ..empty };
            let total = Summary { latency_us, ..Summary::default() };
            RoundRecord { round: number, whole: true, total, ..RoundRecord::default() }
        })
    }

    #[test]
    fn a_percentile_of_every_round_has_students_interval() {
        let mut rounds =
            rounds([(1_000, Some(9_000)), (1_020, None), (1_040, Some(9_100)), (5_000, None)]);
        rounds[3].whole = false;
        let over = LatencyOverRounds::of(&rounds);
        // x = np.log([1000, 1020, 1040]); h = stats.t.ppf(0.975, 2) * x.std(ddof=1) / 3 ** 0.5
        // np.exp([x.mean(), x.mean() - h, x.mean() + h])
        let p50 = over.p50.unwrap();
        for (measured, expected) in
            [p50.mean, p50.confidence_95[0], p50.confidence_95[1]].into_iter().zip(EXPECTED)
        {
            assert!((measured - expected).abs() < 1e-6, "{p50:?}");
        }
        assert_eq!((over.p90, over.p99), (None, None));
    }

    const EXPECTED: [f64; 3] = [1019.8692642897753, 971.3764818107323, 1070.7828897649101];

    #[test]
    fn one_round_or_none_gives_no_interval() {
        let one = rounds([(1_000, None)]);
        assert_eq!(LatencyOverRounds::of(&one), LatencyOverRounds::default());
        assert_eq!(LatencyOverRounds::of(&[]), LatencyOverRounds::default());
    }
}
