//! Checks whether the requests of the open model were sent, and in time.

use super::verdict;
use crate::record::{RoundRecord, RunRecord, TargetRecord, Verdict, VerdictKind};
use loadgen_text::counted;

/// Least share of unsent requests (0 to 1) at which the requested rate counts as not kept.
const UNSENT: f64 = 0.001;

/// Least 99th percentile of the sending delay, in µs, at which the requested rate counts as not
/// kept.
const LATE_US: u64 = 10_000;

/// Least time, in seconds, by which a round ends early that was stopped.
const STOPPED_S: f64 = 0.5;

/// Returns a verdict if requests of the open model were not sent, or were sent late.
pub(super) fn rate_not_kept(target: &TargetRecord, record: &RunRecord) -> Option<Verdict> {
    record.load.rate_per_s?;
    let (total, users) = (&target.total, record.load.users);
    // A round that was stopped sends no more, and is in the total only if no other round is.
    let is_stopped = target.rounds.iter().all(|round| was_stopped(round, record));
    let unsent = if is_stopped { 0 } else { total.unsent };
    let planned = total.requests + total.cancelled + unsent;
    let share = unsent as f64 / planned.max(1) as f64;
    let late = total.delay_us.p99.filter(|late| *late >= LATE_US);
    let late = late.map(|late| {
        format!("one request in a hundred was sent more than {} ms late", late / 1_000)
    });
    let message = match late {
        _ if share >= UNSENT => {
            let lacking = target.rounds.iter().filter(|round| round.total.unsent > 0);
            // A user that waits for an answer at the end has its request cut off.
            let all_waited =
                lacking.map(|round| round.total.cancelled).all(|n| n >= u64::from(users));
            let why = match all_waited {
                true if users == 1 => ": the only user still waited for a response".to_owned(),
                true => format!(": each of {users} users still waited for a response"),
                false => " before the end of their round".to_owned(),
            };
            format!("{unsent} of {} were not sent{why}", counted(planned, "request"))
        }
        late => late?,
    };
    let advice = "the target does not carry this rate, --users is too low for this rate, or the \
                  generator is too busy; latencies still count from the planned send";
    Some(verdict(target, VerdictKind::RateNotKept, message, advice))
}

/// Returns whether a round ended before its time: the user, a threshold or the loss of a worker has stopped it.
fn was_stopped(round: &RoundRecord, record: &RunRecord) -> bool {
    let planned = record.load.duration_s;
    !round.whole && planned.is_some_and(|planned| round.held_s < planned - STOPPED_S)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_that_was_stopped_had_no_time_for_its_rate() {
        let mut record = RunRecord::default();
        (record.load.rate_per_s, record.load.duration_s) = (Some(100.0), Some(6.0));
        let of = |held_s: f64, whole: bool| {
            let mut target = TargetRecord::default();
            (target.total.requests, target.total.unsent) = (500, 1);
            target.rounds = vec![RoundRecord { held_s, whole, ..RoundRecord::default() }];
            target
        };
        assert_eq!(rate_not_kept(&of(3.0, false), &record), None);
        // A worker was lost, and the others went on.
        assert!(rate_not_kept(&of(6.0, false), &record).is_some());
        assert!(rate_not_kept(&of(6.0, true), &record).is_some());
    }
}
