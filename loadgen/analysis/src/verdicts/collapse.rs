//! Finds the moment from which on a target no longer carried its load.

use super::verdict;
use crate::record::{Bottleneck, RoundRecord, RunRecord, TargetRecord, Verdict, VerdictKind};
use loadgen_measure::{BALANCER, SecondRecord};
use loadgen_text::{count, counted};

/// Greatest share of failed requests before a collapse, and least share after it (0 to 1).
const BEFORE: f64 = 0.01;
const AFTER: f64 = 0.05;

/// Least length of the time before and after a collapse, in s.
const LEAST_S: usize = 3;

/// Returns a verdict if the requests of a round succeeded until a moment, and many failed from this
/// moment on. A target whose requests fail from the start has no such moment.
pub(super) fn collapse(target: &TargetRecord, record: &RunRecord) -> Option<Verdict> {
    // A load that loadgen or its balancer could not carry says nothing about the target.
    let is_own = |round: &&RoundRecord| match &round.bottleneck {
        Some(Bottleneck::Generator | Bottleneck::Network) => false,
        Some(Bottleneck::Backend(backend)) => backend != BALANCER,
        _ => true,
    };
    let whole = || target.rounds.iter().filter(|round| round.whole).filter(is_own);
    let found: Vec<_> =
        whole().filter_map(|round| Some((round.round, moment(&round.seconds)?))).collect();
    let (number, Moment { second, before, after }) = found.first()?;
    let percent = |share: &f64| format!("{:.1} %", share * 100.0);
    let message = format!(
        "the target collapsed in {} of {}: in round {number}, {} of the requests failed from \
         second {second} on{}, and {} before",
        found.len(),
        counted(whole().count() as u64, "round"),
        percent(after),
        started(*second, target.users, record.load.ramp_up_s),
        percent(before)
    );
    let advice = "the load before this moment is nearer to what the target carries: `loadgen capacity` \
                  finds that rate";
    Some(verdict(target, VerdictKind::Collapsed, message, advice))
}

/// Returns how many users had started at the end of a second, in words; empty if all had.
fn started(second: u32, users: u32, ramp_up_s: f64) -> String {
    let share = (f64::from(second) + 1.0) / ramp_up_s;
    if share.is_finite() && share < 1.0 {
        let started = (f64::from(users) * share).round() as u64;
        format!(", with about {} of {}", count(started), counted(users.into(), "user"))
    } else {
        String::new()
    }
}

/// The second of a collapse, and the shares of failed requests before this second and from it on.
struct Moment {
    second: u32,
    before: f64,
    after: f64,
}

fn moment(seconds: &[SecondRecord]) -> Option<Moment> {
    let share = |seconds: &[SecondRecord]| {
        let errors: u64 = seconds.iter().map(|second| second.errors).sum();
        let ended = errors + seconds.iter().map(|second| second.answered).sum::<u64>();
        (ended > 0).then(|| errors as f64 / ended as f64)
    };
    let last = seconds.len().checked_sub(LEAST_S)?;
    (LEAST_S..=last).find_map(|at| {
        let (earlier, later) = seconds.split_at(at);
        let (before, after) = (share(earlier)?, share(later)?);
        // In a second without any response, all users wait.
        let is_bad = |second: &SecondRecord| {
            share(std::slice::from_ref(second)).is_none_or(|share| share >= AFTER)
        };
        let lasts = later.iter().filter(|second| is_bad(second)).count() * 2 >= later.len();
        let begins = is_bad(&later[0]) && lasts;
        (begins && before <= BEFORE && after >= AFTER).then_some(Moment {
            second: later[0].second,
            before,
            after,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::LoadRecord;

    fn said(seconds: &[(u64, u64)], ramp_up_s: f64) -> Option<String> {
        let second = |(second, (answered, errors)): (u32, &(u64, u64))| SecondRecord {
            second,
            answered: *answered,
            errors: *errors,
            ..SecondRecord::default()
        };
        let seconds = (0..).zip(seconds).map(second).collect();
        let round = RoundRecord { round: 1, whole: true, seconds, ..RoundRecord::default() };
        let rounds = vec![round, RoundRecord { whole: true, ..RoundRecord::default() }];
        let target = TargetRecord { users: 500, rounds, ..TargetRecord::default() };
        let load = LoadRecord { ramp_up_s, ..LoadRecord::default() };
        let record = RunRecord { load, ..RunRecord::default() };
        collapse(&target, &record).map(|verdict| verdict.message)
    }

    const FINE: (u64, u64) = (100, 0);
    const BAD: (u64, u64) = (60, 40);

    #[test]
    fn a_collapse_has_a_moment() {
        assert_eq!(
            said(&[FINE, FINE, FINE, FINE, BAD, BAD, BAD, BAD], 10.0).unwrap(),
            "the target collapsed in 1 of 2 rounds: in round 1, 40.0 % of the requests failed from \
             second 4 on, with about 250 of 500 users, and 0.0 % before"
        );
        let all_started = said(&[FINE, FINE, FINE, FINE, BAD, BAD, BAD, BAD], 0.0).unwrap();
        assert!(all_started.contains("from second 4 on, and 0.0 % before"), "{all_started}");
    }

    #[test]
    fn a_target_without_a_moment_of_collapse_has_no_verdict() {
        assert_eq!(said(&[FINE; 8], 0.0), None);
        assert_eq!(said(&[BAD; 8], 0.0), None, "it fails from the start");
        assert_eq!(said(&[FINE, FINE, FINE, FINE, BAD, FINE, FINE, FINE, FINE, FINE], 0.0), None);
        assert_eq!(said(&[FINE, FINE, FINE, FINE, BAD, BAD], 0.0), None, "too short");
        assert_eq!(said(&[], 0.0), None);
    }
}
