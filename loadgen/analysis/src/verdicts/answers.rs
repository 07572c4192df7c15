//! Checks whether the answers to one request have one size, as they should.

use super::verdict;
use crate::record::{RunRecord, TargetRecord, Verdict, VerdictKind};
use loadgen_measure::{BodySizes, Summary};
use loadgen_scenario::{Scenario, Step};

/// Least ratio of the sizes of two bodies whose content counts as different.
const LARGER: f64 = 1.1;

/// Least difference of the sizes of two bodies, in bytes, whose content counts as different. A
/// smaller difference comes from the digits of a number, or from blanks.
const BYTES: u64 = 64;

fn differ(smaller: u64, larger: u64) -> bool {
    larger.saturating_sub(smaller) >= BYTES && larger as f64 >= LARGER * smaller as f64
}

/// Returns a verdict if a request that is always the same had answers of several sizes.
pub(super) fn answers_vary(target: &TargetRecord, scenario: &Scenario) -> Option<Verdict> {
    let same = scenario.steps.iter().zip(&target.steps).filter(|(step, _)| step.is_constant());
    let vary: Vec<String> = same
        .filter_map(|(_, summary)| Some((&summary.name, summary.body_bytes?)))
        .filter(|(_, bodies)| differ(bodies.smallest, bodies.largest))
        .map(|(name, bodies)| format!("{name} {} bytes", range(bodies)))
        .collect();
    if vary.is_empty() {
        return None;
    }
    let message =
        format!("the same request got response bodies of different sizes: {}", vary.join("; "));
    let advice = "a shorter response may mean less work: check both responses, and set `expect` of \
                  the step to the right one";
    Some(verdict(target, VerdictKind::AnswersVary, message, advice))
}

/// Returns a verdict if targets answered the same request with bodies of different sizes. The
/// ranges of sizes of two targets must not overlap: a size that varies within each target is no
/// difference.
pub(super) fn answers_differ(record: &RunRecord, scenario: &Scenario) -> Option<Verdict> {
    let message: Vec<String> = scenario
        .steps
        .iter()
        .enumerate()
        .filter_map(|(index, step)| differing(step, index, &record.targets))
        .collect();
    (!message.is_empty()).then(|| Verdict {
        kind: VerdictKind::AnswersDiffer,
        target: None,
        message: message.join("; "),
        advice: "targets whose responses differ may do different work: check the responses before \
                 you compare the targets"
            .to_owned(),
    })
}

fn differing(step: &Step, index: usize, targets: &[TargetRecord]) -> Option<String> {
    let of = |target: &TargetRecord| -> Option<(String, BodySizes)> {
        let bodies = target.steps.get(index).and_then(|summary: &Summary| summary.body_bytes)?;
        Some((target.name.clone(), bodies))
    };
    let bodies = || targets.iter().filter_map(of);
    let (little, small) = bodies().min_by_key(|(_, bodies)| bodies.largest)?;
    let (much, large) = bodies().max_by_key(|(_, bodies)| bodies.smallest)?;
    differ(small.largest, large.smallest).then(|| {
        format!(
            "response bodies of {} differ: {} bytes from {little}, {} bytes from {much}",
            step.name,
            range(small),
            range(large)
        )
    })
}

fn range(bodies: BodySizes) -> String {
    match bodies {
        BodySizes { smallest, largest } if smallest == largest => smallest.to_string(),
        BodySizes { smallest, largest } => format!("{smallest} to {largest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_differences_in_size_are_ignored() {
        assert!(!differ(20, 30), "a longer number");
        assert!(!differ(10_000, 10_100), "one in a hundred");
        assert!(differ(0, 64) && differ(1_000, 1_100));
        assert!(!differ(1_100, 1_000), "the other way round");
    }
}
