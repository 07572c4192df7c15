//! The order of a report.

use crate::measure::{Placing, RunRecord, TargetRecord};

/// The targets in the order of the ranking, and then those that are in none, as they were named.
pub fn ranked(record: &RunRecord) -> Vec<(&TargetRecord, Option<&Placing>)> {
    match &record.comparison {
        None => record.targets.iter().map(|target| (target, None)).collect(),
        Some(comparison) => {
            let place = |target: &TargetRecord| {
                comparison.ranking.iter().position(|placing| placing.target == target.name)
            };
            let mut placed: Vec<_> = record.targets.iter().map(|t| (place(t), t)).collect();
            placed.sort_by_key(|(place, _)| place.unwrap_or(usize::MAX));
            let placing = |place: Option<usize>| place.map(|place| &comparison.ranking[place]);
            placed.into_iter().map(|(place, target)| (target, placing(place))).collect()
        }
    }
}
