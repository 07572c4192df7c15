//! Builds the records of profiling rounds.

use std::collections::BTreeMap;

use crate::analysis::{Profile, attribute, explain_difference};
use crate::experiment::measured::Measured;
use crate::experiment::profiles::{difference_file, profile_file};
use crate::measure::Stacks;
use crate::record::{ProfileDifference, ProfileRecord, TargetRecord};

/// Why a target has no profile if its processes could be read.
const NOTHING_SEEN: &str =
    "no thread was on a CPU at a sample, or the CPU time of a request is not known";

/// Returns the profile of the contender of this index; `None` without profiling rounds.
pub(super) fn profile(
    target: &TargetRecord,
    measured: &Measured,
    contender: usize,
) -> Option<ProfileRecord> {
    let of = measured.profiles.iter().filter(|round| round.contender == contender);
    let rounds: Vec<_> = of.map(|round| round.stacks.as_ref()).collect();
    let cpu_us: Vec<f64> = cpu_us(target).into_values().collect();
    profile_of(&target.name, &rounds, &cpu_us)
}

/// Returns the profile of a target from its profiling rounds, each of which has stacks or the reason why there are none,
/// and the CPU time per expected response of its measured rounds, in µs; `None` without profiling rounds.
pub(in crate::experiment) fn profile_of(
    name: &str,
    rounds: &[Result<&Stacks, &String>],
    cpu_us: &[f64],
) -> Option<ProfileRecord> {
    let stacks: Vec<&Stacks> = rounds.iter().filter_map(|round| round.ok()).collect();
    if let Some(profile) = attribute(&stacks, cpu_us) {
        return Some(ProfileRecord { file: profile_file(name), ..profile });
    }
    let failed = rounds.iter().find_map(|round| round.err()).cloned();
    let why = failed.or_else(|| rounds.first().map(|_| NOTHING_SEEN.to_owned()))?;
    Some(ProfileRecord { failure: Some(why), ..ProfileRecord::default() })
}

/// Returns the functions by which each other target differs from the first one. `targets` has each target with the
/// index of its contender.
pub(super) fn differences<'a>(
    targets: &[(usize, &'a TargetRecord)],
    measured: &'a Measured,
) -> Vec<ProfileDifference> {
    let of = |(contender, target): &(usize, &'a TargetRecord)| Profile {
        name: &target.name,
        stacks: stacks(measured, *contender),
        cpu_us: cpu_us(target),
    };
    let profiles: Vec<Profile<'_>> = targets.iter().map(of).collect();
    let [first, others @ ..] = profiles.as_slice() else { return Vec::new() };
    let explained = others.iter().filter_map(|other| explain_difference(first, other));
    let with_file = |of: ProfileDifference| {
        let file = difference_file(&of.targets);
        ProfileDifference { file, ..of }
    };
    explained.map(with_file).collect()
}

/// Returns the stacks of each profiling round of a contender.
fn stacks(measured: &Measured, contender: usize) -> Vec<&Stacks> {
    let of = measured.profiles.iter().filter(|round| round.contender == contender);
    of.filter_map(|round| round.stacks.as_ref().ok()).collect()
}

/// Returns the CPU time per expected response of each whole measured round, in µs, by number of the round; empty if it
/// is not known.
fn cpu_us(target: &TargetRecord) -> BTreeMap<u32, f64> {
    let whole = target.rounds.iter().filter(|round| round.whole);
    let each =
        whole.map(|round| Some((round.round, round.resources.get("target")?.cpu_us_per_request?)));
    each.collect::<Option<_>>().unwrap_or_default()
}
