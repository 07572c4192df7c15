//! Finds the functions by which two targets differ.

use std::collections::{BTreeMap, BTreeSet};

use loadgen_measure::Stacks;

use super::{Shares, parts, product, shares};
use crate::record::{FunctionDifference, ProfileDifference};
use crate::statistics::{Family, LEVEL, Sample, holm};

/// Least share of the samples of a target, of its own, with which a function is tested. Each further test makes the
/// others less likely to show something.
const LEAST: f64 = 0.005;

/// Least share of the CPU time of both targets that must be in functions that both have: otherwise the targets are two
/// programs, whose functions say nothing about each other.
const LEAST_IN_COMMON: f64 = 0.5;

/// What is known of the CPU time of one target.
#[derive(Debug, Clone)]
pub struct Profile<'a> {
    /// Name of the target.
    pub name: &'a str,
    /// Stacks of each profiling round.
    pub stacks: Vec<&'a Stacks>,
    /// CPU time per expected response of each measured round, in µs.
    pub cpu_us: Vec<f64>,
}

/// Returns the functions whose own CPU time per response differs between two targets, by Welch's test for each
/// function that has at least 0.5 % of the samples of one of them, and Holm's correction over all. `None` with fewer
/// than two rounds of anything, or if the targets have less than half of their CPU time in the same functions.
///
/// Functions are the same if their names and files are: code that moves within a file is no difference.
#[must_use]
pub fn explain_difference(one: &Profile<'_>, other: &Profile<'_>) -> Option<ProfileDifference> {
    let of = [one, other].map(|profile| -> Option<(Vec<BTreeMap<&str, Shares>>, Sample)> {
        let stacks = profile.stacks.iter().filter(|round| round.on_cpu() > 0);
        let rounds: Vec<BTreeMap<&str, Shares>> = stacks.map(|round| shares(round)).collect();
        let cpu = Sample::of(&profile.cpu_us)?;
        (rounds.len() > 1 && cpu.rounds > 1).then_some((rounds, cpu))
    });
    let [Some(one_of), Some(other_of)] = of else { return None };
    let own = |rounds: &[BTreeMap<&str, Shares>], label: &str| -> Vec<f64> {
        rounds.iter().map(|round| round.get(label).map_or(0.0, |shares| shares.own)).collect()
    };
    let mean = |shares: &[f64]| shares.iter().sum::<f64>() / shares.len() as f64;
    let labels: BTreeSet<&str> =
        one_of.0.iter().chain(&other_of.0).flat_map(BTreeMap::keys).copied().collect();
    let (mut in_common, mut tested) = ([0.0; 2], Vec::new());
    for label in labels {
        let shares = [own(&one_of.0, label), own(&other_of.0, label)];
        let means = [mean(&shares[0]), mean(&shares[1])];
        if means.iter().all(|share| *share > 0.0) {
            in_common = [in_common[0] + means[0], in_common[1] + means[1]];
        }
        if means.iter().any(|share| *share >= LEAST) {
            let [one, other] = [(&shares[0], &one_of.1), (&shares[1], &other_of.1)]
                .map(|(shares, cpu)| Some(product(&Sample::of(shares)?, cpu)));
            tested.push((label, other?.less(&one?)));
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
    let whole = other_of.1.less(&one_of.1);
    Some(ProfileDifference {
        targets: [one.name.to_owned(), other.name.to_owned()],
        us_per_request: whole.mean,
        confidence_95: whole.confidence_95().unwrap_or([whole.mean; 2]),
        functions,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns rounds with these numbers of samples of `encode`, of 1,000 each; the rest is `handle`'s.
    fn rounds(encode: &[u64], name: &str) -> Vec<Stacks> {
        let round = |encode: &u64| {
            let mut stacks = Stacks { moments: 1_000, ..Stacks::default() };
            for number in 0..1_000 {
                let of = if number < *encode { name } else { "handle (app.py)" };
                stacks.add(format!("main (app.py);{of}"), true, true);
            }
            stacks
        };
        encode.iter().map(round).collect()
    }

    fn profile<'a>(name: &'a str, stacks: &'a [Stacks], cpu_us: &[f64]) -> Profile<'a> {
        Profile { name, stacks: stacks.iter().collect(), cpu_us: cpu_us.to_vec() }
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
