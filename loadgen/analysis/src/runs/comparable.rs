//! Extracts from runs and capacity searches the data that a comparison needs, in a common form.

use std::collections::BTreeSet;

use super::unlike::Leaves;
use crate::compare::{ByPercentile, ByRound};
use crate::figures::{by_percentile, rates, requests_per_cpu_s, speeds};
use crate::loss::doubt;
use crate::record::{
    Bottleneck, CapacityRecord, CapacityTarget, ComparedRun, ComparedTarget, ConnectionsRecord,
    Environment, FailedBy, Lack, LossOf, RankedBy, RunRecord, SearchRecord, SentRecord,
    SystemRecord, TargetRecord, Verdict, VerdictKind,
};

/// The data of a saved run or capacity search that a comparison of runs needs.
#[derive(Debug, Clone)]
pub struct Comparable {
    pub(super) run: ComparedRun,
    pub(super) ranked_by: RankedBy,
    /// Whether each target was loaded at the same time as another one.
    pub(super) has_duets: bool,
    pub(super) targets: Vec<Measured>,
    /// Settings and environment of the run, which should be the same in all compared runs.
    pub(super) leaves: Leaves,
    /// Digests of the requests; `None` where the record lacks them.
    pub(super) sent: Option<SentRecord>,
}

/// Results of one target in a saved run or capacity search.
#[derive(Debug, Clone)]
pub(super) struct Measured {
    pub target: ComparedTarget,
    /// Expected answers per second, by the number of the round; in a capacity search, the
    /// capacities in requests/s that the rounds found.
    pub rates: ByRound,
    /// One over the median latency in s, by the number of the round, for the open model; or the
    /// reason why the speed is missing.
    pub speeds: Result<ByRound, Lack>,
    /// Expected answers per second of the target's CPU time, by the number of the round, for the
    /// open model; empty if unknown.
    pub per_cpu_s: ByRound,
    /// One over each latency percentile in s, by the number of the round; empty for a capacity
    /// search.
    pub latencies: ByPercentile,
    /// Party other than the target that limited the rate, which is then not compared; `None` if no
    /// other party limited the rate.
    pub limited: Option<Lack>,
    /// Transport of the requests; `None` where the record lacks the transport.
    pub transport: Option<String>,
    /// HTTP versions of the connections; `None` where the record lacks them.
    pub versions: Option<BTreeSet<String>>,
}

impl Comparable {
    /// Converts the record of a run, which is named `name` in the comparison.
    #[must_use]
    pub fn run(name: &str, record: &RunRecord) -> Self {
        let mut leaves = leaves(&record.scenario, &record.environment);
        leaves.add("load", &record.load);
        for target in &record.targets {
            leaves.add(&target.name, &target.server);
        }
        let steps = record.targets.iter().flat_map(|target| &target.steps);
        leaves.add("steps", &steps.map(|step| step.name.as_str()).collect::<BTreeSet<_>>());
        // The field `interrupted` reports an interruption, as for searches.
        let is_told = |it: &&Verdict| {
            !matches!(it.kind, VerdictKind::TooFewSamples | VerdictKind::Interrupted)
        };
        Self {
            run: ComparedRun {
                name: name.to_owned(),
                started: record.started.clone(),
                scenario: record.scenario.clone(),
                verdicts: record.verdicts.iter().filter(is_told).cloned().collect(),
                degraded: record.degraded.as_ref().map(|degraded| degraded.reason.clone()),
                interrupted: record.interrupted,
                in_stages: record.precision.is_some(),
            },
            ranked_by: RankedBy::under(&record.load),
            has_duets: record.duet.is_some(),
            targets: record.targets.iter().map(|it| Measured::in_run(name, it, record)).collect(),
            leaves,
            sent: record.sent.clone(),
        }
    }

    /// Converts the record of a capacity search, which is named `name` in the comparison.
    #[must_use]
    pub fn search(name: &str, record: &CapacityRecord) -> Self {
        let mut leaves = leaves(&record.scenario, &record.environment);
        // The list of targets is left out, because the targets themselves show which ones exist.
        leaves.add("search", &SearchRecord { targets: Vec::new(), ..record.search.clone() });
        for target in &record.targets {
            leaves.add(&target.name, &target.server);
        }
        Self {
            run: ComparedRun {
                name: name.to_owned(),
                started: record.started.clone(),
                scenario: record.scenario.clone(),
                verdicts: Vec::new(),
                degraded: record.degraded.as_ref().map(|degraded| degraded.reason.clone()),
                interrupted: record.interrupted,
                in_stages: false,
            },
            ranked_by: RankedBy::Capacity,
            has_duets: false,
            targets: record.targets.iter().map(|it| Measured::in_search(name, it)).collect(),
            leaves,
            sent: record.sent.clone(),
        }
    }
}

impl Comparable {
    /// Returns the results of the target of this name.
    pub(super) fn target(&self, name: &str) -> Option<&Measured> {
        self.targets.iter().find(|measured| measured.target.target == name)
    }

    /// Returns whether the result has a target of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.target(name).is_some()
    }
}

