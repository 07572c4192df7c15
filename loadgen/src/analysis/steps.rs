//! Combines the counts of steps.

use std::collections::BTreeMap;

use crate::measure::Counts;
use crate::scenario::Step;

/// Extends `counts` to one element for each of `steps` steps. Steps without observations get empty
/// counts.
pub fn by_step(mut counts: Vec<Counts>, steps: usize) -> Vec<Counts> {
    counts.resize_with(steps, Counts::default);
    counts
}

/// Adds the requests that were in flight at the end of a round to the counts of each step, together
/// with the delays with which these requests were sent.
pub fn with_cut(mut counts: Vec<Counts>, cut: &[Counts]) -> Vec<Counts> {
    for (ours, cut) in counts.iter_mut().zip(cut) {
        ours.merge_cut(cut);
        ours.delay.merge(&cut.delay);
    }
    counts
}

/// Merges the counts of all steps. Counters are left out, because each step has different counters.
pub fn together(steps: &[Counts]) -> Counts {
    steps.iter().fold(Counts::default(), |mut all, step| {
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
