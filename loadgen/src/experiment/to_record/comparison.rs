//! Compares the targets of a run.

use crate::analysis::{
    Cell, by_percentile, compare_in_one_start, compare_in_stages, rates, requests_per_cpu_s, speeds,
};
use crate::experiment::job::Job;
use crate::experiment::subject::Subject;
use crate::record::{Bottleneck, Comparison, LoadRecord, RoundRecord, TargetRecord};
use crate::scenario::Model;

/// Compares the targets of a run without duets. `None` if no round is whole, or if the only
/// contender is a server that was running already. The ranking leaves out targets
/// without a whole round. Unless a target is compared with itself, the ranking also
/// leaves out targets whose rate was limited by something other than the target.
pub(super) fn of(
    job: &Job,
    load: &LoadRecord,
    targets: &[TargetRecord],
    stages: &[u32],
) -> Option<Comparison> {
    let is_its_own = |target: &&TargetRecord| {
        job.aa || target.bottleneck.as_ref().is_none_or(Bottleneck::is_of_target)
    };
    let (ranked, bound) = targets.iter().partition::<Vec<&TargetRecord>, _>(is_its_own);
    // The precision of a single server needs its interval.
    let is_alone = matches!(job.subject, Subject::Running(_))
        && !job.subject.is_deployed()
        && job.contenders.len() == 1
        && stages.is_empty();
    let has_whole = |target: &TargetRecord| target.rounds.iter().any(|round| round.whole);
    if is_alone || !targets.iter().any(has_whole) {
        return None;
    }
    let by_rate = each(&ranked, rates);
    let compared = match load.one_start {
        false => compare_in_stages(&by_rate, stages),
        true => compare_in_one_start(&by_rate),
    };
    let mut comparison = match job.scenario.load.model {
        Model::Closed => compared,
        Model::Open(_) => compared
            .by_speed(&each(&ranked, |rounds| speeds(rounds, load)))
            .with_cpu(&each(&ranked, |rounds| {
                requests_per_cpu_s(rounds, load).unwrap_or_default()
            })),
    }
    .with_latencies(&each(&ranked, |rounds| by_percentile(rounds, load)));
    comparison.unranked.extend(bound.into_iter().map(|target| target.name.clone()));
    Some(match job.aa {
        true => comparison.of_one_server(),
        false if job.is_matrix() => comparison.of_matrix(&cells(job)),
        false => comparison,
    })
}

/// Returns each target's name, with the figures that `figures` computes from the target's rounds.
fn each<T>(targets: &[&TargetRecord], figures: impl Fn(&[RoundRecord]) -> T) -> Vec<(String, T)> {
    targets.iter().map(|target| (target.name.clone(), figures(&target.rounds))).collect()
}

fn cells(job: &Job) -> Vec<Cell<'_>> {
    let contenders = job.contenders.iter();
    contenders
        .map(|contender| Cell {
            name: &contender.name,
            target: &contender.target,
            server_workers: contender.server_workers,
            replicas: contender.replicas,
            users: contender.users,
        })
        .collect()
}
