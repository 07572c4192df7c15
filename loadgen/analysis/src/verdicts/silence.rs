//! Finds requests without an answer at the end of their round, or soon after. Whether these
//! requests would have failed is unknown, so they are in no rate, latency or error rate.

use std::time::Duration;

use super::verdict;
use crate::record::{RoundRecord, RunRecord, TargetRecord, Verdict, VerdictKind};
use loadgen_text::{count, counted, duration};

/// Returns a verdict if the target stopped answering, or left some requests without an answer. Only
/// rounds that ran as planned count, because an interruption of a round also cuts requests off.
pub(super) fn silence(target: &TargetRecord, record: &RunRecord) -> Option<Verdict> {
    let whole = || target.rounds.iter().filter(|round| round.whole);
    let ramp_up_s = if record.load.duration_s.is_some() { record.load.ramp_up_s } else { 0.0 };
    let drain = duration(Duration::try_from_secs_f64(record.load.drain_s).unwrap_or_default());
    let silent =
        whole().find_map(|round| Some((round, silent_s(round, ramp_up_s, record.load.drain_s)?)));
    let advice = "these requests are in no rate, latency or error rate, and upper bounds of thresholds \
                  must hold in their worst case: see the server's log, or wait longer with --drain";
    if let Some((round, seconds)) = silent {
        let message = format!(
            "the target went silent in round {}: no request ended in the last {seconds} s, and none of the \
             {} requests in flight got a response within {drain} of the end or by its timeout",
            round.round,
            count(round.total.unanswered)
        );
        return Some(verdict(target, VerdictKind::WentSilent, message, advice));
    }
    let unanswered = whole().fold(0_u64, |sum, round| sum.saturating_add(round.total.unanswered));
    (unanswered > 0).then(|| {
        let message = format!(
            "{} got no response within {drain} of the end of their round or by their timeout",
            counted(unanswered, "request")
        );
        verdict(target, VerdictKind::Unanswered, message, advice)
    })
}

/// Least length of a silence, including the drain (the wait for answers after a round), as a
/// multiple of the longest latency. In a shorter silence the target may only be slow.
const LONGER: f64 = 2.0;

/// Returns the number of whole seconds before the end of a round in which no request ended. `None`
/// if there was no such second, if any request in flight at the end had an answer later, or if the
/// silence was too short (see [`LONGER`]).
fn silent_s(round: &RoundRecord, ramp_up_s: f64, drain_s: f64) -> Option<u32> {
    let total = &round.total;
    let all_are_stuck = total.unanswered > 0 && total.unanswered == total.cancelled;
    let ended = round.seconds.iter().filter(|second| second.answered > 0 || second.errors > 0);
    let last = ended.map(|second| second.second).max()?;
    let end = (ramp_up_s + round.held_s) as u32;
    let silent = end.checked_sub(last.saturating_add(1)).filter(|silent| *silent > 0)?;
    let longest_us = total.latency_us.max.max(total.failed_us.max).unwrap_or(0);
    let is_long = f64::from(silent) + drain_s > LONGER * longest_us as f64 / 1e6;
    (all_are_stuck && is_long).then_some(silent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::LoadRecord;
    use loadgen_measure::{LatencySummary, SecondRecord, Summary};

    fn said(answered: &[u64], cancelled: u64, unanswered: u64) -> Option<(VerdictKind, String)> {
        said_of(answered, cancelled, unanswered, 40_000)
    }

    fn said_of(
        answered: &[u64],
        cancelled: u64,
        unanswered: u64,
        longest_us: u64,
    ) -> Option<(VerdictKind, String)> {
        let seconds = (0..).zip(answered).map(|(second, answered)| SecondRecord {
            second,
            answered: *answered,
            ..SecondRecord::default()
        });
        let latency_us = LatencySummary { max: Some(longest_us), ..LatencySummary::default() };
        let round = RoundRecord {
            round: 2,
            whole: true,
            held_s: answered.len() as f64,
            seconds: seconds.collect(),
            total: Summary { requests: 9, cancelled, unanswered, latency_us, ..Summary::default() },
            ..RoundRecord::default()
        };
        let cut = RoundRecord { whole: false, ..round.clone() };
        let target = TargetRecord { rounds: vec![cut, round], ..TargetRecord::default() };
        let load = LoadRecord {
            duration_s: Some(answered.len() as f64),
            drain_s: 3.0,
            ..LoadRecord::default()
        };
        let record = RunRecord { load, ..RunRecord::default() };
        silence(&target, &record).map(|verdict| (verdict.kind, verdict.message))
    }

    #[test]
    fn a_target_that_stops_answering_is_reported_as_silent() {
        let (kind, message) = said(&[500, 300, 0, 0], 10, 10).unwrap();
        assert_eq!(kind, VerdictKind::WentSilent);
        let expected = "the target went silent in round 2: no request ended in the last 2 s, and none of the \
                        10 requests in flight got a response within 3s of the end or by its timeout";
        assert_eq!(message, expected);
    }

    #[test]
    fn requests_without_an_answer_are_reported() {
        let expected =
            "3 requests got no response within 3s of the end of their round or by their timeout"
                .to_owned();
        let unanswered = Some((VerdictKind::Unanswered, expected));
        assert_eq!(said(&[500, 500], 10, 3), unanswered);
        assert_eq!(said(&[500, 500], 3, 3), unanswered, "it answered others to the end");
        assert_eq!(said(&[500, 0], 10, 3), unanswered, "and after it");
        assert_eq!(said(&[500, 0], 10, 0), None, "slow, and not silent");
        // One user whose answers take 7 s.
        let slow = said_of(&[0, 0, 0, 0, 0, 0, 0, 1, 0, 0], 1, 1, 7_000_000).unwrap();
        assert_eq!(slow.0, VerdictKind::Unanswered);
    }
}
