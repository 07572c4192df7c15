//! Extracts from a saved result what its history needs, in a form that is small and can be kept.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::figures::speeds;
use crate::loss::doubt;
use crate::record::{
    Bound, CapacityRecord, CapacityTarget, Comparison, Environment, ExperimentRecord, Finding,
    Lack, LossOf, OverRounds, RankedBy, RunRecord, SearchRecord, SentRecord, TargetRecord, Verdict,
};
use crate::runs::{Leaves, lasting, limited, versions};
use loadgen_measure::LatencySummary;

/// A result, as the history keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Name of the result, unique among all.
    pub name: String,
    /// Kind of the result: only results of one kind have a common history.
    pub kind: Kind,
    /// Name of the scenario; of an experiment, its title.
    pub title: String,
    /// Start of the measurement, in RFC 3339, in UTC.
    pub started: String,
    /// Seed of the measurement, which with the start tells results apart; of an experiment 0.
    pub seed: u64,
    /// Targets, in the order of the result; of an experiment none.
    pub targets: Vec<MeasuredTarget>,
    /// Verdicts; of a search none.
    pub verdicts: Vec<Verdict>,
    /// Reason why the figures are in no history; `None` if they are.
    pub left_out: Option<String>,
    /// Number of the claims of an experiment that held, that did not, and that could not be shown.
    pub claims: [usize; 3],
}

/// Kind of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A run in the closed model.
    Closed,
    /// A run in the open model.
    Open,
    /// A run whose targets were loaded two at a time.
    Duets,
    /// A search for capacities.
    Capacity,
    /// An experiment.
    Experiment,
}

/// A target in one result, as the history keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasuredTarget {
    /// Name of the target.
    pub name: String,
    /// Figures that are known.
    pub figures: BTreeMap<Metric, Figure>,
    /// Number of the targets that were shown to be better, plus one: targets of which neither was shown to be better
    /// may share a place. `None` without a ranking, or outside of it.
    pub place: Option<usize>,
    /// Reason why the figures say nothing about the target; `None` if they do.
    pub left_out: Option<String>,
    /// Commit of the target's program; `None` if unknown.
    pub commit: Option<String>,
    /// Requests, machine and software, by path: only results with equal settings can be compared.
    pub settings: BTreeMap<String, String>,
}

/// A figure whose history is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Expected responses per second.
    Rate,
    /// Highest rate at which all thresholds held, in requests/s.
    Capacity,
    /// Median latency, in ms.
    P50,
    /// 99th percentile of latency, in ms.
    P99,
    /// CPU time of the target per expected response, in µs.
    Cpu,
}

/// A figure of one result.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Mean over rounds.
    pub mean: f64,
    /// 95 % confidence interval of the mean; `None` with one round.
    pub confidence_95: Option<[f64; 2]>,
}

impl Metric {
    /// Whether a greater figure is better.
    #[must_use]
    pub fn is_better_high(self) -> bool {
        matches!(self, Self::Rate | Self::Capacity)
    }
}

impl Entry {
    /// Returns the result of the same target here, if the two can be compared.
    #[must_use]
    pub fn comparable(&self, target: &MeasuredTarget) -> Option<&MeasuredTarget> {
        let is_it = |it: &&MeasuredTarget| {
            it.name == target.name && it.settings == target.settings && it.left_out.is_none()
        };
        self.targets.iter().filter(|_| self.left_out.is_none()).find(is_it)
    }

    /// Extracts what the history keeps of a run.
    #[must_use]
    pub fn run(name: &str, record: &RunRecord) -> Self {
        let kind = match (&record.duet, RankedBy::under(&record.load)) {
            (Some(_), _) => Kind::Duets,
            (None, RankedBy::Speed) => Kind::Open,
            (None, _) => Kind::Closed,
        };
        let mut common = common(name, &record.environment, record.sent.as_ref());
        common.add("load", &record.load);
        let place = |target: &str| place(record.comparison.as_ref()?, target);
        let of_target = |target: &TargetRecord| {
            let mut settings = common.clone();
            settings.add("server", &target.server);
            settings.add("transport", &target.transport);
            let of_rounds = target.rounds.iter().map(|round| round.connections.as_ref());
            settings.add("versions_of_http", &versions(of_rounds));
            let hosts: BTreeSet<&String> =
                target.workers.iter().filter_map(|worker| worker.host.as_ref()).collect();
            settings.add("hosts_of_workers", &hosts);
            if record.environment.runtime == "url" {
                settings.add("url", &target.url);
            }
            MeasuredTarget {
                name: target.name.clone(),
                figures: figures(target, kind),
                place: place(&target.name),
                left_out: doubt_of(target, record, kind),
                commit: target.server.git.as_ref().map(|git| git.commit.clone()),
                settings: compared(settings, &target.target),
            }
        };
        let degraded = record.degraded.as_ref().map(|degraded| degraded.reason.clone());
        let early = record.stopped_early.as_ref().map(|_| "it was ended early".to_owned());
        Self {
            name: name.to_owned(),
            kind,
            title: record.scenario.clone(),
            started: record.started.clone(),
            seed: record.seed,
            targets: record.targets.iter().map(of_target).collect(),
            verdicts: record.verdicts.clone(),
            left_out: interrupted(record.interrupted).or(degraded).or(early),
            claims: [0; 3],
        }
    }

