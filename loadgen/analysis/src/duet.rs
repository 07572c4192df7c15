//! Compares contenders that were loaded two at a time, on the same CPUs.
//!
//! The CPU time of a request is compared always. The requests per second of two contenders are in
//! proportion to the CPU time that the scheduler gave each: they are compared only where both wanted
//! the CPUs all the time, and got the same share.

use std::collections::BTreeMap;

use super::compare::{ByRound, compare_in_stages};
use super::figures::{FAILED, rates, requests_per_cpu_s};
use super::statistics::Sample;
use super::whole_seconds::whole_seconds;
use crate::record::{
    Bottleneck, Comparison, DuetPair, DuetRecord, LoadRecord, NoRates, RoundRecord, TargetRecord,
};

/// Greatest difference of two contenders' CPU times, over all rounds and in one round, with which
/// their rates are compared. Such a difference is part of the ratio of the rates.
const UNEQUAL: f64 = 0.01;
const UNEQUAL_IN_A_ROUND: f64 = 0.05;

/// Compares the first of `targets` with each other one. `stages` has the number of the last round of each
/// stage, if the number of rounds was decided during the measurement. `is_one_server` tells whether all are the
/// same server, whose differences are the noise floor. `None` without two targets.
#[must_use]
pub fn compare_duets(
    targets: &[TargetRecord],
    load: &LoadRecord,
    stages: &[u32],
    is_one_server: bool,
) -> Option<(DuetRecord, Comparison)> {
    let (base, others) = targets.split_first().filter(|(_, others)| !others.is_empty())?;
    let pairs: Vec<DuetPair> = others.iter().map(|other| pair(base, other, load)).collect();
    let compared = pairs.iter().filter(|pair| pair.rates_not_compared.is_none());
    let by_rate: Vec<&str> = compared.map(|pair| pair.other.as_str()).collect();
    let each = |figures: &dyn Fn(&[RoundRecord]) -> ByRound| -> Vec<(String, ByRound)> {
        targets.iter().map(|it| (it.name.clone(), figures(&it.rounds))).collect()
    };
    let comparison = compare_in_stages(&each(&rates), stages)
        .with_cpu(&each(&|rounds| requests_per_cpu_s(rounds, load).unwrap_or_default()))
        .of_duets(&base.name, &by_rate);
    let comparison = if is_one_server { comparison.of_one_server_by_cpu() } else { comparison };
    Some((DuetRecord { base: base.name.clone(), pairs }, comparison))
}

fn pair(base: &TargetRecord, other: &TargetRecord, load: &LoadRecord) -> DuetPair {
    let of_base: BTreeMap<u32, &RoundRecord> =
        base.rounds.iter().filter(|round| round.whole).map(|round| (round.round, round)).collect();
    let whole = other.rounds.iter().filter(|round| round.whole);
    let both: Vec<[&RoundRecord; 2]> =
        whole.filter_map(|round| Some([*of_base.get(&round.round)?, round])).collect();
    let ratios = |figure: fn(&RoundRecord) -> Option<f64>| -> Option<Vec<f64>> {
        both.iter().map(|[one, other]| Some(figure(other)? / figure(one)?)).collect()
    };
    let cpu_times = ratios(|round| Some(round.resources.get("target")?.cpu_s));
    let cpu_time = cpu_times.clone().and_then(Sample::of_figures);
    let rate = ratios(|round| Some(round.total.rate_per_s)).and_then(Sample::of_figures);
    let percent = |deviation: f64| deviation.exp_m1() * 100.0;
    let seconds = Seconds::of(&both, load.ramp_up_s);
    let lacks_cpu = |target: &TargetRecord| {
        Some((target.name.clone(), requests_per_cpu_s(&target.rounds, load).err()?))
    };
    DuetPair {
        other: other.name.clone(),
        cpu_lacking: [base, other].into_iter().filter_map(lacks_cpu).collect(),
        rounds: u32::try_from(both.len()).unwrap_or(u32::MAX),
        cpu_time_ratio: cpu_time.map(|sample| sample.geometric_mean()),
        rates_not_compared: not_compared(&both, cpu_times.as_deref(), load),
        rounds_deviation_percent: rate
            .filter(|sample| sample.rounds > 1)
            .map(|sample| percent(sample.deviation)),
        seconds_deviation_percent: seconds.map(|it| percent(it.deviation)),
        seconds_autocorrelation: seconds.map(|it| it.autocorrelation),
    }
}

