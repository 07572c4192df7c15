//! Combines the counts of steps.

use std::collections::BTreeMap;

use loadgen_measure::Counts;
use loadgen_scenario::{Scenario, Step};

/// Extends `counts` to one element for each of `steps` steps. Steps without observations get empty
/// counts.
pub fn by_step(mut counts: Vec<Counts>, steps: usize) -> Vec<Counts> {
    counts.resize_with(steps, Counts::default);
    counts
}

/// Counts of one period of a target.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// Counts of requests, by step.
    pub steps: Vec<Counts>,
    /// Counts of whole iterations, by flow; empty if iterations are not measured.
    pub flows: Vec<Counts>,
}

/// Returns counts of nothing for each step and each flow of a scenario.
pub fn no_counts(scenario: &Scenario) -> Tally {
    let none = |count| by_step(Vec::new(), count);
    Tally { steps: none(scenario.steps.len()), flows: none(scenario.flows.len()) }
}

impl Tally {
    /// Adds what was in flight at the end of a round, together with the delays with which these
    /// requests were sent.
    #[must_use]
    pub fn with_cut(mut self, cut: &Self) -> Self {
        let steps = self.steps.iter_mut().zip(&cut.steps);
        for (ours, cut) in steps.chain(self.flows.iter_mut().zip(&cut.flows)) {
            ours.merge_cut(cut);
            ours.delay.merge(&cut.delay);
        }
        self
    }

    /// Adds all counts of another period.
    pub fn merge(&mut self, steps: &[Counts], flows: &[Counts]) {
        let steps = self.steps.iter_mut().zip(steps);
        steps.chain(self.flows.iter_mut().zip(flows)).for_each(|(ours, more)| ours.merge(more));
    }
}

/// Sums the counts of the steps in the group of this name.
pub fn of_group(name: &str, steps: &[Step], counts: &[Counts]) -> Counts {
    let own = steps.iter().zip(counts).filter(|(step, _)| step.is_in_group(name));
    together(own.map(|(_, counts)| counts))
}

/// Merges the counts of several steps. Counters are left out, because each step has different
/// counters.
pub fn together<'a>(steps: impl IntoIterator<Item = &'a Counts>) -> Counts {
    steps.into_iter().fold(Counts::default(), |mut all, step| {
        all.merge(&Counts { counters: Vec::new(), ..step.clone() });
        all
    })
}

/// Sums the counters by name, over all steps that have them.
pub fn counters(steps: &[Step], counts: &[Counts]) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for (step, counts) in steps.iter().zip(counts) {
        for (i, counter) in step.counters.iter().enumerate() {
            *sums.entry(counter.name.clone()).or_default() +=
                counts.counters.get(i).copied().unwrap_or(0);
        }
    }
    sums
}
