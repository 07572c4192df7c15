//! Finds the functions by which two targets differ.

use std::collections::{BTreeMap, BTreeSet};

use loadgen_measure::Stacks;

use super::{Shares, parts, shares};
use crate::record::{FunctionDifference, ProfileDifference};
use crate::statistics::{Family, LEVEL, Sample, holm};

/// Least share of the samples of a target, of its own, with which a function is tested. Each further test makes the
/// others less likely to show something.
const LEAST: f64 = 0.005;

/// Least share of the CPU time of both targets that must be in functions that both have: otherwise the targets are two
/// programs, whose functions say nothing about each other.
const LEAST_IN_COMMON: f64 = 0.5;

/// CPU time of one target, and the stacks that tell where it goes.
#[derive(Debug, Clone)]
pub struct Profile<'a> {
    /// Name of the target.
    pub name: &'a str,
    /// Stacks of each profiling round.
    pub stacks: Vec<&'a Stacks>,
    /// CPU time per expected response of each measured round, in µs, by number of the round.
    pub cpu_us: BTreeMap<u32, f64>,
}

/// Returns the functions whose own CPU time per response differs between two targets, by a t-test for each function
/// that has at least 0.5 % of the samples of one of them, and Holm's correction over all. `None` with fewer than two
/// rounds of anything, or if the targets have less than half of their CPU time in the same functions.
///
/// Functions are the same if their names and files are: code that moves within a file is no difference.
#[must_use]
pub fn explain_difference(one: &Profile<'_>, other: &Profile<'_>) -> Option<ProfileDifference> {
    let cost = Cost::of(&one.cpu_us, &other.cpu_us)?;
    let of = [one, other].map(|profile| {
        let stacks = profile.stacks.iter().filter(|round| round.on_cpu() > 0);
        let rounds: Vec<BTreeMap<&str, Shares>> = stacks.map(|round| shares(round)).collect();
        (rounds.len() > 1).then_some(rounds)
    });
    let [Some(one_of), Some(other_of)] = of else { return None };
    let own = |rounds: &[BTreeMap<&str, Shares>], label: &str| -> Vec<f64> {
        rounds.iter().map(|round| round.get(label).map_or(0.0, |shares| shares.own)).collect()
    };
    let mean = |shares: &[f64]| shares.iter().sum::<f64>() / shares.len() as f64;
    let labels: BTreeSet<&str> =
        one_of.iter().chain(&other_of).flat_map(BTreeMap::keys).copied().collect();
    let (mut in_common, mut tested) = ([0.0; 2], Vec::new());
    for label in labels {
        let shares = [own(&one_of, label), own(&other_of, label)];
        let means = [mean(&shares[0]), mean(&shares[1])];
        if means.iter().all(|share| *share > 0.0) {
            in_common = [in_common[0] + means[0], in_common[1] + means[1]];
        }
        if means.iter().any(|share| *share >= LEAST) {
            let [one, other] = [Sample::of(&shares[0])?, Sample::of(&shares[1])?];
            tested.push((label, cost.difference(&one, &other)));
        }
    }
    if in_common.iter().any(|share| *share < LEAST_IN_COMMON) {
        return None;
    }
    let p_values = tested.iter().map(|(_, difference)| difference.p_value().unwrap_or(1.0));
    let adjusted = holm(&[Family::of(p_values)]).into_iter().flatten().flatten();
    let mut functions: Vec<FunctionDifference> = tested
        .iter()
        .zip(adjusted)
        .map(|((label, difference), p)| {
            let (function, file) = parts(label);
            FunctionDifference {
                function: function.to_owned(),
                file: file.to_owned(),
                us_per_request: difference.mean,
                confidence_95: difference.confidence_95().unwrap_or([difference.mean; 2]),
                shown: p < LEVEL,
            }
        })
        .collect();
    let size = |of: &FunctionDifference| (of.shown, of.us_per_request.abs());
    functions.sort_by(|one, other| {
        let ((one_shown, one), (other_shown, other)) = (size(one), size(other));
        other_shown.cmp(&one_shown).then(other.total_cmp(&one))
    });
    let all = Sample { rounds: 1, mean: 1.0, deviation: 0.0, freedom: 1.0 };
    let whole = cost.difference(&all, &all);
    Some(ProfileDifference {
        targets: [one.name.to_owned(), other.name.to_owned()],
        us_per_request: whole.mean,
        confidence_95: whole.confidence_95().unwrap_or([whole.mean; 2]),
        functions,
        file: String::new(),
    })
}

/// CPU time per response of two targets. What slows the machine in a round slows both, so their ratio is known better
/// than the time of either.
struct Cost {
    /// CPU time of the first target, in µs.
    first: Sample,
    /// Logarithm of the ratio of the second target's to the first one's.
    ratio: Sample,
}

impl Cost {
    /// Returns the costs over the rounds that both have; `None` for fewer than two.
    fn of(one: &BTreeMap<u32, f64>, other: &BTreeMap<u32, f64>) -> Option<Self> {
        let pairs: Vec<(f64, f64)> =
            one.iter().filter_map(|(round, us)| Some((*us, *other.get(round)?))).collect();
        let first: Vec<f64> = pairs.iter().map(|(one, _)| *one).collect();
        let ratio: Vec<f64> = pairs.iter().map(|(one, other)| (other / one).ln()).collect();
        (pairs.len() > 1).then_some(Self { first: Sample::of(&first)?, ratio: Sample::of(&ratio)? })
    }

