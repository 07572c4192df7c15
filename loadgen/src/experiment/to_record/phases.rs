//! Sums up a phase of one round, or of several rounds pooled.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::analysis::steps::{by_step, of_group, together};
use crate::measure::{Counts, Distribution, Phase, Series, Summary};
use crate::record::FlowRecord;
use crate::scenario::{Attachment, Body, ITERATION, Scenario, Step, When, groups};

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
        .map(|(step, (counts, tail))| {
            Summary::new(&step.name, counts, tail, window).uploading(uploads(step))
        })
        .collect();
    if phase == Phase::Hold {
        for (index, counts) in at_stop(steps, rounds) {
            let nothing = Counts::default();
            summaries[index] = Summary::new(&steps[index].name, &counts, &nothing, Duration::ZERO);
        }
    }
    (summaries, Summary::new("all", &together(&counts), &together(&tail), window))
}

/// Number of bytes of the files in the body of each request; `None` without files.
fn uploads(step: &Step) -> Option<u64> {
    let files = step.body.iter().flat_map(Body::files);
    files.map(Attachment::length).reduce(|one, other| one + other)
}

/// Summarizes the requests of each group of steps during the hold.
pub(super) fn summarize_groups(
    steps: &[Step],
    rounds: &[&Series],
    window: Duration,
) -> Vec<Summary> {
    let names = groups(steps);
    if names.is_empty() {
        return Vec::new();
    }
    let mut counts = of_phase(steps, rounds, Phase::Hold);
    at_stop(steps, rounds).for_each(|(index, at_stop)| counts[index] = at_stop);
    let cut = of_phase(steps, rounds, Phase::Tail);
    let summary = |name: &str| {
        let [counts, cut] = [&counts, &cut].map(|counts| of_group(name, steps, counts));
        Summary::new(name, &counts, &cut, window)
    };
    names.into_iter().map(summary).collect()
}

/// Returns the counts of iterations in one phase over these rounds, for each flow.
pub(super) fn flows_of_phase(scenario: &Scenario, rounds: &[&Series], phase: Phase) -> Vec<Counts> {
    by_step(Series::flows_of(rounds.iter().copied(), phase), scenario.flows.len())
}

/// Summarizes the iterations of the hold, of all flows together and then of each of several flows.
/// Empty if iterations are not measured.
pub(super) fn summarize_flows(
    scenario: &Scenario,
    rounds: &[&Series],
    window: Duration,
) -> Vec<FlowRecord> {
    let [held, cut] = [Phase::Hold, Phase::Tail].map(|it| iterations(scenario, rounds, it));
    let both = held.iter().zip(&cut);
    both.map(|((name, held), (_, cut))| FlowRecord::new(name, held, cut, window)).collect()
}

/// Returns the latencies of the iterations of all flows together and of each flow, by name. Empty if
/// iterations are not measured.
pub(super) fn latencies_of_flows(
    scenario: &Scenario,
    rounds: &[&Series],
) -> Vec<(String, Distribution)> {
    let held = iterations(scenario, rounds, Phase::Hold).into_iter();
    held.map(|(name, counts)| (name.to_owned(), counts.answered.into())).collect()
}

/// Returns the counts of the iterations of all flows together and then of each of several flows, in
/// one phase, by name. Empty if iterations are not measured.
fn iterations<'a>(
    scenario: &'a Scenario,
    rounds: &[&Series],
    phase: Phase,
) -> Vec<(&'a str, Counts)> {
    if !scenario.measures_iterations() {
        return Vec::new();
    }
    let counts = flows_of_phase(scenario, rounds, phase);
    let all = (ITERATION, together(&counts));
    let named = scenario.flows.iter().map(|flow| flow.name.as_str()).zip(counts);
    std::iter::once(all).chain(named.filter(|(name, _)| *name != ITERATION)).collect()
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
