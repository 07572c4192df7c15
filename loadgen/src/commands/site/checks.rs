//! Says what speaks against showing a result that somebody else has measured.

use std::collections::BTreeSet;

use crate::analysis::history::Entry;
use crate::experiment::saved::Record;
use crate::measure::{LatencySummary, Summary};
use crate::record::{
    Bottleneck, CapacityRecord, CapacityTarget, ExperimentRecord, OverRounds, RunRecord,
    StepOverRounds, TargetRecord, VerdictKind,
};

/// Returns what speaks against a result, a sentence each: that it is incomplete or failed, that loadgen limited it, or
/// that figures contradict each other. Whoever alters all figures alike is not found out.
pub(super) fn objections(record: &Record) -> BTreeSet<String> {
    match record {
        Record::Run(record) => of_run(record),
        Record::Capacity(record) => of_search(record),
        Record::Experiment(record) => of_experiment(record),
    }
    .into_iter()
    .collect()
}

fn of_run(record: &RunRecord) -> Vec<String> {
    let mut why = incomplete(record.interrupted, record.degraded.is_some());
    why.extend(record.stopped_early.as_ref().map(|_| "it was ended early".to_owned()));
    if record.targets.is_empty() {
        why.push("it has no target".to_owned());
    }
    let is_bad = |kind: VerdictKind| kind.is_failure() || kind == VerdictKind::GeneratorBusy;
    let bad = record.verdicts.iter().filter(|it| is_bad(it.kind));
    why.extend(bad.map(|it| {
        let target = it.target.as_deref().unwrap_or("the run");
        format!("{target}: {} [{}]", it.message, it.kind.as_ref())
    }));
    for target in &record.targets {
        let name = &target.name;
        if target.bottleneck == Some(Bottleneck::Generator) {
            why.push(format!("{name}: loadgen itself limited the rate"));
        }
        why.extend(contradictions(target).into_iter().map(|what| format!("{name}: {what}")));
    }
    // For these reasons a site would show no figures either.
    if why.is_empty() {
        let doubts = Entry::run("", record).targets.into_iter().filter(|it| it.left_out.is_some());
        why.extend(doubts.map(|it| format!("{}: {}", it.name, it.left_out.unwrap_or_default())));
    }
    why
}

fn of_search(record: &CapacityRecord) -> Vec<String> {
    let mut why = incomplete(record.interrupted, record.degraded.is_some());
    if record.targets.is_empty() {
        why.push("it has no target".to_owned());
    }
    let wrong = record.targets.iter().filter(|target| !is_mean_of_rounds(target));
    why.extend(wrong.map(|it| format!("{}: its capacity is not that of its rounds", it.name)));
    why
}

/// Whether the capacity of a target follows from its rounds, if it was found in several.
fn is_mean_of_rounds(target: &CapacityTarget) -> bool {
    let found = OverRounds::of(target.found_per_s().into_values(), false);
    match (found, target.capacity.confidence_95_per_s, target.capacity.rate_per_s) {
        (Some(of), Some(ends), Some(rate)) => {
            near(of.mean, rate)
                && near(of.confidence_95[0], ends[0])
                && near(of.confidence_95[1], ends[1])
        }
        _ => true,
    }
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
fn contradictions(target: &TargetRecord) -> Vec<String> {
    let mut why = Vec::new();
    let total = &target.total;
    let sum = |all: &mut dyn Iterator<Item = &Summary>| {
        all.fold(0_u64, |sum, of| sum.saturating_add(of.requests))
    };
    if target.rounds.is_empty()
        || sum(&mut target.rounds.iter().map(|it| &it.total)) != total.requests
    {
        why.push("the requests of all rounds are not the sum of those of each".to_owned());
    }
    // Steps that are sent once, at the end, are in no total.
    if sum(&mut target.steps.iter()) < total.requests {
        why.push("the requests of all steps are not the sum of those of each".to_owned());
    }
    for step in &target.steps {
        let answered = step.requests.saturating_sub(step.errors);
        let follows = match target.latency_histograms.get(&step.name) {
            Some(all) => {
                all.latencies().len() == answered
                    && LatencySummary::from(all.latencies()) == step.latency_us
            }
            None => answered == 0,
        };
        if !follows {
            let name = &step.name;
            why.push(format!("the figures of step \"{name}\" do not follow from its latencies"));
        }
    }
    if ![false, true].iter().any(|one_start| follow_from_rounds(target, *one_start)) {
        why.push("its figures over rounds do not follow from its rounds".to_owned());
    }
    why
}

/// Whether the figures over rounds are those that the rounds have, which do or do not share one start of the server.
fn follow_from_rounds(target: &TargetRecord, one_start: bool) -> bool {
    let of = StepOverRounds::of(&target.rounds, one_start, |round| &round.total);
    let same = |a: &Option<OverRounds>, b: &Option<OverRounds>| match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => {
            near(a.mean, b.mean)
                && near(a.confidence_95[0], b.confidence_95[0])
                && near(a.confidence_95[1], b.confidence_95[1])
        }
        _ => false,
    };
    let (latency, recorded) = (&of.latency_us, &target.latency_over_rounds_us);
    same(&of.rate_per_s, &target.rate_over_rounds_per_s)
        && same(&latency.p50, &recorded.p50)
        && same(&latency.p95, &recorded.p95)
        && same(&latency.p99, &recorded.p99)
}

/// Whether two figures are the same but for rounding.
fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * a.abs().max(b.abs())
}
