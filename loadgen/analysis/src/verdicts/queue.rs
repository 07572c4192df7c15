//! Checks whether more users got no more answers and only waited longer.

use std::collections::BTreeMap;

use super::concurrency::littles_law;
use super::verdict;
use crate::plateau::{Loaded, Plateau};
use crate::record::{Bottleneck, RunRecord, ServerSize, TargetRecord, Verdict, VerdictKind};
use loadgen_text::{counted, milliseconds, rate};

/// Returns a verdict for each target that answered no more requests under more users. Several
/// numbers of users are needed: one number cannot show whether more users would be served.
pub(super) fn users_queue(record: &RunRecord) -> Vec<Verdict> {
    let load = &record.load;
    let waits = load.rate_per_s.is_none() && load.think_time.is_none() && load.stages.is_empty();
    if !waits {
        return Vec::new();
    }
    let mut lines: BTreeMap<(&str, ServerSize), Vec<&TargetRecord>> = BTreeMap::new();
    for target in &record.targets {
        lines.entry((&target.target, target.server.size())).or_default().push(target);
    }
    lines.values().filter_map(|line| of_line(line, record)).collect()
}

/// Judges one target with one number of server workers; `line` holds the results for several
/// numbers of users.
fn of_line(line: &[&TargetRecord], record: &RunRecord) -> Option<Verdict> {
    let most = line.iter().max_by_key(|target| target.users)?;
    let clear = line.iter().filter(|target| is_clear(target, record));
    let loads: Vec<Loaded> = clear.filter_map(|target| loaded(target)).collect();
    let found = Plateau::of(&loads).filter(|found| {
        found.to.amount == f64::from(most.users) && found.to.latency_s > found.from.latency_s
    })?;
    let Plateau { from, to, .. } = found;
    let mut message = format!(
        "{} users got no more responses than {} ({}/s and {}/s) and waited longer for the \
         responses, although no CPU or link was at its limit",
        to.amount,
        counted(from.amount as u64, "user"),
        rate(to.rate_per_s),
        rate(from.rate_per_s)
    );
    if let (Some(served), Some(least)) = (found.served(), found.least) {
        message += &format!(
            "; by Little's law, with {} ms for a response at {}, the server worked on at most about \
             {served:.0} requests at a time",
            milliseconds(Some((least.latency_s * 1e6) as u64)),
            counted(least.amount as u64, "user")
        );
    }
    let advice = "look for a limit inside the server: threads, connections of a pool, a lock, or a limit \
                  on the rate";
    Some(verdict(most, VerdictKind::UsersQueue, message, advice))
}

/// Returns whether the results can show a queue: all users waited only for the target, all requests
/// got the expected answer, and no observed party was at its limit.
fn is_clear(target: &TargetRecord, record: &RunRecord) -> bool {
    let total = &target.total;
    target.bottleneck == Some(Bottleneck::Nobody)
        && total.errors + total.failed_late + total.unanswered == 0
        && littles_law(target, record).is_none()
}

fn loaded(target: &TargetRecord) -> Option<Loaded> {
    let whole = || target.rounds.iter().filter(|round| round.whole);
    let rates: Vec<f64> = whole().map(|round| round.total.rate_per_s).collect();
    Some(Loaded {
        amount: target.users.into(),
        rate_per_s: rates.iter().sum::<f64>() / rates.len().max(1) as f64,
        latency_s: target.total.latency_us.p50? as f64 / 1e6,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{LoadRecord, RoundRecord};
    use loadgen_measure::{LatencySummary, Summary};

    /// Returns the results of `users` users on a target with ten threads, each of which takes 50 ms
    /// for a request.
    fn target(users: u32, bottleneck: Bottleneck) -> TargetRecord {
        let rate_per_s = 200.0_f64.min(f64::from(users) / 0.05);
        let us = f64::from(users) / rate_per_s * 1e6;
        let latency_us =
            LatencySummary { mean: Some(us), p50: Some(us as u64), ..LatencySummary::default() };
        let requests = (rate_per_s * 30.0) as u64;
        let total = Summary { requests, rate_per_s, latency_us, ..Summary::default() };
        let round = RoundRecord {
            round: 1,
            whole: true,
            held_s: 30.0,
            total: total.clone(),
            ..RoundRecord::default()
        };
        TargetRecord {
            name: format!("mine, {users} users"),
            target: "mine".to_owned(),
            users,
            total,
            rounds: vec![round],
            bottleneck: Some(bottleneck),
            ..TargetRecord::default()
        }
    }

    fn said(users: &[u32], bottleneck: &Bottleneck) -> Vec<String> {
        let load = LoadRecord { duration_s: Some(30.0), ..LoadRecord::default() };
        let targets = users.iter().map(|users| target(*users, bottleneck.clone())).collect();
        let record = RunRecord { load, targets, ..RunRecord::default() };
        users_queue(&record).into_iter().map(|verdict| verdict.message).collect()
    }

    #[test]
    fn users_that_only_wait_longer_are_reported_as_queueing() {
        assert_eq!(
            said(&[5, 20, 40], &Bottleneck::Nobody),
            [
                "40 users got no more responses than 20 users (200/s and 200/s) and waited longer for \
              the responses, although no CPU or link was at its limit; by Little's law, with 50.0 ms for \
              a response at 5 users, the server worked on at most about 10 requests at a time"
            ]
        );
        let [said] = &said(&[20, 40], &Bottleneck::Nobody)[..] else { panic!() };
        assert!(said.ends_with("no CPU or link was at its limit"), "{said}");
    }

    #[test]
    fn one_load_or_a_known_limit_gives_no_queue_verdict() {
        assert_eq!(said(&[40], &Bottleneck::Nobody), [""; 0]);
        assert_eq!(said(&[2, 8], &Bottleneck::Nobody), [""; 0]);
        assert_eq!(said(&[5, 20, 40], &Bottleneck::Target), [""; 0]);
    }
}
