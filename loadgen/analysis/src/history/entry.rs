//! Extracts from a saved result what its history needs, in a form that is small and can be kept.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::record::{
    Bound, CapacityRecord, CapacityTarget, Comparison, Environment, ExperimentRecord, Finding,
    OverRounds, RankedBy, RunRecord, SentRecord, SystemRecord, TargetRecord, Verdict,
};
use crate::runs::{Leaves, limited};

/// What the history keeps of one result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Name of the result, unique among all.
    pub name: String,
    /// Kind of the result: only results of one kind have a common history.
    pub kind: Kind,
    /// Name of the scenario; of an experiment, its title.
    pub title: String,
    /// Start of the measurement, in RFC 3339.
    pub started: String,
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

/// What the history keeps of one target in one result.
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
    /// What was sent, and the machine and software, by path: only results with equal settings can be compared.
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
    /// Extracts what the history keeps of a run.
    #[must_use]
    pub fn run(name: &str, record: &RunRecord) -> Self {
        let kind = match (&record.duet, RankedBy::under(&record.load)) {
            (Some(_), _) => Kind::Duets,
            (None, RankedBy::Speed) => Kind::Open,
            (None, _) => Kind::Closed,
        };
        let mut common = common(&record.environment, record.sent.as_ref());
        common.add("load", &record.load);
        let place = |target: &str| place(record.comparison.as_ref()?, target);
        let of_target = |target: &TargetRecord| {
            let mut settings = common.clone();
            settings.add("server", &target.server);
            settings.add("transport", &target.transport);
            MeasuredTarget {
                name: target.name.clone(),
                figures: figures(target, kind),
                place: place(&target.name),
                left_out: limited(target, record).map(|lack| format!("it {lack}")),
                commit: target.server.git.as_ref().map(|git| git.commit.clone()),
                settings: compared(settings),
            }
        };
        let degraded = record.degraded.as_ref().map(|degraded| degraded.reason.clone());
        let early = record.stopped_early.as_ref().map(|_| "it was ended early".to_owned());
        Self {
            name: name.to_owned(),
            kind,
            title: record.scenario.clone(),
            started: record.started.clone(),
            targets: record.targets.iter().map(of_target).collect(),
            verdicts: record.verdicts.clone(),
            left_out: interrupted(record.interrupted).or(degraded).or(early),
            claims: [0; 3],
        }
    }

    /// Extracts what the history keeps of a search.
    #[must_use]
    pub fn search(name: &str, record: &CapacityRecord) -> Self {
        let mut common = common(&record.environment, record.sent.as_ref());
        common.add("search.criteria", &record.search.criteria);
        common.add("search.arrivals", &record.search.arrivals);
        common.add("search.users", &record.search.users);
        let of_target = |target: &CapacityTarget| {
            let mut settings = common.clone();
            settings.add("server", &target.server);
            settings.add("transport", &target.transport);
            let is_found = target.capacity.bound == Bound::Found;
            let figure = target
                .capacity
                .rate_per_s
                .map(|mean| Figure { mean, confidence_95: target.capacity.confidence_95_per_s });
            MeasuredTarget {
                name: target.name.clone(),
                figures: figure.map(|figure| (Metric::Capacity, figure)).into_iter().collect(),
                place: record.comparison.as_ref().and_then(|all| place(all, &target.name)),
                left_out: (!is_found).then(|| "the capacity is only a bound".to_owned()),
                commit: target.server.git.as_ref().map(|git| git.commit.clone()),
                settings: compared(settings),
            }
        };
        let degraded = record.degraded.as_ref().map(|degraded| degraded.reason.clone());
        Self {
            name: name.to_owned(),
            kind: Kind::Capacity,
            title: record.scenario.clone(),
            started: record.started.clone(),
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

/// Returns the figures of a target in a run. In the open model the rate is that of the plan, and in a duet
/// rates and latencies are not those of a server alone.
fn figures(target: &TargetRecord, kind: Kind) -> BTreeMap<Metric, Figure> {
    let over = |of: &OverRounds, unit: f64| Figure {
        mean: of.mean / unit,
        confidence_95: Some(of.confidence_95.map(|end| end / unit)),
    };
    let once = |mean: f64, unit: f64| Figure { mean: mean / unit, confidence_95: None };
    let latency = &target.total.latency_us;
    let rate = match &target.rate_over_rounds_per_s {
        Some(of) => over(of, 1.0),
        None => once(target.total.rate_per_s, 1.0),
    };
    let of_latency = |over_rounds: &Option<OverRounds>, all: Option<u64>| match over_rounds {
        Some(of) => Some(over(of, 1e3)),
        None => all.map(|us| once(us as f64, 1e3)),
    };
    let cpu = target.cpu_us_per_request_over_rounds.get("target");
    let used = target.resources.get("target").and_then(|used| used.cpu_us_per_request);
    let cpu = cpu.map(|of| over(of, 1.0)).or(used.map(|us| once(us, 1.0)));
    let over_rounds = &target.latency_over_rounds_us;
    let all = [
        (Metric::Rate, Some(rate).filter(|_| kind == Kind::Closed)),
        (Metric::P50, of_latency(&over_rounds.p50, latency.p50).filter(|_| kind != Kind::Duets)),
        (Metric::P99, of_latency(&over_rounds.p99, latency.p99).filter(|_| kind != Kind::Duets)),
        (Metric::Cpu, cpu),
    ];
    let known = all.into_iter().filter_map(|(metric, figure)| Some((metric, figure?)));
    known.filter(|(_, figure)| figure.mean > 0.0).collect()
}

/// Returns the number of targets that were shown to be better than this one, plus one.
fn place(comparison: &Comparison, target: &str) -> Option<usize> {
    comparison.ranking.iter().find(|placing| placing.target == target)?;
    let better = comparison.pairs.iter().filter(|pair| pair.shown && pair.worse == target);
    Some(better.count() + 1)
}

/// Returns the settings that all targets of a result share.
fn common(environment: &Environment, sent: Option<&SentRecord>) -> Leaves {
    let mut leaves = Leaves::default();
    let system = SystemRecord { load_average: None, ..environment.system.clone() };
    // What is left of a machine's memory differs from one start to the next.
    let memory_bytes = environment.memory_bytes.next_multiple_of(1 << 30);
    leaves.add(
        "environment",
        &Environment {
            system,
            telemetry: None,
            git_commit: None,
            memory_bytes,
            ..environment.clone()
        },
    );
    leaves.add("sent", &sent);
    leaves
}

/// Returns the settings on which it depends whether two results can be compared: all but the commit, which
/// is what a history is about, and sentences about the server.
fn compared(leaves: Leaves) -> BTreeMap<String, String> {
    let all = leaves.into_values().into_iter();
    all.filter(|(path, _)| !path.starts_with("server.git") && path != "server.differs").collect()
}
