//! Orders the targets of a report.

use crate::record::{Comparison, Placing, RunRecord, ServerRecord, TargetRecord};

/// Returns the targets in the order of the ranking, each with the target's place. Unranked targets
/// follow in the order of the record, each with `None`.
pub(crate) fn ranked(record: &RunRecord) -> Vec<(&TargetRecord, Option<&Placing>)> {
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

/// Returns a target's `name` for a table: in parentheses if there is a ranking that lacks the
/// target.
pub(crate) fn placed(name: &str, record: &RunRecord, target: &TargetRecord) -> String {
    if is_placed(record, target) { name.to_owned() } else { format!("({name})") }
}

/// Text for a legend that explains the parentheses around unranked targets; empty if no target is
/// in parentheses.
pub(crate) fn parentheses(record: &RunRecord) -> &'static str {
    match record.targets.iter().all(|target| is_placed(record, target)) {
        true => "",
        false => "; targets in parentheses are not ranked: the report says why",
    }
}

fn is_placed(record: &RunRecord, target: &TargetRecord) -> bool {
    let is_it =
        |comparison: &Comparison| comparison.ranking.iter().any(|p| p.target == target.name);
    record.comparison.as_ref().is_none_or(is_it)
}

/// Returns the servers in the order of the ranking. In a matrix, which measures a target in several
/// ways, each server appears once.
pub(crate) fn servers(record: &RunRecord) -> Vec<(&str, &ServerRecord)> {
    let mut servers: Vec<(&str, &ServerRecord)> = Vec::new();
    for (target, _) in ranked(record) {
        if !servers.iter().any(|(name, _)| *name == target.target) {
            servers.push((&target.target, &target.server));
        }
    }
    servers
}
