//! Holds the result of a capacity search: the document that `capacity.json` keeps.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::bottleneck::Bottleneck;
use super::comparison::Comparison;
use super::connections::ConnectionsRecord;
use super::degraded::Degraded;
use super::environment::Environment;
use super::load::drain_s;
use super::saved_as::SavedAs;
use super::sent::SentRecord;
use super::target::ServerRecord;
use loadgen_measure::{LatencySummary, ResourceRecord, Summary};

/// The saved result of a capacity search: the rate that each target carries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CapacityRecord {
    /// Name and version of this document's format: always [`CapacityRecord::SCHEMA`].
    pub schema: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Start of the search, in UTC (RFC 3339).
    pub started: String,
    /// Seed of the generated data, of the order of the targets, and of the first rate of each
    /// search.
    pub seed: u64,
    /// Command line, including the program. Empty in records of earlier versions.
    #[serde(default)]
    pub command: Vec<String>,
    /// Machine, software and limits under which the search ran.
    pub environment: Environment,
    /// Settings of the search.
    pub search: SearchRecord,
    /// Digests of the requests; `None` in records of earlier versions.
    #[serde(default)]
    pub sent: Option<SentRecord>,
    /// Targets with at least one trial, in the order in which the user named the targets.
    pub targets: Vec<CapacityTarget>,
    /// Targets of the scenario, or of the project, that this machine cannot run, each with the reason.
    /// Empty in records of earlier versions.
    #[serde(default)]
    pub left_out: BTreeMap<String, String>,
    /// Comparison of the targets whose capacity was found; `None` for fewer than two such targets.
    pub comparison: Option<Comparison>,
    /// Reason why the result differs from the plan; `None` where the search went as planned.
    pub degraded: Option<Degraded>,
    /// Whether the search was interrupted before its planned end.
    pub interrupted: bool,
}

impl SavedAs for CapacityRecord {
    const FILE: &str = "capacity.json";
    const SCHEMA: &str = "loadgen.capacity/1";
}

/// Settings of a capacity search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchRecord {
    /// Thresholds that had to hold for a target to count as carrying a rate. In addition, the
    /// target had to keep up with the rate.
    pub criteria: Vec<String>,
    /// Thresholds of the scenario that were left out, because they are about the rate itself.
    pub left_out: Vec<String>,
    /// Distribution of arrivals over time: `evenly spaced` or `Poisson`.
    pub arrivals: String,
    /// Greatest number of requests in flight at the same time.
    pub users: u32,
    /// Shortest measured period of a trial, in s. A trial takes longer if its rate is too low for
    /// enough samples.
    pub duration_s: f64,
    /// Time at the beginning of each trial that is not measured, in s.
    pub warmup_s: f64,
    /// Time after each trial in which answers to requests in flight were awaited, in s; 3 in
    /// records of earlier versions.
    #[serde(default = "drain_s")]
    pub drain_s: f64,
    /// Greatest distance between the highest rate that passed and the lowest rate that did not, in
    /// % of the former.
    pub precision_percent: f64,
    /// Lowest rate that could be judged, in requests/s.
    pub lowest_per_s: f64,
    /// Names of the targets to be loaded.
    pub targets: Vec<String>,
    /// Number of rounds for each target; each round is one search.
    pub rounds: u32,
    /// Number of worker processes; 0 where loadgen's own process made the load.
    pub workers: u32,
}

/// Results of the capacity search for one target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CapacityTarget {
    /// Name of the target.
    pub name: String,
    /// URL at which the target answered.
    pub url: String,
    /// Transport of the requests, as in
    /// [`TargetRecord::transport`](super::TargetRecord::transport); `None` in records of earlier
    /// versions.
    #[serde(default)]
    pub transport: Option<String>,
    /// Connections that were opened, over all trials; `None` in records of earlier versions.
    #[serde(default)]
    pub connections: Option<ConnectionsRecord>,
    /// Software of the target, and its differences from the other targets.
    pub server: ServerRecord,
    /// Capacity of the target over all rounds.
    pub capacity: Capacity,
    /// Point of the curve with the greatest power, which is throughput over mean latency; `None`
    /// where no point has a mean latency above 0.
    pub knee: Option<CurvePoint>,
    /// Points of the curve of latency over throughput, in ascending order of the rate.
    pub curve: Vec<CurvePoint>,
    /// Results of the rounds, each of which is one search.
    pub rounds: Vec<CapacityRound>,
    /// All trials, in the order in which they ran, including trials that were only made for the
    /// curve of latency over throughput.
    pub trials: Vec<TrialRecord>,
}

