//! Estimates how much the ratios of targets vary within starts, and from start to start.
//!
//! Kalibera and Jones ("Rigorous Benchmarking in Reasonable Time", 2013, section 6) estimate the variance
//! at each level of repetition: the variance of the means of starts has a part that comes from the
//! slices of a start, and a part that is the starts' own. More slices reduce only the first part.

use std::collections::BTreeMap;

use super::starts::starts;
use super::statistics::Sample;
use crate::record::{
    Comparison, LoadRecord, Pair, RoundRecord, SlicesPair, SlicesRecord, TargetRecord,
};

/// Returns the variation of the ratio of each compared pair of targets: of their rates, or in the open
/// model of their median latencies. `None` without slices, or if no pair has a ratio.
#[must_use]
pub fn variation(
    targets: &[TargetRecord],
    load: &LoadRecord,
    comparison: &Comparison,
) -> Option<SlicesRecord> {
    load.slices?;
    let figure = |round: &RoundRecord| match load.rate_per_s {
        None => Some(round.total.rate_per_s),
        Some(_) => round.total.latency_us.p50.map(|us| us as f64),
    };
    let of = |pair: &Pair| {
        let target = |name: &str| targets.iter().find(|target| target.name == name);
        let two = [target(&pair.better)?, target(&pair.worse)?];
        of_pair(two, &figure)
    };
    let pairs: Vec<SlicesPair> = comparison.pairs.iter().filter_map(of).collect();
    (!pairs.is_empty()).then_some(SlicesRecord { pairs })
}

fn of_pair(
    two: [&TargetRecord; 2],
    figure: &dyn Fn(&RoundRecord) -> Option<f64>,
) -> Option<SlicesPair> {
    let [one, other] = two.map(|target| starts(&target.rounds));
    let logarithm = |[one, other]: [&RoundRecord; 2]| Some((figure(one)? / figure(other)?).ln());
    let of_start = |(start, slices): (&u32, &Vec<&RoundRecord>)| {
        let others: BTreeMap<u32, &RoundRecord> =
            other.get(start)?.iter().map(|round| (round.round, *round)).collect();
        let both = slices.iter().map(|slice| logarithm([*slice, *others.get(&slice.round)?]));
        Sample::of(&both.collect::<Option<Vec<f64>>>()?)
    };
    let samples: Vec<Sample> = one.iter().filter_map(of_start).collect();
    let freedom: f64 = samples.iter().map(|sample| sample.freedom).sum();
    let squares = samples.iter().map(|sample| sample.deviation.powi(2) * sample.freedom);
    let within = (freedom > 0.0).then(|| squares.sum::<f64>() / freedom)?;
    let means: Vec<f64> = samples.iter().map(|sample| sample.mean).collect();
    let between = Sample::of(&means).filter(|sample| sample.rounds > 1);
    let between = between.map(|sample| sample.deviation.powi(2));
    let slices = f64::from(samples.first()?.rounds);
    let own = |between: f64| match between {
        0.0 => 0.0,
        _ => (1.0 - within / slices / between).max(0.0) * 100.0,
    };
    let percent = |variance: f64| variance.sqrt().exp_m1() * 100.0;
    Some(SlicesPair {
        targets: two.map(|target| target.name.clone()),
        starts: u32::try_from(samples.len()).unwrap_or(u32::MAX),
        slices_deviation_percent: percent(within),
        starts_deviation_percent: between.map(percent),
        starts_own_percent: between.map(own),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::compare::compare;
    use crate::measure::{LatencySummary, Summary};
    use crate::record::SliceRecord;

    /// Returns a target whose slices have these rates, by start, and medians of 1 s over the rate.
    fn target(name: &str, starts: &[[f64; 3]]) -> TargetRecord {
        let mut rounds = Vec::new();
        for (start, slices) in (1..).zip(starts) {
            for (number, rate) in (1..).zip(slices) {
                let latency_us =
                    LatencySummary { p50: Some((1e6 / rate) as u64), ..LatencySummary::default() };
                rounds.push(RoundRecord {
                    round: (start - 1) * 3 + number,
                    slice: Some(SliceRecord { start, number, of: 3 }),
                    whole: true,
                    total: Summary { rate_per_s: *rate, latency_us, ..Summary::default() },
                    ..RoundRecord::default()
                });
            }
        }
        TargetRecord { name: name.to_owned(), rounds, ..TargetRecord::default() }
    }

    fn of(load: &LoadRecord, starts: &[[f64; 3]]) -> Option<SlicesRecord> {
        let level = vec![[100.0; 3]; starts.len()];
        let rates = |starts: &[[f64; 3]]| {
            (1..).zip(starts).map(|(start, slices)| (start, slices[0])).collect()
        };
        let comparison =
            compare(&[("a".to_owned(), rates(starts)), ("b".to_owned(), rates(&level))]);
        variation(&[target("a", starts), target("b", &level)], load, &comparison)
    }

    fn sliced() -> LoadRecord {
        LoadRecord { slices: Some(3), ..LoadRecord::default() }
    }

    #[track_caller]
    fn assert_close(measured: f64, expected: f64) {
        assert!((measured / expected - 1.0).abs() < 1e-9, "{measured} is not {expected}");
    }

    #[test]
    fn the_variance_over_starts_has_a_part_of_the_slices_and_one_of_the_starts() {
        // x = np.log([[102, 98, 101], [103, 99, 100]]) - np.log(100); w = x.var(axis=1, ddof=1).mean()
        // b = x.mean(axis=1).var(ddof=1); 100 * np.expm1([w ** .5, b ** .5]), 100 * (1 - w / 3 / b)
        let all = of(&sliced(), &[[102.0, 98.0, 101.0], [103.0, 99.0, 100.0]]).unwrap();
        let pair = &all.pairs[0];
        assert_eq!((pair.targets.concat(), pair.starts), ("ab".to_owned(), 2));
        assert_close(pair.slices_deviation_percent, 2.093_306_009_062_709_4);
        assert_close(pair.starts_deviation_percent.unwrap(), 0.234_993_068_525_206_43);
        assert_eq!(pair.starts_own_percent, Some(0.0), "the slices explain more than all");
        // The same slices in starts that differ by 10 %.
        let all = of(&sliced(), &[[102.0, 98.0, 101.0], [113.3, 108.9, 110.0]]).unwrap();
        let pair = &all.pairs[0];
        assert_close(pair.slices_deviation_percent, 2.093_306_009_062_709_4);
        assert_close(pair.starts_own_percent.unwrap(), 97.058_648_213_488_4);
    }
    #[test]
    fn the_open_model_compares_medians() {
        let open = LoadRecord { rate_per_s: Some(10.0), ..sliced() };
        let starts = [[102.0, 98.0, 101.0], [103.0, 99.0, 100.0]];
        let [by_rate, by_median] =
            [&sliced(), &open].map(|load| of(load, &starts).unwrap().pairs[0].clone());
        assert_ne!(by_rate, by_median, "medians are whole µs");
        let off = by_rate.slices_deviation_percent / by_median.slices_deviation_percent;
        assert!((off - 1.0).abs() < 0.01, "{off}");
    }

    #[test]
    fn without_slices_nothing_is_said() {
        let starts = [[102.0, 98.0, 101.0], [103.0, 99.0, 100.0]];
        assert_eq!(of(&LoadRecord::default(), &starts), None);
        let one = of(&sliced(), &starts[..1]).unwrap().pairs[0].clone();
        assert_eq!((one.starts_deviation_percent, one.starts_own_percent), (None, None));
    }
}
