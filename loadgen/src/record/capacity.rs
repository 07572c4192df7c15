//! What a search for capacities found: the document that `capacity.json` keeps.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::bottleneck::Bottleneck;
use super::comparison::Comparison;
use super::degraded::Degraded;
use super::environment::Environment;
use super::load::drain_s;
use super::sent::SentRecord;
use super::target::ServerRecord;
use crate::measure::{Connections, LatencySummary, ResourceRecord, Summary};

/// What the document calls itself.
pub const CAPACITY_SCHEMA: &str = "loadgen.capacity/1";

/// What each target carries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CapacityRecord {
    /// [`CAPACITY_SCHEMA`].
    pub schema: String,
    /// The scenario's name.
    pub scenario: String,
    /// When it began, in UTC (RFC 3339).
    pub started: String,
    /// What generated data, the order of the targets and the first rate of each search were seeded
    /// with.
    pub seed: u64,
    /// The command line, program and all.
    #[serde(default)]
    pub command: Vec<String>,
    /// Where it ran.
    pub environment: Environment,
    /// How it was searched.
    pub search: SearchRecord,
    /// Digests of what was sent; `None` in records of earlier versions.
    #[serde(default)]
    pub sent: Option<SentRecord>,
    /// The targets, in the order in which they were named; those of which there is anything.
    pub targets: Vec<CapacityTarget>,
    /// The targets whose capacity was found, in order; `None` where there are not two of them.
    pub comparison: Option<Comparison>,
    /// Why the result is not what was planned, if so.
    pub degraded: Option<Degraded>,
    /// Whether it was interrupted before its planned end.
    pub interrupted: bool,
}

/// How capacities were searched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchRecord {
    /// What had to hold for a rate to count as carried, besides that it was kept.
    pub criteria: Vec<String>,
    /// Thresholds of the scenario that were not asked for, because they speak of the rate itself.
    pub left_out: Vec<String>,
    /// How arrivals are spread over time: `evenly spaced` or `Poisson`.
    pub arrivals: String,
    /// The most requests under way at the same time.
    pub users: u32,
    /// How long a trial counts at the least; longer where its rate is too low for enough samples.
    pub duration_s: f64,
    /// How long each trial runs before it counts.
    pub warmup_s: f64,
    /// How long after each trial the answers to requests in flight were waited for.
    #[serde(default = "drain_s")]
    pub drain_s: f64,
    /// How far apart the highest rate that passed and the lowest that did not may be.
    pub precision_percent: f64,
    /// The lowest rate that could be judged.
    pub lowest_per_s: f64,
    /// The names of what was to be loaded.
    pub targets: Vec<String>,
    /// Searches for each target.
    pub rounds: u32,
    /// Worker processes; 0 where the load came from the process itself.
    pub workers: u32,
}

/// What one target carries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CapacityTarget {
    /// Its name.
    pub name: String,
    /// Where it answered.
    pub url: String,
    /// What carried the requests, as in a run.
    #[serde(default)]
    pub transport: Option<String>,
    /// The connections that were opened, all trials together; `None` in records of earlier versions.
    #[serde(default)]
    pub connections: Option<Connections>,
    /// What it is, and how it differs from the others.
    pub server: ServerRecord,
    /// All rounds together.
    pub capacity: Capacity,
    /// The point of the curve with the greatest power: throughput over mean latency.
    pub knee: Option<CurvePoint>,
    /// Latency over throughput, by rate.
    pub curve: Vec<CurvePoint>,
    /// One search each.
    pub rounds: Vec<CapacityRound>,
    /// All trials, in the order in which they ran.
    pub trials: Vec<TrialRecord>,
}

/// What all rounds of a target tell.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Capacity {
    /// What is known of it.
    pub bound: Bound,
    /// Requests per second. Where it was found, the geometric mean of the rounds; a lower bound is
    /// the least of them, and an upper bound the greatest.
    pub rate_per_s: Option<f64>,
    /// Student's 95 % confidence interval of the geometric mean, where it was found in at least two
    /// rounds.
    pub confidence_95_per_s: Option<[f64; 2]>,
}

/// What is known of a capacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// Between a rate that passed and one that did not.
    Found,
    /// Not less than the highest rate that passed: above it the generator was the limit.
    AtLeast,
    /// Less than the lowest rate that could be judged.
    Below,
    /// The search did not come to its end.
    Unknown,
}

/// One search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CapacityRound {
    /// Its number, from 1.
    pub round: u32,
    /// What it found.
    pub bound: Bound,
    /// The geometric mean of the next two, where the capacity is between them.
    pub capacity_per_s: Option<f64>,
    /// The highest rate that passed.
    pub passed_per_s: Option<f64>,
    /// The lowest rate at which it did not.
    pub failed_per_s: Option<f64>,
    /// The trials of the search.
    pub trials: u32,
}

/// One trial: a rate, held for some time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// Its round, from 1.
    pub round: u32,
    /// The rate that was asked for, in requests per second.
    pub rate_per_s: f64,
    /// How long the load was held.
    pub held_s: f64,
    /// Whether all held that is asked for.
    pub passed: bool,
    /// Whether it did not, and the generator may have been why.
    pub generator_limited: bool,
    /// Why it did not.
    pub reasons: Vec<String>,
    /// Who was the bottleneck; `None` where that could not be seen.
    #[serde(default)]
    pub bottleneck: Option<Bottleneck>,
    /// All steps together, while the load was held.
    pub total: Summary,
    /// CPU and memory while it was held, by service.
    pub resources: BTreeMap<String, ResourceRecord>,
}

/// What was measured at about one rate: a point of the curve of latency over throughput.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// The rate that was asked for, in requests per second: the geometric mean of the trials'.
    pub rate_per_s: f64,
    /// The trials, all rounds together.
    pub trials: u32,
    /// Those of them that passed.
    pub passed: u32,
    /// Expected answers per second.
    pub answered_per_s: f64,
    /// The share of requests that failed, 0 to 1.
    pub error_rate: f64,
    /// Latency of the expected answers, from their planned send, in µs.
    pub latency_us: LatencySummary,
    /// The target's CPU time over elapsed time: 100 is one core. `None` for a server that is not
    /// the lab's.
    pub target_cpu_percent: Option<f64>,
    /// The target's CPU time for each request that came to an end, in µs.
    pub target_cpu_us_per_request: Option<f64>,
}

impl CapacityTarget {
    /// What each round found, in requests per second, by its number; nothing if the capacity of all of
    /// them is a bound.
    #[must_use]
    pub fn found_per_s(&self) -> BTreeMap<u32, f64> {
        let is_found = self.capacity.bound == Bound::Found;
        let rounds = self.rounds.iter().filter(|_| is_found);
        rounds.filter_map(|round| Some((round.round, round.capacity_per_s?))).collect()
    }
}
