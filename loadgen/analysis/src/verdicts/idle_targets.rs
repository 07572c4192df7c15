//! Checks that the targets that were up without load, in slices or in one start, did not disturb the target under load.

use super::verdict;
use crate::record::{TargetRecord, Verdict, VerdictKind};
use loadgen_measure::IDLE_TARGETS;

/// CPU time of all idle targets together, in % of one core, above which it is in the figures of the
/// target under load.
const MOST_PERCENT: f64 = 1.0;

/// Returns a verdict if the idle targets used more CPU time than a target without load should need, in
/// all rounds of this target together.
pub(super) fn idle_targets_busy(target: &TargetRecord) -> Option<Verdict> {
    let used = target.resources.get(IDLE_TARGETS)?;
    // A single slice is too short for a time with a resolution of 10 ms.
    let held_s: f64 = target.rounds.iter().map(|round| round.held_s).sum();
    let percent = used.cpu_s / held_s * 100.0;
    (percent > MOST_PERCENT).then(|| {
        let message = format!(
            "the targets without load used {percent:.1} % of a CPU while this one was loaded"
        );
        let advice = "work in the background of one target is in the figures of the others: stop it, or \
                      measure each target up alone: without --slices, or in the full form of an experiment";
        verdict(target, VerdictKind::IdleTargetsBusy, message, advice)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::RoundRecord;
    use loadgen_measure::ResourceRecord;

    /// Returns a target with two slices of 2 s, beside which the idle targets used this CPU time in s.
    fn beside(cpu_s: f64) -> TargetRecord {
        let used = ResourceRecord { cpu_s, ..ResourceRecord::default() };
        let round = RoundRecord { held_s: 2.0, ..RoundRecord::default() };
        TargetRecord {
            resources: [(IDLE_TARGETS.to_owned(), used)].into(),
            rounds: vec![round; 2],
            ..TargetRecord::default()
        }
    }

    #[test]
    fn more_than_a_hundredth_of_a_cpu_is_too_much() {
        assert_eq!(idle_targets_busy(&beside(0.04)), None);
        let said = idle_targets_busy(&beside(0.1)).unwrap();
        assert_eq!(said.kind, VerdictKind::IdleTargetsBusy);
        assert_eq!(
            said.message,
            "the targets without load used 2.5 % of a CPU while this one was loaded"
        );
        assert_eq!(idle_targets_busy(&TargetRecord::default()), None);
    }
}
