//! Checks whether loadgen itself stood still during a round.

use super::verdict;
use crate::record::{HeldUpRecord, RoundRecord, TargetRecord, Verdict, VerdictKind};

/// Returns a verdict if processes of loadgen were held up in rounds of a target.
pub(super) fn held_up(target: &TargetRecord) -> Option<Verdict> {
    let all: Vec<String> = target.rounds.iter().flat_map(in_round).collect();
    let advice = "loadgen did next to nothing in that time, and the server is not at fault: a signal stopped loadgen, the \
                  machine was suspended, or there was no CPU. A round that lacks 1 % of its time so is in no comparison: \
                  run it again";
    (!all.is_empty()).then(|| verdict(target, VerdictKind::HeldUp, all.join("; "), advice))
}

fn in_round(round: &RoundRecord) -> impl Iterator<Item = String> {
    round.held_up.iter().map(|HeldUpRecord { worker, total_s, .. }| {
        let who = worker.map_or_else(|| "loadgen".to_owned(), |worker| format!("worker {worker}"));
        format!("{who} was stopped for {total_s:.1} s in round {}", round.round)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_process_that_was_held_up_is_named() {
        let stopped = |worker, total_s| HeldUpRecord { worker, total_s, longest_s: total_s };
        let round = |round, held_up| RoundRecord { round, held_up, ..RoundRecord::default() };
        let target = |rounds| TargetRecord { rounds, ..TargetRecord::default() };
        assert_eq!(held_up(&target(vec![round(1, vec![])])), None);
        let alone = target(vec![round(1, vec![]), round(2, vec![stopped(None, 1.04)])]);
        assert_eq!(held_up(&alone).unwrap().message, "loadgen was stopped for 1.0 s in round 2");
        let of_workers = vec![round(3, vec![stopped(Some(0), 0.1), stopped(Some(2), 5.0)])];
        assert_eq!(
            held_up(&target(of_workers)).unwrap().message,
            "worker 0 was stopped for 0.1 s in round 3; worker 2 was stopped for 5.0 s in round 3"
        );
    }
}
