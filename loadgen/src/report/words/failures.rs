//! Says why a command ends with a failure although it measured: what a program that reads the document from
//! standard output would have to look for.

use super::gate;
use super::thresholds::judged;
use crate::record::{Bound, CapacityRecord, ExperimentRecord, Judgement, RunRecord};

/// Returns a sentence for each threshold that failed, each target that the gate did not let pass, and each
/// verdict that makes the run a failure.
pub(crate) fn of_run(record: &RunRecord) -> Vec<String> {
    let thresholds = record.thresholds.iter().filter(|threshold| !threshold.passed);
    let gates = record.gate.iter().flat_map(|gate| {
        let stopped = gate
            .judged
            .iter()
            .filter(|one| matches!(one.judgement, Judgement::Slower | Judgement::Unjudged));
        stopped.map(|one| gate::judged(gate, one))
    });
    let verdicts = record.verdicts.iter().filter(|verdict| verdict.kind.is_failure());
    let verdicts = verdicts.map(|verdict| match &verdict.target {
        Some(target) => format!("{target}: {}", verdict.coded()),
        None => verdict.coded(),
    });
    let thresholds = thresholds.map(|threshold| format!("threshold failed: {}", judged(threshold)));
    thresholds.chain(gates).chain(verdicts).collect()
}

/// Returns a sentence for each target that passed at no rate.
pub(crate) fn of_search(record: &CapacityRecord) -> Vec<String> {
    let below = record.targets.iter().filter(|target| target.capacity.bound == Bound::Below);
    below.map(|target| format!("{} passed at no rate", target.name)).collect()
}

/// Returns the failures of all groups.
pub(crate) fn of_experiment(record: &ExperimentRecord) -> Vec<String> {
    let of_group = record.groups.iter().flat_map(|group| {
        let runs = group.runs.iter().flat_map(of_run);
        let all = runs.chain(group.capacity.iter().flat_map(of_search));
        all.map(|failure| format!("{}: {failure}", group.name))
    });
    of_group.collect()
}
