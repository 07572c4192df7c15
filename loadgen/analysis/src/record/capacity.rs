//! Holds the result of a capacity search: the document that `capacity.json` keeps.

use std::num::NonZeroU32;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bottleneck::Bottleneck;
use super::comparison::Comparison;
use super::connections::ConnectionsRecord;
use super::degraded::Degraded;
use super::environment::Environment;
use super::load::drain_s;
use super::profile::ProfileRecord;
use super::saved_as::SavedAs;
use super::sent::SentRecord;
use super::target::ServerRecord;
use loadgen_measure::{LatencySummary, ResourceRecord, Summary};

/// The saved result of a capacity search: the rate that each target carries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityRecord {
    /// Name and version of the document's format: always `loadgen.capacity/1`.
    pub schema: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Start of the search.
    pub started: String,
    /// Seed of the generated data, of the order of the targets, and of the first rate of each
    /// search.
    pub seed: u64,
    /// Command line, including the program; empty in documents of earlier versions.
    #[serde(default)]
    pub command: Vec<String>,
    /// Machine, software and limits.
    pub environment: Environment,
    /// Settings of the search.
    pub search: SearchRecord,
    /// Digests of the requests; `None` in earlier versions.
    #[serde(default)]
    pub sent: Option<SentRecord>,
    /// Targets with at least one trial, in the order in which the user named them.
    pub targets: Vec<CapacityTarget>,
    /// Reason why a target was left out, by target: targets that the user did not name and that
    /// this machine cannot run; empty in documents of earlier versions.
    #[serde(default)]
    pub left_out: BTreeMap<String, String>,
    /// Comparison of the targets whose capacity was found; `None` for fewer than two targets with a
    /// capacity.
    pub comparison: Option<Comparison>,
    /// Reason why the result differs from the plan; `None` if the search went as planned.
    pub degraded: Option<Degraded>,
    /// Whether the search was interrupted before its planned end. In a document that was saved
    /// while the search went on, `true`.
    pub interrupted: bool,
}

impl SavedAs for CapacityRecord {
    const FILE: &str = "capacity.json";
    const SCHEMA: &str = "loadgen.capacity/1";
}

/// Settings of a capacity search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchRecord {
    /// Thresholds that had to hold for a rate to pass; in addition, the rate itself had to be
    /// carried.
    pub criteria: Vec<String>,
    /// Thresholds of the scenario on `rate`, which were left out because the search looks for the
    /// rate.
    pub left_out: Vec<String>,
    /// Distribution of arrivals over time: `evenly spaced` or `Poisson`.
    pub arrivals: String,
    /// Most requests in flight at the same time.
    pub users: u32,
    /// Shortest hold of a trial; a trial holds longer if its rate is too low for enough samples.
    pub duration_s: f64,
    /// Duration of the warm-up of each trial.
    pub warmup_s: f64,
    /// Longest wait for the responses to in-flight requests after each trial; 3 in documents of
    /// earlier versions.
    #[serde(default = "drain_s")]
    pub drain_s: f64,
    /// Greatest distance between the highest rate that passed and the lowest rate that failed, in %
    /// of the former.
    pub precision_percent: f64,
    /// Lowest rate that could be judged, in requests/s.
    pub lowest_per_s: f64,
    /// Names of the targets to be loaded.
    pub targets: Vec<String>,
    /// Searches for each target.
    pub rounds: u32,
    /// Worker processes; 0 if loadgen's own process made the load.
    pub workers: u32,
    /// One request in so many told its server to trace it; `None` if none did, and in earlier versions.
    #[serde(default)]
    pub trace_one_in: Option<NonZeroU32>,
}

/// Results of the capacity search for one target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityTarget {
    /// Name of the target.
    pub name: String,
    /// URL of the target.
    pub url: String,
    /// Transport of the requests: `http1`, `http2` or `reqwest`; with TLS such as `http1 with TLS`.
    /// `None` in earlier versions.
    #[serde(default)]
    pub transport: Option<String>,
    /// Connections that were opened, over all trials; `None` in earlier versions.
    #[serde(default)]
    pub connections: Option<ConnectionsRecord>,
    /// Software of the target.
    pub server: ServerRecord,
    /// Result over all rounds.
    pub capacity: Capacity,
    /// Where the CPU time of a request goes at the highest rate that passed in all rounds; `None` without `--profile`.
    #[serde(default)]
    pub profile: Option<ProfileRecord>,
    /// Point of the curve with the greatest power, which is throughput over mean latency; `None` if
    /// no point has a mean latency above 0.
    pub knee: Option<CurvePoint>,
    /// Latency over throughput, in ascending order of the rate.
    pub curve: Vec<CurvePoint>,
    /// Results of the rounds, each of which is one search.
    pub rounds: Vec<CapacityRound>,
    /// Trials, in the order in which they ran, including those that were only made for the curve.
    pub trials: Vec<TrialRecord>,
}

