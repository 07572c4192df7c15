//! Builds the records of profiling rounds.

use crate::analysis::{Profile, attribute, explain_difference};
use crate::experiment::measured::Measured;
use crate::measure::Stacks;
use crate::record::{ProfileDifference, ProfileRecord, TargetRecord};

/// Returns the profile of the contender of this index; `None` without profiling rounds.
pub(super) fn profile(
    target: &TargetRecord,
    measured: &Measured,
    contender: usize,
) -> Option<ProfileRecord> {
    let of = || measured.profiles.iter().filter(|round| round.contender == contender);
    let failure = of().find_map(|round| round.stacks.as_ref().err());
    let profile = attribute(&stacks(measured, contender), &cpu_us(target));
    match (profile, failure) {
        (Some(profile), _) => Some(profile),
        (None, Some(why)) => {
            Some(ProfileRecord { failure: Some(why.clone()), ..ProfileRecord::default() })
        }
        (None, None) => None,
    }
}

/// Returns the functions by which each other target differs from the first one. `targets` has each target with the
/// index of its contender.
pub(super) fn differences(
    targets: &[(usize, &TargetRecord)],
    measured: &Measured,
) -> Vec<ProfileDifference> {
    let of = |(contender, target): &(usize, &'_ TargetRecord)| {
        (stacks(measured, *contender), cpu_us(target))
    };
    let profiles: Vec<Profile<'_>> = targets
        .iter()
        .map(|it| {
            let (stacks, cpu_us) = of(it);
            Profile { name: &it.1.name, stacks, cpu_us }
        })
        .collect();
    let [first, others @ ..] = profiles.as_slice() else { return Vec::new() };
    others.iter().filter_map(|other| explain_difference(first, other)).collect()
}

/// Returns the stacks of each profiling round of a contender.
fn stacks(measured: &Measured, contender: usize) -> Vec<&Stacks> {
    let of = measured.profiles.iter().filter(|round| round.contender == contender);
    of.filter_map(|round| round.stacks.as_ref().ok()).collect()
}

/// Returns the CPU time per expected response of each whole measured round, in µs; empty if it is not known.
fn cpu_us(target: &TargetRecord) -> Vec<f64> {
    let whole = target.rounds.iter().filter(|round| round.whole);
    let each = whole.map(|round| round.resources.get("target")?.cpu_us_per_request);
    each.collect::<Option<_>>().unwrap_or_default()
}
