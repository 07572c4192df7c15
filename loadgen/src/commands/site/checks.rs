//! Says what speaks against showing a result that somebody else has measured.

use crate::experiment::saved::Record;
use crate::measure::{LatencySummary, Summary};
use crate::record::{Bottleneck, CapacityRecord, ExperimentRecord, RunRecord, TargetRecord};

/// Returns what speaks against a result, a sentence each: that it is incomplete, that its figures do not agree
/// with each other, or that loadgen limited them. Who alters all figures alike is not found out.
pub(super) fn objections(record: &Record) -> Vec<String> {
    match record {
        Record::Run(record) => of_run(record),
        Record::Capacity(record) => of_search(record),
        Record::Experiment(record) => of_experiment(record),
    }
}

fn of_run(record: &RunRecord) -> Vec<String> {
    let mut why = incomplete(record.interrupted, record.degraded.is_some());
    why.extend(record.stopped_early.as_ref().map(|_| "it was ended early".to_owned()));
    if record.targets.is_empty() {
        why.push("it has no target".to_owned());
    }
    for target in &record.targets {
        let name = &target.name;
        let of_target = record.verdicts.iter().filter(|it| it.target.as_ref() == Some(name));
        let failed = of_target.filter(|it| it.kind.is_failure());
        why.extend(failed.map(|it| format!("{name}: {} [{}]", it.message, it.kind.as_ref())));
        if target.bottleneck == Some(Bottleneck::Generator) {
            why.push(format!("{name}: loadgen itself limited the rate"));
        }
        why.extend(altered(target).into_iter().map(|what| format!("{name}: {what}")));
    }
    why
}

fn of_search(record: &CapacityRecord) -> Vec<String> {
    let mut why = incomplete(record.interrupted, record.degraded.is_some());
    if record.targets.is_empty() {
        why.push("it has no target".to_owned());
    }
    why
}

fn of_experiment(record: &ExperimentRecord) -> Vec<String> {
    let mut why = incomplete(record.interrupted, false);
    let runs = record.groups.iter().flat_map(|group| &group.runs);
    why.extend(runs.flat_map(of_run));
    let searches = record.groups.iter().filter_map(|group| group.capacity.as_ref());
    why.extend(searches.flat_map(of_search));
    why
}

fn incomplete(interrupted: bool, degraded: bool) -> Vec<String> {
    let interrupted = interrupted.then(|| "it was interrupted".to_owned());
    let degraded = degraded.then(|| "it did not go as planned".to_owned());
    interrupted.into_iter().chain(degraded).collect()
}

/// Returns how the figures of a target contradict each other.
fn altered(target: &TargetRecord) -> Vec<String> {
    let mut why = Vec::new();
    let total = &target.total;
    let sum = |of: fn(&Summary) -> u64| target.steps.iter().map(of).sum::<u64>();
    if sum(|step| step.requests) != total.requests || sum(|step| step.errors) != total.errors {
        why.push("the requests of all steps are not the sum of those of each".to_owned());
    }
    if !target.rounds.is_empty() {
        let rounds: u64 = target.rounds.iter().map(|round| round.total.requests).sum();
        if rounds != total.requests {
            why.push("the requests of all rounds are not the sum of those of each".to_owned());
        }
    }
    for step in &target.steps {
        let Some(latencies) = target.latency_histograms.get(&step.name) else { continue };
        let latencies = latencies.latencies();
        let answered = step.requests.saturating_sub(step.errors);
        if latencies.len() != answered || LatencySummary::from(latencies) != step.latency_us {
            why.push(format!(
                "the figures of step \"{}\" do not follow from its latencies",
                step.name
            ));
        }
    }
    why
}