    /// Extracts what the history keeps of a search.
    #[must_use]
    pub fn search(name: &str, record: &CapacityRecord) -> Self {
        let mut common = common(name, &record.environment, record.sent.as_ref());
        common.add("search", &SearchRecord { targets: Vec::new(), ..record.search.clone() });
        let of_target = |target: &CapacityTarget| {
            let mut settings = common.clone();
            settings.add("server", &target.server);
            settings.add("transport", &target.transport);
            settings.add("versions_of_http", &versions([target.connections.as_ref()].into_iter()));
            if record.environment.runtime == "url" {
                settings.add("url", &target.url);
            }
            let is_found = target.capacity.bound == Bound::Found;
            let figure = target
                .capacity
                .rate_per_s
                .map(|mean| Figure { mean, confidence_95: target.capacity.confidence_95_per_s });
            MeasuredTarget {
                name: target.name.clone(),
                figures: known([(Metric::Capacity, figure)]),
                place: record.comparison.as_ref().and_then(|all| place(all, &target.name)),
                left_out: (!is_found).then(|| "the capacity is only a bound".to_owned()),
                commit: target.server.git.as_ref().map(|git| git.commit.clone()),
                settings: compared(settings, &target.name),
            }
        };
        let degraded = record.degraded.as_ref().map(|degraded| degraded.reason.clone());
        Self {
            name: name.to_owned(),
            kind: Kind::Capacity,
            title: record.scenario.clone(),
            started: record.started.clone(),
            seed: record.seed,
            targets: record.targets.iter().map(of_target).collect(),
            verdicts: Vec::new(),
            left_out: interrupted(record.interrupted).or(degraded),
            claims: [0; 3],
        }
    }

    /// Extracts what the history keeps of an experiment: how many of its claims held.
    #[must_use]
    pub fn experiment(name: &str, record: &ExperimentRecord) -> Self {
        let count = |finding| record.claims.iter().filter(|it| it.finding == finding).count();
        Self {
            name: name.to_owned(),
            kind: Kind::Experiment,
            title: record.title.clone(),
            started: record.started.clone(),
            seed: 0,
            targets: Vec::new(),
            verdicts: Vec::new(),
            left_out: interrupted(record.interrupted),
            claims: [Finding::Held, Finding::DidNotHold, Finding::CouldNotBeShown].map(count),
        }
    }
}

fn interrupted(is_interrupted: bool) -> Option<String> {
    is_interrupted.then(|| "it was interrupted".to_owned())
}

/// Returns why the figures of a target in a run say nothing about it: the reasons for which `loadgen compare` does not
/// compare it, and failures.
fn doubt_of(target: &TargetRecord, run: &RunRecord, kind: Kind) -> Option<String> {
    let of_target = |it: &&Verdict| it.target.as_ref() == Some(&target.name);
    let failed = run.verdicts.iter().filter(of_target).find(|it| it.kind.is_failure());
    let failed = failed.map(|it| format!("it failed: {}", it.kind.as_ref()));
    let limited = limited(target, run).map(|lack| format!("it {lack}"));
    let is_whole = target.rounds.iter().any(|round| round.whole);
    let no_round = (!is_whole).then(|| format!("it {}", Lack::NoWholeRound));
    let not_carried = (kind == Kind::Open)
        .then(|| speeds(&target.rounds, &run.load).err())
        .flatten()
        .map(|lack| format!("it {lack}"));
    let of = LossOf::from(RankedBy::under(&run.load));
    failed
        .or(limited)
        .or(no_round)
        .or(not_carried)
        .or_else(|| doubt(target, &run.load, of).map(|what| format!("it {what}")))
}

