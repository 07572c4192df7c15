//! Estimates how much the ratios of targets vary within starts, and from start to start.
//!
//! Kalibera and Jones ("Rigorous Benchmarking in Reasonable Time", 2013, section 6) estimate the variance
//! at each level of repetition: the variance of the means of starts has a part that comes from the
//! slices of a start, and a part that is the starts' own. More slices reduce only the first part.

use std::collections::BTreeMap;

use statrs::distribution::{ContinuousCDF, FisherSnedecor};

use super::starts::starts;
use super::statistics::{LEVEL, Sample};
use crate::record::{
    Comparison, FEWEST_ROUNDS, LoadRecord, Pair, RoundRecord, SlicesPair, SlicesRecord,
    TargetRecord,
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

/// Level of repetition that causes most of the variance over starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MostVariance {
    /// The variation within starts explains more than half of the variance.
    Slices,
    /// More than half of the variance is the starts' own.
    Starts,
}

/// Returns the level that is shown to cause most of the variance over starts of a pair with this number of
/// slices in each start. `None` if neither is shown, and with fewer than five starts.
///
/// The slices' part is half if the variance over starts is twice the variance within starts over the number
/// of slices. The quotient of both estimates, over the true quotient, has an F distribution for normally
/// distributed logarithms: the interval of 95 % of the true quotient must exclude two.
#[must_use]
pub fn most_variance(pair: &SlicesPair, slices: u32) -> Option<MostVariance> {
    if pair.starts < FEWEST_ROUNDS {
        return None;
    }
    let variance = |percent: f64| (percent / 100.0).ln_1p().powi(2);
    let between = variance(pair.starts_deviation_percent?);
    let within = variance(pair.slices_deviation_percent) / f64::from(slices);
    // No variation at all has no quotient.
    let quotient = Some(between / within).filter(|quotient| !quotient.is_nan())?;
    let [of_starts, of_slices] = [pair.starts - 1, pair.starts * slices.saturating_sub(1)];
    let f = FisherSnedecor::new(f64::from(of_starts), f64::from(of_slices)).ok()?;
    match quotient / 2.0 {
        half if f.sf(half) < LEVEL / 2.0 => Some(MostVariance::Starts),
        half if f.cdf(half) < LEVEL / 2.0 => Some(MostVariance::Slices),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::compare;
    use crate::record::SliceRecord;
    use crate::statistics::simulations::{Machine, REAL};
    use loadgen_measure::{LatencySummary, Summary};

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

    /// The quantiles are those of tables of F(4, 10): 0.025 and 0.975 of it are below 0.1131 and 4.468.
    #[test]
    fn the_level_with_most_variance_must_be_shown() {
        let pair = |starts: u32, quotient: f64| SlicesPair {
            targets: ["a".to_owned(), "b".to_owned()],
            starts,
            slices_deviation_percent: f64::exp_m1(0.03) * 100.0,
            starts_deviation_percent: Some((0.03 * (quotient / 3.0).sqrt()).exp_m1() * 100.0),
            starts_own_percent: None,
        };
        let of = |quotient: f64| most_variance(&pair(5, quotient), 3);
        assert_eq!([of(2.0 * 4.46), of(2.0 * 4.48)], [None, Some(MostVariance::Starts)]);
        assert_eq!([of(2.0 * 0.112), of(2.0 * 0.114)], [Some(MostVariance::Slices), None]);
        assert_eq!(of(f64::INFINITY), Some(MostVariance::Starts), "equal slices");
        assert_eq!(most_variance(&pair(4, 1e9), 3), None, "four starts");
        let mut equal = pair(5, 0.0);
        equal.slices_deviation_percent = 0.0;
        assert_eq!(most_variance(&equal, 3), None, "no variation");
    }

    /// Returns the shares of 1,000 simulated pairs, of five starts of three slices each, that name slices
    /// and starts. `own` is the starts' standard deviation over that of the slices.
    fn simulated(own: f64) -> [f64; 2] {
        let mut machine = Machine::new(1, REAL);
        let mut start = || {
            let own = own * machine.normal();
            [0; 3].map(|_| 100.0 * (0.03 * (own + machine.normal())).exp())
        };
        let named: Vec<_> = (0..1_000)
            .map(|_| {
                let starts: Vec<[f64; 3]> = (0..5).map(|_| start()).collect();
                most_variance(&of(&sliced(), &starts).unwrap().pairs[0], 3)
            })
            .collect();
        let share = |level| named.iter().filter(|it| **it == Some(level)).count() as f64 / 1e3;
        [share(MostVariance::Slices), share(MostVariance::Starts)]
    }

    #[test]
    fn the_wrong_level_is_named_in_few_runs() {
        let [slices, starts] = simulated((1.0_f64 / 3.0).sqrt());
        assert!(slices < 0.04 && starts < 0.04, "both cause half: {slices} {starts}");
        let [_, starts] = simulated(0.0);
        assert!(starts < 0.01, "{starts}");
        let [slices, starts] = simulated(3.0);
        assert!(slices < 0.01 && starts > 0.5, "{slices} {starts}");
    }
}