fn leaves(scenario: &str, environment: &Environment) -> Leaves {
    let mut leaves = Leaves::default();
    leaves.add("scenario", scenario);
    leaves.add("environment", &lasting(environment));
    leaves
}

/// Returns the environment without what differs between any two results: the load before, and the numbers of messages
/// with metrics.
pub(crate) fn lasting(environment: &Environment) -> Environment {
    let system = SystemRecord { load_average: None, ..environment.system.clone() };
    Environment { system, telemetry: None, ..environment.clone() }
}

impl Measured {
    fn in_run(run: &str, record: &TargetRecord, all: &RunRecord) -> Self {
        let used = record.resources.get("target");
        let of = LossOf::from(RankedBy::under(&all.load));
        Self {
            target: ComparedTarget {
                name: format!("{} ({run})", record.name),
                target: record.name.clone(),
                run: run.to_owned(),
                requests: record.total.requests,
                errors: record.total.errors,
                latency_us: record.total.latency_us.clone(),
                cpu_us_per_request: used.and_then(|used| used.cpu_us_per_request),
                capacity: None,
                knee_per_s: None,
                failed: failed(record, all),
                doubt: doubt(record, &all.load, of),
            },
            rates: rates(&record.rounds),
            speeds: speeds(&record.rounds, &all.load),
            per_cpu_s: requests_per_cpu_s(&record.rounds, &all.load).unwrap_or_default(),
            latencies: by_percentile(&record.rounds, &all.load),
            limited: limited(record, all),
            transport: record.transport.clone(),
            versions: versions(record.rounds.iter().map(|round| round.connections.as_ref())),
        }
    }

    fn in_search(run: &str, record: &CapacityTarget) -> Self {
        let knee = record.knee.as_ref();
        let trials = || record.trials.iter().map(|trial| &trial.total);
        Self {
            target: ComparedTarget {
                name: format!("{} ({run})", record.name),
                target: record.name.clone(),
                run: run.to_owned(),
                requests: trials().map(|total| total.requests).sum(),
                errors: trials().map(|total| total.errors).sum(),
                latency_us: knee.map(|knee| knee.latency_us.clone()).unwrap_or_default(),
                cpu_us_per_request: knee.and_then(|knee| knee.target_cpu_us_per_request),
                capacity: Some(record.capacity),
                knee_per_s: knee.map(|knee| knee.rate_per_s),
                failed: Vec::new(),
                doubt: None,
            },
            rates: record.found_per_s(),
            speeds: Err(Lack::OnlyABound),
            per_cpu_s: ByRound::new(),
            latencies: ByPercentile::new(),
            limited: None,
            transport: record.transport.clone(),
            versions: versions(std::iter::once(record.connections.as_ref())),
        }
    }
}

/// Returns the party other than the target that limited the target's rate, or may have limited the
/// rate; `None` if there was no such party.
pub(crate) fn limited(target: &TargetRecord, run: &RunRecord) -> Option<Lack> {
    match &target.bottleneck {
        Some(Bottleneck::Target) => None,
        Some(Bottleneck::Generator) => Some(Lack::LimitedByLoadgen),
        Some(Bottleneck::Backend(_)) => Some(Lack::LimitedByBackend),
        Some(Bottleneck::Network) => Some(Lack::LimitedByNetwork),
        Some(Bottleneck::Nobody) | None => verdicts(target, run)
            .any(|it| it.kind == VerdictKind::GeneratorBusy)
            .then_some(Lack::LimitedByLoadgen),
    }
}

/// Returns descriptions of the target's failed thresholds, of the verdicts that make the run a failure
/// for the target, and of what ended the run or changed its load.
fn failed(target: &TargetRecord, run: &RunRecord) -> Vec<String> {
    let of_target = run.thresholds.iter().filter(|it| it.target == target.name && !it.passed);
    let thresholds = of_target.map(|it| {
        let by = match it.failed_by {
            Some(FailedBy::InFlight) => "requests in flight at the end",
            Some(FailedBy::TooFewSamples) => "too few samples",
            Some(FailedBy::Measured) | None => "the measured value",
        };
        format!("threshold {} failed, because of {by}", it.threshold)
    });
    let verdicts = verdicts(target, run).filter(|it| it.kind.is_failure());
    let degraded = run.degraded.iter().map(|it| it.reason.clone());
    let interrupted = run.interrupted.then(|| "the run was interrupted".to_owned());
    thresholds.chain(verdicts.map(Verdict::coded)).chain(degraded).chain(interrupted).collect()
}

fn verdicts<'a>(target: &'a TargetRecord, run: &'a RunRecord) -> impl Iterator<Item = &'a Verdict> {
    run.verdicts.iter().filter(|it| it.target.as_ref() == Some(&target.name))
}

/// Returns the HTTP versions of all connections; `None` if a round has no record of connections, or
/// if no connection has a known version.
pub(crate) fn versions<'a>(
    rounds: impl Iterator<Item = Option<&'a ConnectionsRecord>>,
) -> Option<BTreeSet<String>> {
    let mut all = BTreeSet::new();
    for round in rounds {
        all.extend(round?.counts.versions.keys().cloned());
    }
    (!all.is_empty()).then_some(all)
}