/// Returns the reason why the rates in these rounds of two contenders are not compared, if any.
/// `cpu_times` are the ratios of their CPU times, one for each round; `None` if unknown.
fn not_compared(
    both: &[[&RoundRecord; 2]],
    cpu_times: Option<&[f64]>,
    load: &LoadRecord,
) -> Option<NoRates> {
    let all = || both.iter().flatten();
    let differs = |ratio: f64, by: f64| ratio.ln().abs() > by;
    if both.is_empty() {
        return Some(NoRates::NoWholeRound);
    }
    if load.rate_per_s.is_some() {
        return Some(NoRates::OpenModel);
    }
    if all().any(|round| round.total.error_rate_with_in_flight() > FAILED) {
        return Some(NoRates::TooManyErrors);
    }
    if !all().all(|round| round.bottleneck == Some(Bottleneck::Target)) {
        return Some(NoRates::Unsaturated);
    }
    let Some(cpu_times) = cpu_times else { return Some(NoRates::UnequalShares) };
    let sample = Sample::of_figures(cpu_times.iter().copied());
    let unequal = sample.is_none_or(|sample| differs(sample.geometric_mean(), UNEQUAL));
    let any = cpu_times.iter().any(|ratio| differs(*ratio, UNEQUAL_IN_A_ROUND));
    (unequal || any).then_some(NoRates::UnequalShares)
}

/// How the ratio of two contenders' rates varies from second to second of a round.
#[derive(Debug, Clone, Copy)]
struct Seconds {
    /// Standard deviation of the logarithms within a round.
    deviation: f64,
    /// Correlation of neighbouring seconds.
    autocorrelation: f64,
}