    /// Returns the difference of a function's CPU time, from its shares in both targets: C (R s₂ − s₁), with the time C
    /// of the first target, the ratio R and the shares s. Its variance is that of each of them to first order, with the
    /// degrees of freedom of Welch and Satterthwaite (JCGM 100:2008, 5.1.2 and G.4).
    fn difference(&self, one: &Sample, other: &Sample) -> Sample {
        let (first, ratio) = (self.first.mean, self.ratio.mean.exp());
        let difference = ratio * other.mean - one.mean;
        let parts = [
            (difference, &self.first),
            (first * ratio * other.mean, &self.ratio),
            (first * ratio, other),
            (first, one),
        ]
        .map(|(factor, of)| ((factor * of.deviation).powi(2) / f64::from(of.rounds), of.freedom));
        let variance: f64 = parts.iter().map(|(part, _)| part).sum();
        let freedom = variance.powi(2)
            / parts.iter().map(|(part, freedom)| part.powi(2) / freedom).sum::<f64>();
        let rounds = one.rounds.min(other.rounds);
        Sample {
            rounds,
            mean: first * difference,
            deviation: (variance * f64::from(rounds)).sqrt(),
            // Not a number without any noise.
            freedom: if freedom.is_nan() { self.ratio.freedom } else { freedom },
        }
    }
}

#[cfg(test)]
mod tests {
    use loadgen_measure::{Doing, Process};

    use super::*;

    /// Returns rounds with these numbers of samples of `encode`, of 1,000 each; the rest is `handle`'s.
    fn rounds(encode: &[u64], name: &str) -> Vec<Stacks> {
        let round = |encode: &u64| {
            let mut process = Process::default();
            for (of, samples) in [(name, *encode), ("handle (app.py)", 1_000 - encode)] {
                process.add(format!("main (app.py);{of}"), Doing::OnCpu, samples);
            }
            process.into()
        };
        encode.iter().map(round).collect()
    }

    fn profile<'a>(name: &'a str, stacks: &'a [Stacks], cpu_us: &[f64]) -> Profile<'a> {
        Profile {
            name,
            stacks: stacks.iter().collect(),
            cpu_us: (1..).zip(cpu_us.iter().copied()).collect(),
        }
    }

    const BEFORE: [u64; 5] = [300, 305, 295, 302, 298];
    const AFTER: [u64; 5] = [340, 345, 335, 342, 338];

    #[test]
    fn the_function_that_takes_longer_is_found() {
        let (before, after) =
            (rounds(&BEFORE, "encode (json.py)"), rounds(&AFTER, "encode (json.py)"));
        let before = profile("main", &before, &[500.0, 502.0, 498.0]);
        // 34 % of 530 µs are 180, 30 % of 500 are 150: `handle` keeps its 350.
        let after = profile("HEAD", &after, &[530.0, 532.0, 528.0]);
        let difference = explain_difference(&before, &after).unwrap();
        assert_eq!(difference.targets, ["main", "HEAD"]);
        assert!((difference.us_per_request - 30.0).abs() < 0.1);
        let [encode, handle] = difference.functions.as_slice() else { panic!("{difference:?}") };
        assert_eq!((encode.function.as_str(), encode.file.as_str()), ("encode", "json.py"));
        assert!(encode.shown && (encode.us_per_request - 30.2).abs() < 0.1, "{encode:?}");
        assert!(encode.confidence_95[0] > 20.0 && encode.confidence_95[1] < 40.0, "{encode:?}");
        assert!(!handle.shown, "{handle:?}");
        let same = explain_difference(&before, &before).unwrap();
        assert!(same.functions.iter().all(|of| !of.shown));
    }

    #[test]
    fn what_slows_both_hides_nothing() {
        let (before, after) =
            (rounds(&BEFORE, "encode (json.py)"), rounds(&AFTER, "encode (json.py)"));
        // The machine is up to 40 % slower in some rounds, and the change costs 6 % in each.
        let slow = [500.0, 700.0, 600.0, 520.0, 680.0];
        let of_both = [before, after].into_iter().zip([1.0, 1.06]);
        let of_both: Vec<(Vec<Stacks>, Vec<f64>)> = of_both
            .map(|(stacks, factor)| (stacks, slow.iter().map(|us| us * factor).collect()))
            .collect();
        let [one, other] = [0, 1].map(|at: usize| profile("shop", &of_both[at].0, &of_both[at].1));
        let difference = explain_difference(&one, &other).unwrap();
        let [encode, handle] = difference.functions.as_slice() else { panic!("{difference:?}") };
        assert!(encode.shown && !handle.shown, "{difference:?}");
        assert!((difference.us_per_request - 36.0).abs() < 0.1, "6 % of 600 µs: {difference:?}");
    }

    #[test]
    fn two_programs_are_not_compared_and_neither_are_single_rounds() {
        let (mine, yours) =
            (rounds(&BEFORE, "encode (json.py)"), rounds(&[900; 5], "dump (orjson.py)"));
        let cpu = [500.0, 501.0];
        let of = |stacks| profile("one", stacks, &cpu);
        assert_eq!(explain_difference(&of(&mine), &of(&yours)), None);
        assert_eq!(explain_difference(&of(&mine), &of(&mine[..1])), None);
        assert_eq!(explain_difference(&of(&mine), &profile("one", &mine, &cpu[..1])), None);
    }
}
