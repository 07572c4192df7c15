//! Computes the mean of figures over rounds, and its confidence interval.

use super::starts::{by_start, starts};
use super::statistics::{OVER_STARTS, Sample, mean_95, wilson_95};
use crate::record::{LatencyOverRounds, OverRounds, RoundRecord, ShareOverRounds, StepOverRounds};
use loadgen_measure::{LatencySummary, Summary};

impl OverRounds {
    /// Returns the geometric mean of the figures of several rounds, with its 95 % confidence
    /// interval; `None` for fewer than two figures, or if a figure is 0. `one_start` tells whether the rounds
    /// share one start of the server.
    #[must_use]
    pub fn of(figures: impl IntoIterator<Item = f64>, one_start: bool) -> Option<Self> {
        let sample = Sample::of_figures(figures)?;
        let sample = if one_start { sample.within_one_start(OVER_STARTS) } else { sample };
        let confidence_95 = sample.geometric_95()?;
        Some(Self { mean: sample.geometric_mean(), confidence_95 })
    }
}

impl LatencyOverRounds {
    /// Returns the mean and the confidence interval of each latency percentile of a summary of the rounds,
    /// over those of these rounds that ran as planned: other rounds do not show how much rounds
    /// differ. With slices, over starts.
    fn of(
        rounds: &[RoundRecord],
        one_start: bool,
        summary: impl Fn(&RoundRecord) -> &Summary,
    ) -> Self {
        let over = |percentile: fn(&LatencySummary) -> Option<u64>| {
            let us = |round: &RoundRecord| Some(percentile(&summary(round).latency_us)? as f64);
            OverRounds::of(by_start(rounds, us)?.into_values(), one_start)
        };
        Self {
            p50: over(|round| round.p50),
            p90: over(|round| round.p90),
            p95: over(|round| round.p95),
            p99: over(|round| round.p99),
        }
    }
}

impl StepOverRounds {
    /// Returns the figures of a summary of the rounds, over those that ran as planned. With slices, over
    /// starts. `one_start` tells whether the rounds share one start of the server.
    #[must_use]
    pub fn of(
        rounds: &[RoundRecord],
        one_start: bool,
        summary: impl Fn(&RoundRecord) -> &Summary,
    ) -> Self {
        let rates = by_start(rounds, |round| Some(summary(round).rate_per_s));
        Self {
            rate_per_s: rates.and_then(|rates| OverRounds::of(rates.into_values(), one_start)),
            latency_us: LatencyOverRounds::of(rounds, one_start, &summary),
            failed_percent: failed(rounds, &summary),
        }
    }
}

/// Returns the share of failed requests over the rounds that ran as planned, in %. An interval over rounds
/// alone would have no width where no round has a failure, and one over requests would miss that failures
/// come together.
fn failed(
    rounds: &[RoundRecord],
    summary: impl Fn(&RoundRecord) -> &Summary,
) -> Option<ShareOverRounds> {
    let of_start = |rounds: Vec<&RoundRecord>| {
        rounds.into_iter().map(&summary).fold((0.0, 0.0), |(failed, all), summary| {
            let requests = summary.requests_with_in_flight();
            (failed + requests * summary.error_rate_with_in_flight(), all + requests)
        })
    };
    let starts: Vec<(f64, f64)> = starts(rounds).into_values().map(of_start).collect();
    let sum = |part: fn(&(f64, f64)) -> f64| starts.iter().map(part).sum::<f64>();
    let (failed, all) = (sum(|start| start.0), sum(|start| start.1));
    let shares: Vec<f64> = starts.iter().map(|(failed, all)| failed / all.max(1.0)).collect();
    let [over_rounds, over_requests] = [mean_95(&shares)?, wilson_95(failed, all)?];
    let share = failed / all;
    let low = over_rounds[0].min(over_requests[0]).clamp(0.0, share);
    let high = over_rounds[1].max(over_requests[1]).clamp(share, 1.0);
    Some(ShareOverRounds { share: 100.0 * share, confidence_95: [100.0 * low, 100.0 * high] })
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
        let over = LatencyOverRounds::of(&rounds, false, |round| &round.total);
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
        assert_eq!(
            LatencyOverRounds::of(&one, false, |round| &round.total),
            LatencyOverRounds::default()
        );
        assert_eq!(
            LatencyOverRounds::of(&[], false, |round| &round.total),
            LatencyOverRounds::default()
        );
    }

    /// Returns rounds with these numbers of failed requests and of all requests.
    fn failing<const N: usize>(counts: [(u64, u64); N]) -> [RoundRecord; N] {
        let mut rounds = rounds([(1_000, None); N]);
        for (round, (errors, requests)) in rounds.iter_mut().zip(counts) {
            (round.total.errors, round.total.requests) = (errors, requests);
        }
        rounds
    }

    #[test]
    fn a_share_without_failures_has_an_upper_bound() {
        let failed = failed(&failing([(0, 400), (0, 500)]), |round| &round.total).unwrap();
        assert_eq!((failed.share, failed.confidence_95[0]), (0.0, 0.0));
        // z = stats.norm.ppf(0.975); 100 * z * z / (900 + z * z)
        assert!((failed.confidence_95[1] - 0.425_014_7).abs() < 1e-6, "{failed:?}");
    }

    #[test]
    fn failures_that_come_together_widen_the_interval_of_their_share() {
        let share = |counts| failed(&failing(counts), |round| &round.total).unwrap();
        let (even, uneven) =
            (share([(100, 1_000), (100, 1_000)]), share([(0, 1_000), (200, 1_000)]));
        assert_eq!((even.share, uneven.share), (10.0, 10.0));
        assert_eq!(uneven.confidence_95, [0.0, 100.0]);
        assert!(even.confidence_95[0] > 8.0 && even.confidence_95[1] < 12.0, "{even:?}");
    }

    #[test]
    fn a_share_needs_two_rounds_and_a_request() {
        for rounds in [failing([(0, 9)]).to_vec(), failing([(0, 0), (0, 0)]).to_vec()] {
            assert_eq!(failed(&rounds, |round| &round.total), None);
        }
        assert_eq!(StepOverRounds::of(&[], false, |round| &round.total), StepOverRounds::default());
    }
}
