//! What targets are compared by.

use std::collections::BTreeMap;

use super::job::{Job, Subject};
use crate::measure::{Bottleneck, Cell, Comparison, RoundRecord, TargetRecord, compare};
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
    if (matches!(job.subject, Subject::Url(_)) && job.contenders.len() == 1)
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

/// What the ranking goes by: the rates of whole rounds, or of the others where there is none.
///
/// Those of a target that is ranked all the same ended the run, or had too few rows, as all the others
/// then: there are never enough of them for a claim.
fn rates(rounds: &[RoundRecord]) -> BTreeMap<u32, f64> {
    let any_whole = rounds.iter().any(|round| round.whole);
    let ranked = rounds.iter().filter(|round| round.whole || !any_whole);
    ranked.map(|round| (round.round, round.total.rate_per_s)).collect()
}

/// How fast the rounds were answered: one over the median latency in s.
fn speeds(rounds: &[RoundRecord]) -> BTreeMap<u32, f64> {
    at_the_rate(rounds, |round| Some(1e6 / round.total.latency_us.p50? as f64))
}

/// How many expected answers a second of the target's CPU gave.
fn requests_per_cpu_s(rounds: &[RoundRecord]) -> BTreeMap<u32, f64> {
    at_the_rate(rounds, |round| round.resources.get("target")?.requests_per_cpu_s)
}

/// From this share of its planned requests on, a target carries the rate of the open model.
const CARRIED: f64 = 0.99;

/// A figure of each whole round; nothing where one of them did not carry the rate or lacks the
/// figure.
fn at_the_rate(
    rounds: &[RoundRecord],
    figure: impl Fn(&RoundRecord) -> Option<f64>,
) -> BTreeMap<u32, f64> {
    let carried = |round: &RoundRecord| {
        let total = &round.total;
        let planned = total.requests + total.cancelled + total.unsent;
        (total.requests - total.errors) as f64 >= CARRIED * planned as f64
    };
    let whole = rounds.iter().filter(|round| round.whole);
    let figure =
        |round: &RoundRecord| Some((round.round, figure(round).filter(|_| carried(round))?));
    whole.map(figure).collect::<Option<_>>().unwrap_or_default()
}