/// Capacity of one target, or a bound of its capacity, over all rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Capacity {
    /// Kind of result: a capacity, a bound of the capacity, or neither.
    pub bound: Bound,
    /// Capacity in requests/s, or its bound, by the kind of result:
    ///
    /// - [`Bound::Found`]: the geometric mean of the rounds' capacities.
    /// - [`Bound::AtLeast`]: a lower bound, the least of the rounds' `passed_per_s`.
    /// - [`Bound::Below`]: an upper bound, the greatest of the rounds' `failed_per_s`.
    /// - [`Bound::Unknown`]: the least of the rounds' `passed_per_s`, or `None` if no rate passed.
    pub rate_per_s: Option<f64>,
    /// Student's 95 % confidence interval of the capacity, in requests/s; `None` unless the
    /// capacity was found in at least two rounds.
    pub confidence_95_per_s: Option<[f64; 2]>,
}

/// Kind of result of a capacity search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// The capacity lies between a rate that passed and a rate that did not.
    Found,
    /// The capacity is not less than the highest rate that passed. Above that rate the generator, a
    /// backend or the network was the limit, or the search tried no rate.
    AtLeast,
    /// The capacity is less than the lowest rate that could be judged.
    Below,
    /// The search did not end.
    Unknown,
}

/// Result of one round, which is one search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CapacityRound {
    /// Number of the round, from 1.
    pub round: u32,
    /// Kind of result: a capacity, a bound of the capacity, or neither.
    pub bound: Bound,
    /// Geometric mean of `passed_per_s` and `failed_per_s`, in requests/s; `None` unless `bound` is
    /// [`Bound::Found`].
    pub capacity_per_s: Option<f64>,
    /// Highest rate that passed, in requests/s; `None` if no rate passed.
    pub passed_per_s: Option<f64>,
    /// Lowest rate that did not pass, in requests/s; `None` if all rates passed.
    pub failed_per_s: Option<f64>,
    /// Number of trials of the search. Trials that were only made for the curve of latency over
    /// throughput do not count.
    pub trials: u32,
}

/// One trial: a rate that was held for some time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// Number of the round, from 1.
    pub round: u32,
    /// Requested rate, in requests/s.
    pub rate_per_s: f64,
    /// Time for which the rate was held and measured, in s.
    pub held_s: f64,
    /// Whether the target kept up with the rate and met all thresholds.
    pub passed: bool,
    /// Whether the trial did not pass, and the generator may be the reason.
    pub generator_limited: bool,
    /// Reasons why the trial did not pass; empty if the trial passed.
    pub reasons: Vec<String>,
    /// Bottleneck of the trial; `None` where the bottleneck could not be observed, and in records
    /// of earlier versions.
    #[serde(default)]
    pub bottleneck: Option<Bottleneck>,
    /// Results of the hold (the measured period), all steps together.
    pub total: Summary,
    /// CPU and memory used during the hold (the measured period), by service: `target`, the
    /// backends, `generator`.
    pub resources: BTreeMap<String, ResourceRecord>,
    /// CPU time that programs other than those of the test used on the CPUs of the test, in % of
    /// one core. `None` if the CPUs or the programs of the test are unknown, and in records of earlier
    /// versions.
    #[serde(default)]
    pub others_percent: Option<f64>,
    /// Whether another loadgen measured on this machine during the hold (the measured period).
    #[serde(default)]
    pub other_loadgen: bool,
}

/// Results at about one rate: a point of the curve of latency over throughput.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// Requested rate, in requests/s: the geometric mean over the trials.
    pub rate_per_s: f64,
    /// Number of trials, over all rounds.
    pub trials: u32,
    /// Number of the trials at this rate that passed.
    pub passed: u32,
    /// Expected answers per second.
    pub answered_per_s: f64,
    /// Share of requests that failed, from 0 to 1.
    pub error_rate: f64,
    /// Latency of the expected answers, from their planned send, in µs.
    pub latency_us: LatencySummary,
    /// CPU time of the target over elapsed time, in %: 100 is one core. `None` for a server that
    /// the lab did not start.
    pub target_cpu_percent: Option<f64>,
    /// CPU time of the target per request that ended, failed requests included, in µs. `None` for a
    /// server that the lab did not start, and where no request ended.
    pub target_cpu_us_per_request: Option<f64>,
}

impl CapacityTarget {
    /// Returns the capacity that each round found, in requests/s, by the number of the round; empty
    /// unless the result over all rounds is [`Bound::Found`].
    #[must_use]
    pub fn found_per_s(&self) -> BTreeMap<u32, f64> {
        let is_found = self.capacity.bound == Bound::Found;
        let rounds = self.rounds.iter().filter(|_| is_found);
        rounds.filter_map(|round| Some((round.round, round.capacity_per_s?))).collect()
    }
}
