//! The summaries of a phase, of one round or of several pooled.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::analysis::steps::{by_step, together};
use crate::measure::{Counts, Phase, Series, Summary};
use crate::scenario::{Step, When};

/// What happened in one phase of these rounds, with a place for each step.
pub fn of_phase(steps: &[Step], rounds: &[&Series], phase: Phase) -> Vec<Counts> {
    by_step(Series::phase_of(rounds.iter().copied(), phase), steps.len())
}

/// The summaries of one phase, by step and of all steps together. What the end cut off belongs
/// to the hold.
pub fn summarize(
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

/// What became of the steps that users send when they stop: after the hold, so that it is in their
/// own rows only, and at no rate.
pub fn at_stop<'a>(
    steps: &'a [Step],
    rounds: &[&Series],
) -> impl Iterator<Item = (usize, Counts)> + use<'a> {
    let counts = of_phase(steps, rounds, Phase::Stop);
    counts.into_iter().enumerate().filter(|(index, _)| steps[*index].when == When::Stop)
}

/// What belongs to each step, by its name.
pub fn by_name<T>(steps: &[Step], each: impl Iterator<Item = T>) -> BTreeMap<String, T> {
    steps.iter().map(|step| step.name.clone()).zip(each).collect()
}

/// How many answers there were to all steps.
pub fn answered(steps: &[Counts]) -> u64 {
    steps.iter().map(|counts| counts.answered.len()).sum()
}

/// Gives a time in milliseconds.
pub fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