impl Seconds {
    /// Returns the variation over the whole seconds of the hold, which begins `ramp_up_s` seconds
    /// after the warm-up; `None` for fewer than two whole seconds in each round, or for a second
    /// without an answer.
    fn of(both: &[[&RoundRecord; 2]], ramp_up_s: f64) -> Option<Self> {
        let (mut squares, mut products, mut freedom) = (0.0, 0.0, 0_usize);
        for [one, other] in both {
            let seconds = whole_seconds(ramp_up_s, one.held_s);
            let answered = |round: &RoundRecord, second: usize| {
                let found = round.seconds.iter().find(|it| it.second as usize == second);
                found.map_or(0.0, |it| it.answered as f64)
            };
            let logarithms: Vec<f64> = seconds
                .map(|second| (answered(other, second) / answered(one, second)).ln())
                .collect();
            let mean = Sample::of(&logarithms)?.mean;
            let distances: Vec<f64> = logarithms.iter().map(|value| value - mean).collect();
            squares += distances.iter().map(|it| it * it).sum::<f64>();
            products += distances.windows(2).map(|two| two[0] * two[1]).sum::<f64>();
            freedom += distances.len().saturating_sub(1);
        }
        (freedom > 0 && squares > 0.0).then(|| Self {
            deviation: (squares / freedom as f64).sqrt(),
            autocorrelation: products / squares,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadgen_measure::{ResourceRecord, SecondRecord, Summary};

    /// Returns a contender whose rounds have these answers in each second, and this CPU time in s.
    fn target(name: &str, rounds: &[(&[u64], f64)]) -> TargetRecord {
        let second = |(second, answered): (u32, &u64)| SecondRecord {
            second,
            answered: *answered,
            ..SecondRecord::default()
        };
        let round = |(number, (answered, cpu_s)): (u32, &(&[u64], f64))| {
            let requests: u64 = answered.iter().sum();
            let held_s = answered.len() as f64;
            let rate_per_s = requests as f64 / held_s;
            let used = ResourceRecord { cpu_s: *cpu_s, ..ResourceRecord::default() };
            RoundRecord {
                round: number,
                whole: true,
                held_s,
                total: Summary { requests, rate_per_s, ..Summary::default() },
                seconds: (0..).zip(*answered).map(second).collect(),
                resources: [("target".to_owned(), used.over(requests))].into(),
                bottleneck: Some(Bottleneck::Target),
                ..RoundRecord::default()
            }
        };
        let rounds = (1..).zip(rounds).map(round).collect();
        TargetRecord { name: name.to_owned(), rounds, ..TargetRecord::default() }
    }

    /// Returns a pair of contenders in five rounds, in which the machine's speed varies: the second
    /// contender serves `gain` times the requests of the first, with `share` times its CPU time.
    fn two(gain: f64, share: f64) -> [TargetRecord; 2] {
        let speeds: [[u64; 3]; 5] =
            [[100, 120, 90], [50, 60, 55], [100, 40, 110], [99, 101, 97], [30, 90, 60]];
        let noise = [1.0, 1.001, 0.999, 1.002, 0.998];
        let of = |gain: f64| -> Vec<Vec<u64>> {
            let scaled = |(speed, noise): (&[u64; 3], f64)| {
                speed.iter().map(|it| (*it as f64 * 1e4 * gain * noise) as u64).collect()
            };
            speeds.iter().zip(noise).map(|(speed, noise)| scaled((speed, noise))).collect()
        };
        let steady: Vec<Vec<u64>> =
            speeds.iter().map(|speed| speed.iter().map(|it| it * 10_000).collect()).collect();
        let with = |all: &[Vec<u64>], name, cpu_s| {
            let rounds: Vec<(&[u64], f64)> = all.iter().map(|it| (it.as_slice(), cpu_s)).collect();
            target(name, &rounds)
        };
        [with(&steady, "old", 1.5), with(&of(gain), "new", 1.5 * share)]
    }

    fn compared(targets: &[TargetRecord], load: &LoadRecord) -> (DuetPair, Comparison) {
        let (duet, comparison) = compare_duets(targets, load, &[], false).unwrap();
        assert_eq!((duet.base.as_str(), duet.pairs.len()), (targets[0].name.as_str(), 1));
        (duet.pairs[0].clone(), comparison)
    }

    #[test]
    fn noise_that_both_share_hides_no_difference() {
        let (pair, comparison) = compared(&two(1.02, 1.0), &LoadRecord::default());
        assert_eq!(pair.rates_not_compared, None);
        let [by_rate, by_cpu] = [&comparison.pairs, &comparison.cpu_pairs].map(|pairs| &pairs[0]);
        for pair in [by_rate, by_cpu] {
            assert!(pair.shown && pair.better == "new", "{pair:?}");
            assert!((pair.ratio.unwrap() - 1.02).abs() < 1e-3, "{pair:?}");
        }
        assert_eq!(comparison.ranking[0].target, "new");
        assert!(pair.rounds_deviation_percent.unwrap() < 0.2, "{pair:?}");
        assert!(pair.seconds_deviation_percent.unwrap() < 0.01, "{pair:?}");
    }

    #[test]
    fn rates_are_not_compared_unless_both_got_the_same_cpu_time() {
        let (pair, comparison) = compared(&two(1.05, 1.05), &LoadRecord::default());
        assert_eq!(pair.rates_not_compared, Some(NoRates::UnequalShares));
        assert!((pair.cpu_time_ratio.unwrap() - 1.05).abs() < 1e-9);
        assert!(comparison.pairs.is_empty() && comparison.ranking.is_empty());
        assert!(!comparison.cpu_pairs[0].shown, "each request took the same CPU time");
        let mut idle = two(1.05, 1.0);
        idle[1].rounds[3].bottleneck = Some(Bottleneck::Nobody);
        let (pair, _) = compared(&idle, &LoadRecord::default());
        assert_eq!(pair.rates_not_compared, Some(NoRates::Unsaturated));
        let mut short = two(1.05, 1.0);
        short[0].rounds.iter_mut().for_each(|round| round.whole = false);
        let (pair, _) = compared(&short, &LoadRecord::default());
        assert_eq!((pair.rounds, pair.rates_not_compared), (0, Some(NoRates::NoWholeRound)));
        let open = LoadRecord { rate_per_s: Some(10.0), ..LoadRecord::default() };
        let (pair, _) = compared(&two(1.05, 1.0), &open);
        assert_eq!(pair.rates_not_compared, Some(NoRates::OpenModel));
    }

    #[test]
    fn several_contenders_are_each_compared_with_the_first() {
        let [old, mut new] = two(1.02, 1.0);
        let [_, mut newer] = two(1.1, 1.0);
        // The base has a round with each of the others.
        let (mut old, mut again) = (old.clone(), old);
        for (index, round) in again.rounds.iter_mut().enumerate() {
            old.rounds[index].round = 2 * index as u32 + 1;
            new.rounds[index].round = 2 * index as u32 + 1;
            round.round = 2 * index as u32 + 2;
            newer.rounds[index].round = 2 * index as u32 + 2;
        }
        old.rounds.append(&mut again.rounds);
        newer.name = "newer".to_owned();
        let (duet, comparison) =
            compare_duets(&[old, new, newer], &LoadRecord::default(), &[], false).unwrap();
        assert_eq!(duet.pairs.iter().map(|pair| pair.rounds).collect::<Vec<_>>(), [5, 5]);
        let names = |pairs: &[crate::record::Pair]| -> Vec<String> {
            let mut names: Vec<String> =
                pairs.iter().map(|pair| format!("{} {}", pair.better, pair.worse)).collect();
            names.sort();
            names
        };
        assert_eq!(names(&comparison.pairs), ["new old", "newer old"]);
        assert_eq!(names(&comparison.cpu_pairs), ["new old", "newer old"]);
        assert_eq!((comparison.ranking.len(), comparison.unranked.len()), (0, 3));
    }

    #[test]
    fn seconds_that_alternate_are_negatively_correlated() {
        let (one, other): (&[u64], &[u64]) = (&[100; 6], &[110, 90, 110, 90, 110, 90]);
        let targets = [target("a", &[(one, 1.0); 5]), target("b", &[(other, 1.0); 5])];
        let (pair, _) = compared(&targets, &LoadRecord::default());
        // x = np.log([1.1, .9] * 3); d = x - x.mean()
        // np.expm1(x.std(ddof=1)), (d[1:] * d[:-1]).sum() / (d * d).sum()
        assert!((pair.seconds_deviation_percent.unwrap() - 11.61797).abs() < 1e-3, "{pair:?}");
        assert!((pair.seconds_autocorrelation.unwrap() + 5.0 / 6.0).abs() < 1e-9, "{pair:?}");
        assert_eq!(pair.rounds_deviation_percent.map(|it| it < 1e-9), Some(true));
        let one: &[u64] = &[100];
        let single = [target("a", &[(one, 1.0); 5]), target("b", &[(one, 1.0); 5])];
        assert_eq!(compared(&single, &LoadRecord::default()).0.seconds_deviation_percent, None);
    }
}
