//! Holds the results of one target.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::bottleneck::Bottleneck;
use super::flow::FlowRecord;
use super::git::GitRecord;
use super::over_rounds::{LatencyOverRounds, OverRounds};
use super::percentile::Percentile;
use super::probe::ProbeRecord;
use super::proof::ProofRecord;
use super::round::{RoundRecord, WorkerRecord};
use super::stage::StageResult;
use loadgen_measure::{Distribution, LatencySummary, ResourceRecord, Summary};

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
    /// Transport of the requests: `http1` or `reqwest`, for `https://` such as `http1 with TLS`. `None` in records of
    /// earlier versions.
    #[serde(default)]
    pub transport: Option<String>,
    /// Software of the target, and its differences from the other targets.
    pub server: ServerRecord,
    /// Results of the hold (the measured period) in all rounds, by step. Steps that users send when
    /// they stop come after the hold: these steps have results without a rate, and are not part of
    /// `total`.
    pub steps: Vec<Summary>,
    /// Results of the hold (the measured period) in all rounds, all steps together.
    pub total: Summary,
    /// Results of the probe, which measured beside the load; `None` without a probe, and in records of
    /// earlier versions.
    #[serde(default)]
    pub probe: Option<ProbeRecord>,
    /// Results of the steps of each group, added up; empty without groups, and in records of earlier
    /// versions.
    #[serde(default)]
    pub groups: Vec<Summary>,
    /// Results of whole iterations, of all flows together and then by flow. Empty if each iteration
    /// has one request, and in records of earlier versions.
    #[serde(default)]
    pub flows: Vec<FlowRecord>,
    /// Results of each stage of the load in all whole rounds, which are the rounds that ran as
    /// planned. Empty for a load without stages, and in records of earlier versions.
    #[serde(default)]
    pub stages: Vec<StageResult>,
    /// Latencies of the expected answers of each step, by the step's name, and of the expected
    /// iterations of each flow, by the flow's name: the same as in `steps` and `flows`. Empty in
    /// records of earlier versions.
    #[serde(default)]
    pub latency_histograms: BTreeMap<String, Distribution>,
    /// Estimate of the latencies, in µs, without coordinated omission: of requests that arrive as
    /// often as in the closed model, but do not wait for earlier answers. `None` in the open model,
    /// under a load that changed, and without an expected answer.
    pub uncoordinated_us: Option<LatencySummary>,
    /// Variation of the latencies from round to round, all steps together, in µs.
    pub latency_over_rounds_us: LatencyOverRounds,
    /// Effective sample size of each latency percentile of the whole rounds together: the number of
    /// independent requests whose percentile would vary as little from round to round. Empty with
    /// fewer than five whole rounds, and in records of earlier versions.
    #[serde(default)]
    pub effective_samples: BTreeMap<Percentile, u64>,
    /// Sum of each counter (a number read from answers) over the hold (the measured period), by the
    /// counter's name.
    pub counters: BTreeMap<String, u64>,
    /// Keys of the JSON object in the first answer to each step, by the step's name, sorted. A step
    /// is absent if its answer is no JSON object. Empty in records of earlier versions.
    #[serde(default)]
    pub json_keys: BTreeMap<String, Vec<String>>,
    /// Content of the backends after each whole round (a round that ran as planned), compared with
    /// the content that the scenario expects.
    pub proofs: Vec<ProofRecord>,
    /// Rounds, in the order in which they ran.
    pub rounds: Vec<RoundRecord>,
    /// CPU and memory used during the hold (the measured period) of all rounds, by service:
    /// `target`, the backends, `generator`.
    pub resources: BTreeMap<String, ResourceRecord>,
    /// Bottleneck of most rounds; `None` where no bottleneck could be observed.
    pub bottleneck: Option<Bottleneck>,
    /// CPU time per expected answer, in µs, by service: the mean over whole rounds, which are the
    /// rounds that ran as planned. A service is absent unless its CPU time is known in every whole
    /// round, and in at least two.
    pub cpu_us_per_request_over_rounds: BTreeMap<String, OverRounds>,
    /// Activity of each worker, all rounds together; empty where loadgen's own process made the
    /// load.
    pub workers: Vec<WorkerRecord>,
}

impl ServerRecord {
    /// Returns the number of server worker processes of all replicas together.
    #[must_use]
    pub fn processes(&self) -> u32 {
        self.workers.saturating_mul(self.replicas.unwrap_or(1))
    }

    /// Returns the numbers of server workers and of replicas.
    #[must_use]
    pub fn size(&self) -> ServerSize {
        ServerSize { workers: self.workers, replicas: self.replicas }
    }
}

/// Numbers of server workers and of replicas, in the order of growth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct ServerSize {
    /// Number of server worker processes, of each replica.
    pub workers: u32,
    /// Number of replicas behind a load balancer; `None` without a balancer.
    pub replicas: Option<u32>,
}

/// Software of a target. All fields are empty or 0 for a server that loadgen did not start.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerRecord {
    /// Name of the framework.
    pub framework: String,
    /// Name of the server.
    pub server: String,
    /// Programming language of the target; empty in records of earlier versions.
    #[serde(default)]
    pub language: String,
    /// Number of server worker processes, of each replica.
    pub workers: u32,
    /// Number of replicas behind a load balancer; `None` without a balancer, and in records of
    /// earlier versions.
    #[serde(default)]
    pub replicas: Option<u32>,
    /// Versions of the packages, and of the programs that the target requires, by name.
    pub packages: BTreeMap<String, String>,
    /// Further differences from the other targets, in words.
    pub differs: Vec<String>,
    /// Version of the target's files; `None` for a target that the command line names without a ref,
    /// and in records of earlier versions.
    #[serde(default)]
    pub git: Option<GitRecord>,
}
