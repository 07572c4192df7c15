//! Combines the counts of steps.

use std::collections::BTreeMap;

use crate::measure::Counts;
use crate::scenario::Step;

/// Extends the counts to one element for each step, including steps that nothing was observed of.
pub fn by_step(mut counts: Vec<Counts>, steps: usize) -> Vec<Counts> {
    counts.resize_with(steps, Counts::default);
    counts
}

/// Adds to the counts of each step those of the requests that the end cut off: the requests in
/// flight at the end, and the delays of their sending.
pub fn with_cut(mut counts: Vec<Counts>, cut: &[Counts]) -> Vec<Counts> {
    for (ours, cut) in counts.iter_mut().zip(cut) {
        ours.merge_cut(cut);
        ours.delay.merge(&cut.delay);
    }
    counts
}

/// Merges all steps. Counters belong to their steps and are left out.
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
