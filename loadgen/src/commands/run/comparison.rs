//! What targets are compared by.

use std::collections::BTreeMap;

use super::job::{Job, Subject};
use crate::measure::{
    Bottleneck, Cell, Comparison, RoundRecord, TargetRecord, compare, rates, requests_per_cpu_s,
    speeds,
};
use crate::scenario::Model;

/// A server that was running already is held against nothing but itself. Where the run was
/// `stopped` by a failed threshold, lost workers, or had its load changed while it ran, targets without
/// a whole round are in no ranking; nor are those whose rate was somebody else's, unless they are only held against themselves.
pub fn of(job: &Job, targets: &[TargetRecord], stopped: bool) -> Option<Comparison> {
    let has_whole = |target: &&TargetRecord| target.rounds.iter().any(|round| round.whole);
    let had_another_load = |target: &&TargetRecord| {
        let had = |round: &RoundRecord| {
            round.users_achieved < round.users_planned || !round.changes.is_empty()
        };
        target.rounds.iter().any(had)
    };
    let is_its_own = |target: &&TargetRecord| {
        job.aa || target.bottleneck.as_ref().is_none_or(Bottleneck::is_of_target)
    };
    let (ranked, bound): (Vec<_>, Vec<_>) = targets
        .iter()
        .filter(|target| has_whole(target) || !(stopped || had_another_load(target)))
        .partition::<Vec<&TargetRecord>, _>(is_its_own);
    let of = |figures: fn(&[RoundRecord]) -> BTreeMap<u32, f64>| -> Vec<_> {
        ranked.iter().map(|target| (target.name.clone(), figures(&target.rounds))).collect()
    };
    if (matches!(job.subject, Subject::Running(_)) && job.contenders.len() == 1)
        || (ranked.is_empty() && bound.is_empty())
    {
        return None;
    }
    let comparison = match job.scenario.load.model {
        Model::Closed => compare(&of(rates)),
        Model::Open(_) => {
            compare(&of(rates)).by_speed(&of(speeds)).with_cpu(&of(requests_per_cpu_s))
        }
    };
    let unranked = bound.into_iter().map(|target| target.name.clone()).collect();
    let comparison = Comparison { unranked, ..comparison };
    Some(match job.aa {
        true => comparison.of_one_server(),
        false if job.is_matrix() => comparison.of_matrix(&cells(job)),
        false => comparison,
    })
}

fn cells(job: &Job) -> Vec<Cell<'_>> {
    let contenders = job.contenders.iter();
    contenders
        .map(|contender| Cell {
            name: &contender.name,
            target: &contender.target,
            server_workers: contender.server_workers,
            users: contender.users,
        })
        .collect()
}
