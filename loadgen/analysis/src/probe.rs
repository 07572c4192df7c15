//! Compares the latencies of the load with those of the probe, which measures beside it.

use std::collections::BTreeMap;

use super::statistics::{Family, Sample, holm};
use crate::record::{FEWEST_ROUNDS, Percentile, ProbeRatio, RoundRecord};
use loadgen_measure::{LatencySummary, Summary};

/// Returns the ratio of each latency percentile of the load to that of the probe, paired by round, for
/// the percentiles that both have in each whole round (a round that ran as planned). Empty without a
/// probe.
#[must_use]
pub fn probe_ratios(rounds: &[RoundRecord]) -> BTreeMap<Percentile, ProbeRatio> {
    let samples: Vec<(Percentile, Sample)> = Percentile::ALL
        .into_iter()
        .filter_map(|percentile| Some((percentile, sample(rounds, percentile)?)))
        .collect();
    let is_enough = |sample: &Sample| sample.rounds >= FEWEST_ROUNDS;
    let p_values = samples.iter().map(|(_, sample)| sample.p_value().filter(|_| is_enough(sample)));
    let p_values: Option<Vec<f64>> = p_values.collect();
    let adjusted = p_values.map(|all| holm(&[Family::of(all)]).concat().concat());
    let ratio = |(index, (percentile, sample)): (usize, (Percentile, Sample))| {
        let ratio = ProbeRatio {
            ratio: sample.geometric_mean(),
            confidence_95: sample.geometric_95(),
            p_holm: adjusted.as_ref().and_then(|all| all.get(index).copied()),
        };
        (percentile, ratio)
    };
    samples.into_iter().enumerate().map(ratio).collect()
}

/// Returns the logarithms of the ratios of all whole rounds; `None` without whole rounds, or if one has
/// no probe, or too few samples for the percentile.
fn sample(rounds: &[RoundRecord], percentile: Percentile) -> Option<Sample> {
    over_rounds(rounds, |load, probe| {
        Some(us(percentile, &load.latency_us)? / us(percentile, &probe.latency_us)?)
    })
}

/// Returns the sample of a figure of the load and the probe in each whole round; `None` without whole
/// rounds, or if one has no such figure.
pub(super) fn over_rounds(
    rounds: &[RoundRecord],
    figure: impl Fn(&Summary, &Summary) -> Option<f64>,
) -> Option<Sample> {
    let whole = rounds.iter().filter(|round| round.whole);
    let figures = whole.map(|round| figure(&round.total, round.probe.as_ref()?));
    Sample::of_figures(figures.collect::<Option<Vec<f64>>>()?)
}

/// Returns a percentile of a distribution, in µs; `None` if too few samples support it.
pub(super) fn us(percentile: Percentile, latency: &LatencySummary) -> Option<f64> {
    percentile.of(latency).map(|us| us as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(load: [u64; 2], probe: Option<[u64; 2]>) -> RoundRecord {
        let of = |[p50, p99]: [u64; 2]| {
            let p99 = (p99 > 0).then_some(p99);
            let latency_us = LatencySummary { p50: Some(p50), p99, ..LatencySummary::default() };
            Summary { latency_us, ..Summary::default() }
        };
        RoundRecord { whole: true, total: of(load), probe: probe.map(of), ..RoundRecord::default() }
    }

    #[test]
    fn ratios_are_paired_by_round() {
        // Both latencies of the second round are twice those of the first.
        let rounds = [
            round([1_000, 9_000], Some([2_000, 3_000])),
            round([2_000, 18_000], Some([4_000, 6_000])),
        ];
        let ratios = probe_ratios(&rounds);
        assert_eq!(ratios.keys().copied().collect::<Vec<_>>(), [Percentile::P50, Percentile::P99]);
        let p50 = ratios[&Percentile::P50];
        assert!((p50.ratio - 0.5).abs() < 1e-9, "{p50:?}");
        let [low, high] = p50.confidence_95.unwrap();
        assert!((high - low).abs() < 1e-9, "the rounds agree: {p50:?}");
        assert_eq!(p50.p_holm, None, "two rounds are too few to claim a difference");
        assert!((ratios[&Percentile::P99].ratio - 3.0).abs() < 1e-9);
    }

    const EXPECTED: [f64; 4] = [1.097_721_611, 1.003_763_037, 1.200_475_301, 0.044_429_458];

    // r = scipy.stats.ttest_1samp(np.log([1.0, 1.1, 1.2, 1.05, 1.15]), 0)
    // np.exp(np.mean(...)), np.exp(r.confidence_interval(0.95)), r.pvalue
    #[test]
    fn five_rounds_have_students_interval_and_holms_p_values() {
        let load = [1_000, 1_100, 1_200, 1_050, 1_150];
        let rounds = load.map(|p50| round([p50, 2 * p50], Some([1_000, 2_000])));
        let ratios = probe_ratios(&rounds);
        for percentile in [Percentile::P50, Percentile::P99] {
            let ProbeRatio { ratio, confidence_95, p_holm } = ratios[&percentile];
            let [low, high] = confidence_95.unwrap();
            // Two equal p-values: each is multiplied by two.
            let measured = [ratio, low, high, p_holm.unwrap() / 2.0];
            for (measured, expected) in measured.into_iter().zip(EXPECTED) {
                assert!((measured - expected).abs() < 1e-6, "{measured} is not {expected}");
            }
        }
    }

    #[test]
    fn a_round_without_a_figure_gives_no_ratio() {
        let whole = round([1_000, 0], Some([1_000, 5_000]));
        let ratios = probe_ratios(&[whole.clone(), whole.clone()]);
        assert_eq!(ratios.len(), 1, "the load has no p99");
        let none = round([1_000, 0], None);
        assert!(probe_ratios(&[whole.clone(), none.clone()]).is_empty());
        assert!(probe_ratios(std::slice::from_ref(&none)).is_empty());
        let cut = RoundRecord { whole: false, ..none };
        assert_eq!(probe_ratios(&[whole, cut]).len(), 1, "rounds that were cut do not count");
        assert!(probe_ratios(&[]).is_empty());
    }
}
