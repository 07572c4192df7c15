//! The results of one target.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::bottleneck::Bottleneck;
use super::over_rounds::{LatencyOverRounds, OverRounds};
use super::proof::ProofRecord;
use super::round::{RoundRecord, WorkerRecord};
use crate::measure::{Distribution, LatencySummary, ResourceRecord, Summary};

/// The results of one target.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TargetRecord {
    /// Its name; where there are several numbers of server workers or users, these too:
    /// `sanic ×2, 500 users`.
    pub name: String,
    /// The target's own name, by which all that is of the same target belongs together.
    pub target: String,
    /// The users that loaded it; in the open model the most that send at the same time.
    pub users: u32,
    /// Where it answered.
    pub url: String,
    /// What carried the requests: `http1`, `reqwest` or `reqwest with TLS`; `None` in records of earlier
    /// versions.
    #[serde(default)]
    pub transport: Option<String>,
    /// What it is, and how it differs from the others.
    pub server: ServerRecord,
    /// All rounds together, by step. What users send when they stop comes after the hold: it is in
    /// the rows of these steps, without a rate, and not in the total.
    pub steps: Vec<Summary>,
    /// All rounds and all steps together.
    pub total: Summary,
    /// The latencies of the expected answers of each step, by its name: all that is in `steps`.
    #[serde(default)]
    pub latency_histograms: BTreeMap<String, Distribution>,
    /// In the closed model, an estimate of the latencies that requests would have had that came at
    /// the same rate and waited for nobody, in µs.
    pub uncoordinated_us: Option<LatencySummary>,
    /// Latencies of all steps together, from round to round, in µs.
    pub latency_over_rounds_us: LatencyOverRounds,
    /// Sums that were read from the answers.
    pub counters: BTreeMap<String, u64>,
    /// What backends held after each whole round, held against what the scenario claims.
    pub proofs: Vec<ProofRecord>,
    /// The rounds, in the order in which they ran.
    pub rounds: Vec<RoundRecord>,
    /// CPU and memory while it was measured, by service: `target`, the backends, `generator`.
    pub resources: BTreeMap<String, ResourceRecord>,
    /// The bottleneck of most rounds; `None` where that could not be seen.
    pub bottleneck: Option<Bottleneck>,
    /// What an expected answer took of each service's CPU, from round to round, in µs.
    pub cpu_us_per_request_over_rounds: BTreeMap<String, OverRounds>,
    /// What each worker did, all rounds together.
    pub workers: Vec<WorkerRecord>,
}

/// What a target is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerRecord {
    /// Its framework.
    pub framework: String,
    /// Its server.
    pub server: String,
    /// Its worker processes.
    pub workers: u32,
    /// Versions of its packages.
    pub packages: BTreeMap<String, String>,
    /// What else differs from the other targets.
    pub differs: Vec<String>,
}