/// Returns the figures of a target in a run, of its whole rounds. In the open model the rate is that of the plan, and in a
/// duet rates and latencies are not those of a server alone.
fn figures(target: &TargetRecord, kind: Kind) -> BTreeMap<Metric, Figure> {
    let over = |of: &OverRounds, unit: f64| Figure {
        mean: of.mean / unit,
        confidence_95: Some(of.confidence_95.map(|end| end / unit)),
    };
    let once = |mean: f64, unit: f64| Figure { mean: mean / unit, confidence_95: None };
    // Over several rounds, there is an interval or no figure.
    let only = match target.rounds.as_slice() {
        [round] if round.whole => Some(&round.total),
        _ => None,
    };
    let rate = target.rate_over_rounds_per_s.as_ref().map(|of| over(of, 1.0));
    let rate = rate.or(only.map(|total| once(total.rate_per_s, 1.0)));
    let latency = |of: &Option<OverRounds>, us: fn(&LatencySummary) -> Option<u64>| match of {
        Some(of) => Some(over(of, 1e3)),
        None => only.and_then(|total| us(&total.latency_us)).map(|us| once(us as f64, 1e3)),
    };
    let of = &target.latency_over_rounds_us;
    let (p50, p99) = (latency(&of.p50, |all| all.p50), latency(&of.p99, |all| all.p99));
    let used = target.resources.get("target").and_then(|used| used.cpu_us_per_request);
    let cpu = target.cpu_us_per_request_over_rounds.get("target").map(|of| over(of, 1.0));
    let cpu = cpu.or(used.filter(|_| only.is_some()).map(|us| once(us, 1.0)));
    known([
        (Metric::Rate, rate.filter(|_| kind == Kind::Closed)),
        (Metric::P50, p50.filter(|_| kind != Kind::Duets)),
        (Metric::P99, p99.filter(|_| kind != Kind::Duets)),
        (Metric::Cpu, cpu),
    ])
}

/// Greatest figure that is one: a document from elsewhere may have any.
const GREATEST: f64 = 1e15;

/// Returns the figures that are known and possible. An interval that is impossible is left out.
fn known<const N: usize>(all: [(Metric, Option<Figure>); N]) -> BTreeMap<Metric, Figure> {
    let is_possible = |x: f64| x > 0.0 && x < GREATEST;
    let possible = |(metric, figure): (Metric, Option<Figure>)| {
        let Figure { mean, confidence_95 } = figure.filter(|figure| is_possible(figure.mean))?;
        let confidence_95 = confidence_95
            .filter(|[low, high]| is_possible(*low) && is_possible(*high) && low <= high);
        Some((metric, Figure { mean, confidence_95 }))
    };
    all.into_iter().filter_map(possible).collect()
}

/// Returns the number of targets that were shown to be better than this one, plus one.
fn place(comparison: &Comparison, target: &str) -> Option<usize> {
    comparison.ranking.iter().find(|placing| placing.target == target)?;
    let better = comparison.pairs.iter().filter(|pair| pair.shown && pair.worse == target);
    Some(better.count() + 1)
}

/// Returns the settings that all targets of a result share. A result of which nobody knows what was sent is like no
/// other.
fn common(name: &str, environment: &Environment, sent: Option<&SentRecord>) -> Leaves {
    let mut leaves = Leaves::default();
    // What is left of a machine's memory differs from one start to the next: whole GiB.
    let memory_bytes = environment.memory_bytes >> 30;
    let of = Environment { git_commit: None, memory_bytes, ..lasting(environment) };
    leaves.add("environment", &of);
    match sent {
        Some(sent) => leaves.add("sent", sent),
        None => leaves.add("sent", &format!("unknown, in {name}")),
    }
    leaves
}

/// Returns the settings on which it depends whether two results of this target can be compared: all but the commit,
/// which is what a history is about, sentences about the server, the number of rounds, and what belongs to other
/// targets.
fn compared(leaves: Leaves, target: &str) -> BTreeMap<String, String> {
    let is_left_out = |path: &str| {
        let of_others = ["environment.images.", "environment.limits."].iter().any(|part| {
            path.strip_prefix(part).is_some_and(|rest| {
                let of = rest.split('.').next().unwrap_or_default();
                ![target, "target", "redis", "postgres", "balancer"].contains(&of)
            })
        });
        let prefixes =
            ["server.git", "server.differs", "load.targets", "load.rounds", "load.changes"];
        of_others || prefixes.iter().any(|prefix| path.starts_with(prefix))
    };
    leaves.into_values().into_iter().filter(|(path, _)| !is_left_out(path)).collect()
}
