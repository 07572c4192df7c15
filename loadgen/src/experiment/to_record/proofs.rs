//! Checks whether backends hold what the scenario expects.

use crate::analysis::steps::{by_step, counters};
use crate::experiment::measured::MeasuredRound;
use crate::measure::{Counts, Phase};
use crate::record::{ExpectedContentRecord, ProofRecord};
use crate::scenario::{ExpectedContent, Proof, Scenario, Step};

/// Phases of a round whose requests reach a backend but do not count in the results.
const UNCOUNTED: [Phase; 4] = [Phase::Warmup, Phase::RampUp, Phase::Tail, Phase::Stop];

/// All phases of a round. No request of a probe counts in the results.
const PHASES: [Phase; 5] = [Phase::Warmup, Phase::RampUp, Phase::Hold, Phase::Tail, Phase::Stop];

/// Compares the backends' answers after a round with the content that the scenario expects (proofs).
/// Empty if the backends were not asked.
pub(super) fn proofs(scenario: &Scenario, round: &MeasuredRound) -> Vec<ProofRecord> {
    let unknown = unknown(round);
    let answered = scenario.proofs.iter().zip(&round.answers);
    let held_against = answered.map(|(proof, held)| {
        let expected = expected(proof, &scenario.steps, round);
        ProofRecord {
            round: round.number,
            backend: proof.backend.to_string(),
            question: proof.question.clone(),
            agrees: expected.is(*held),
            expected,
            held: *held,
            unknown,
        }
    });
    held_against.collect()
}

fn expected(proof: &Proof, steps: &[Step], round: &MeasuredRound) -> ExpectedContentRecord {
    let counter = match &proof.expected {
        ExpectedContent::Value(value) => return ExpectedContentRecord::Scenario { value: *value },
        ExpectedContent::Counter(counter) => counter,
    };
    let sum = |counts: &[Counts]| counters(steps, counts).get(counter).copied().unwrap_or(0);
    let of = |phase| sum(&by_step(round.results.series.phase(phase), steps.len()));
    let probed = |phase| {
        let probe = round.probe.as_ref()?;
        Some(sum(&by_step(probe.series.phase(phase), steps.len())))
    };
    let verified: Vec<Counts> = round
        .verified
        .iter()
        .map(|values| Counts { counters: values.clone(), ..Counts::default() })
        .collect();
    ExpectedContentRecord::Answers {
        counter: counter.clone(),
        counted: of(Phase::Hold),
        uncounted: sum(&verified)
            + UNCOUNTED.into_iter().map(of).sum::<u64>()
            + PHASES.into_iter().filter_map(probed).sum::<u64>(),
    }
}

/// Returns the number of requests that failed, also in the verification and of a probe, that were
/// cut off and not answered late, or that were sent again. Each of these requests may have changed a backend although no answer reported the change.
fn unknown(round: &MeasuredRound) -> u64 {
    let counts = PHASES.into_iter().flat_map(|phase| round.sent(phase));
    let cut = |counts: &Counts| counts.cancelled.saturating_sub(counts.answered_late);
    counts.fold(round.failed, |sum: u64, counts| {
        sum.saturating_add(counts.failures())
            .saturating_add(cut(&counts))
            .saturating_add(counts.resent)
    })
}
