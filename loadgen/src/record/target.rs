//! Holds the results of one target.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::bottleneck::Bottleneck;
use super::over_rounds::{LatencyOverRounds, OverRounds};
use super::proof::ProofRecord;
use super::round::{RoundRecord, WorkerRecord};
use crate::measure::{Distribution, LatencySummary, ResourceRecord, Summary};

/// Results of one target, under one number of server workers and users.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TargetRecord {
    /// Name of the target, with the number of server workers or users where the run has several:
    /// `sanic ×2, 500 users`.
    pub name: String,
    /// Name of the target alone, common to all records of the same target.
    pub target: String,
    /// Number of users that loaded the target; in the open model, the greatest number that send at
    /// the same time.
    pub users: u32,
    /// URL at which the target answered.
    pub url: String,
    /// Transport of the requests: `http1`, `reqwest` or `reqwest with TLS`. `None` in records of
    /// earlier versions.
    #[serde(default)]
    pub transport: Option<String>,
    /// Software of the target, and its differences from the other targets.
    pub server: ServerRecord,
    /// Results of the hold in all rounds, by step. Requests that users send when they stop come
    /// after the hold: the rows of their steps contain them, without a rate, but `total` does not.
    pub steps: Vec<Summary>,
    /// Results of the hold in all rounds, all steps together.
    pub total: Summary,
    /// Latencies of the expected answers of each step, by the step's name: the same requests as in
    /// `steps`. Empty in records of earlier versions.
    #[serde(default)]
    pub latency_histograms: BTreeMap<String, Distribution>,
    /// Estimate of the latencies, in µs, of requests that arrive at the rate of the closed model
    /// but wait for no other request. `None` in the open model, under a load that changed, and
    /// without an expected answer.
    pub uncoordinated_us: Option<LatencySummary>,
    /// Variation of the latencies from round to round, all steps together, in µs.
    pub latency_over_rounds_us: LatencyOverRounds,
    /// Sums over the hold of the numbers read from answers, by the counter's name.
    pub counters: BTreeMap<String, u64>,
    /// Content of the backends after each whole round, compared with the content that the scenario
    /// claims.
    pub proofs: Vec<ProofRecord>,
    /// Rounds, in the order in which they ran.
    pub rounds: Vec<RoundRecord>,
    /// CPU and memory used during the hold of all rounds, by service: `target`, the backends,
    /// `generator`.
    pub resources: BTreeMap<String, ResourceRecord>,
    /// Bottleneck of most rounds; `None` where no bottleneck could be observed.
    pub bottleneck: Option<Bottleneck>,
    /// CPU time of a service per expected answer over the whole rounds, in µs, by service. A
    /// service is absent unless its CPU time is known in all whole rounds, and in at least two.
    pub cpu_us_per_request_over_rounds: BTreeMap<String, OverRounds>,
    /// Activity of each worker, all rounds together; empty where loadgen's own process made the
    /// load.
    pub workers: Vec<WorkerRecord>,
}

/// Software of a target. All fields are empty or 0 for a server that the lab did not start.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerRecord {
    /// Name of the framework.
    pub framework: String,
    /// Name of the server.
    pub server: String,
    /// Number of server worker processes.
    pub workers: u32,
    /// Versions of the packages, by name.
    pub packages: BTreeMap<String, String>,
    /// Other differences from the other targets.
    pub differs: Vec<String>,
}
