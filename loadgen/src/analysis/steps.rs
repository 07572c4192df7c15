//! Counts by step, and what they come to.

use std::collections::BTreeMap;

use crate::measure::Counts;
use crate::scenario::Step;

/// A place for each step, also for those of which nothing was seen.
pub fn by_step(mut counts: Vec<Counts>, steps: usize) -> Vec<Counts> {
    counts.resize_with(steps, Counts::default);
    counts
}

/// The counts of each step with what the end cut off of it: what is told of requests that were in flight,
/// and how late they were sent.
pub fn with_cut(mut counts: Vec<Counts>, cut: &[Counts]) -> Vec<Counts> {
    for (ours, cut) in counts.iter_mut().zip(cut) {
        ours.merge_cut(cut);
        ours.delay.merge(&cut.delay);
    }
    counts
}

/// All steps together. Counters belong to their steps and are left out.
pub fn together(steps: &[Counts]) -> Counts {
    steps.iter().fold(Counts::default(), |mut all, step| {
        all.merge(&Counts { counters: Vec::new(), ..step.clone() });
        all
    })
}

/// The counters' sums by name, over all steps that have them.
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
