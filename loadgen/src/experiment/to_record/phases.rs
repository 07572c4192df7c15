//! Sums up a phase of one round, or of several rounds pooled.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::analysis::steps::{by_step, together};
use crate::measure::{Counts, Phase, Series, Summary};
use crate::scenario::{Step, When};

/// Adds up the counts of one phase over these rounds, for each step.
pub(super) fn of_phase(steps: &[Step], rounds: &[&Series], phase: Phase) -> Vec<Counts> {
    by_step(Series::phase_of(rounds.iter().copied(), phase), steps.len())
}

/// Summarizes one phase, for each step and for all steps together. Requests that the end of a round
/// cut off belong to the hold (the phase with the full load).
pub(super) fn summarize(
    steps: &[Step],
    rounds: &[&Series],
    phase: Phase,
    window: Duration,
) -> (Vec<Summary>, Summary) {
    let counts = of_phase(steps, rounds, phase);
    let tail = match phase {
        Phase::Hold => of_phase(steps, rounds, Phase::Tail),
        _ => vec![Counts::default(); steps.len()],
    };
    let mut summaries: Vec<Summary> = steps
        .iter()
        .zip(counts.iter().zip(&tail))
        .map(|(step, (counts, tail))| Summary::new(&step.name, counts, tail, window))
        .collect();
    if phase == Phase::Hold {
        for (index, counts) in at_stop(steps, rounds) {
            let nothing = Counts::default();
            summaries[index] = Summary::new(&steps[index].name, &counts, &nothing, Duration::ZERO);
        }
    }
    (summaries, Summary::new("all", &together(&counts), &together(&tail), window))
}

/// Returns index and counts of each step that users send when they stop. These requests come after
/// the hold, so the requests appear only in the rows of their steps, and in no rate.
pub(super) fn at_stop<'a>(
    steps: &'a [Step],
    rounds: &[&Series],
) -> impl Iterator<Item = (usize, Counts)> + use<'a> {
    let counts = of_phase(steps, rounds, Phase::Stop);
    counts.into_iter().enumerate().filter(|(index, _)| steps[*index].when == When::Stop)
}

/// Maps each step's name to the step's value, where
/// `each` has the values in the order of the steps.
pub(super) fn by_name<T>(steps: &[Step], each: impl Iterator<Item = T>) -> BTreeMap<String, T> {
    steps.iter().map(|step| step.name.clone()).zip(each).collect()
}

/// Returns the number of answers to all steps that were as expected.
pub(super) fn answered(steps: &[Counts]) -> u64 {
    steps.iter().map(|counts| counts.answered.len()).sum()
}

/// Converts a time to milliseconds.
pub(super) fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
