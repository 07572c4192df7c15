//! Lists changes of the load during a run.

use crate::record::RunRecord;

/// Describes all changes of a run's load; `None` if the load went as planned.
pub(crate) fn changes(record: &RunRecord) -> Option<String> {
    let rounds = record.targets.iter().flat_map(|target| {
        target.rounds.iter().map(move |round| (&target.name, round.round, &round.changes))
    });
    let all: Vec<String> = rounds
        .filter(|(.., changes)| !changes.is_empty())
        .map(|(target, round, changes)| {
            let changes: Vec<String> = changes.iter().map(ToString::to_string).collect();
            format!("{} in round {round} ({target})", changes.join(", "))
        })
        .collect();
    (!all.is_empty()).then(|| format!("load changed during the run: {}", all.join("; ")))
}
