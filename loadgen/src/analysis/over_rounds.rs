//! Computes the mean of each latency percentile over rounds, and its confidence interval.

use crate::record::{LatencyOverRounds, OverRounds};

use crate::analysis::statistics::Sample;
use crate::measure::LatencySummary;

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
    /// Returns the mean and the confidence interval of each latency percentile over these rounds.
    #[must_use]
    pub fn of(rounds: &[&LatencySummary]) -> Self {
        let over = |percentile: fn(&LatencySummary) -> Option<u64>| {
            let values: Option<Vec<u64>> = rounds.iter().map(|round| percentile(round)).collect();
            OverRounds::of(values?.into_iter().map(|us| us as f64))
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
    use crate::measure::Latencies;

    fn round(p50: u64, p99: Option<u64>) -> LatencySummary {
        let empty = LatencySummary::from(&Latencies::default());
        LatencySummary { p50: Some(p50), p99, ..empty }
    }

    #[test]
    fn a_percentile_of_every_round_has_students_interval() {
        let rounds = [round(1_000, Some(9_000)), round(1_020, None), round(1_040, Some(9_100))];
        let over = LatencyOverRounds::of(&rounds.each_ref());
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
        assert_eq!(LatencyOverRounds::of(&[&round(1_000, None)]), LatencyOverRounds::default());
        assert_eq!(LatencyOverRounds::of(&[]), LatencyOverRounds::default());
    }
}