/// Capacity of one target, or a bound of its capacity, over all rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Capacity {
    /// Kind of the result.
    pub bound: Bound,
    /// Capacity, or its bound, in requests/s; `None` if no rate passed and the capacity is
    /// `unknown`.
    pub rate_per_s: Option<f64>,
    /// 95 % confidence interval of the geometric mean, by Student's t; `None` unless the capacity
    /// was found in at least two rounds.
    pub confidence_95_per_s: Option<[f64; 2]>,
}

/// Kind of result of a capacity search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// The capacity lies between a rate that passed and a rate that failed. `rate_per_s` is the
    /// geometric mean of the rounds.
    Found,
    /// The capacity is not less than the highest rate that passed; above that rate, the generator,
    /// a backend or the network was the limit, or the search tried no rate. `rate_per_s` is the
    /// least `passed_per_s` of the rounds.
    AtLeast,
    /// The capacity is less than the lowest rate that could be judged. `rate_per_s` is the greatest
    /// `failed_per_s` of the rounds.
    Below,
    /// The search did not end. `rate_per_s` is the least `passed_per_s` of the rounds.
    Unknown,
}

/// Result of one round, which is one search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityRound {
    /// Number of the round, from 1.
    pub round: u32,
    /// Kind of the result.
    pub bound: Bound,
    /// Geometric mean of `passed_per_s` and `failed_per_s`, in requests/s; `None` unless `bound` is
    /// `found`.
    pub capacity_per_s: Option<f64>,
    /// Highest rate that passed, in requests/s; `None` if no rate passed.
    pub passed_per_s: Option<f64>,
    /// Lowest rate that failed, in requests/s; `None` if all rates passed.
    pub failed_per_s: Option<f64>,
    /// Trials that the search took, without those that were only made for the curve.
    pub trials: u32,
}

/// One trial: a rate that was held for some time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialRecord {
    /// Number of the round, from 1.
    pub round: u32,
    /// Requested rate, in requests/s.
    pub rate_per_s: f64,
    /// Duration of the hold.
    pub held_s: f64,
    /// Whether the rate was carried and all criteria held.
    pub passed: bool,
    /// Whether the trial did not pass, and the generator may be the reason.
    pub generator_limited: bool,
    /// Reasons why the trial did not pass; empty if the trial passed.
    pub reasons: Vec<String>,
    /// Bottleneck of the trial; `None` if it could not be observed, or in earlier versions.
    #[serde(default)]
    pub bottleneck: Option<Bottleneck>,
    /// Results of the hold, all steps together.
    pub total: Summary,
    /// CPU and memory used during the hold, by service: `target`, each backend, and `generator`, unless that is workers
    /// on other hosts.
    pub resources: BTreeMap<String, ResourceRecord>,
    /// CPU time of programs outside the test, as in a round; `None` if the CPUs or the programs of
    /// the test are unknown, or in earlier versions.
    #[serde(default)]
    pub others_percent: Option<f64>,
    /// Whether another loadgen measured on this machine during the hold; false in documents of
    /// earlier versions.
    #[serde(default)]
    pub other_loadgen: bool,
}

/// Results at about one rate: a point of the curve of latency over throughput.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurvePoint {
    /// Requested rate, in requests/s: the geometric mean over the trials.
    pub rate_per_s: f64,
    /// Trials, over all rounds.
    pub trials: u32,
    /// Trials of these that passed.
    pub passed: u32,
    /// Expected responses per second.
    pub answered_per_s: f64,
    /// Share of requests that failed, from 0 to 1.
    pub error_rate: f64,
    /// Latency of the expected responses from their planned send.
    pub latency_us: LatencySummary,
    /// CPU time of the target over elapsed time; `None` for a server that loadgen did not start.
    pub target_cpu_percent: Option<f64>,
    /// CPU time of the target per request that ended, including failed requests; `None` for a
    /// server that loadgen did not start, or if no request ended.
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
