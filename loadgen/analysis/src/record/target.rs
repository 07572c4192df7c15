//! Holds the results of one target.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bottleneck::Bottleneck;
use super::flow::FlowRecord;
use super::git::GitRecord;
use super::over_rounds::{LatencyOverRounds, OverRounds, ShareOverRounds, StepOverRounds};
use super::percentile::Percentile;
use super::probe::ProbeRecord;
use super::profile::ProfileRecord;
use super::proof::ProofRecord;
use super::round::{RoundRecord, WorkerRecord};
use super::stage::StageResult;
use loadgen_measure::{Distribution, LatencySummary, ResourceRecord, Summary};

/// Results of one target, under one number of server workers and users.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TargetRecord {
    /// Name of the target, with the number of server workers or users if the run has several:
    /// `sanic ×2, 500 users`.
    pub name: String,
    /// Name of the target alone.
    pub target: String,
    /// Users that loaded the target; in the open model, the most users that send at the same time.
    pub users: u32,
    /// URL of the target.
    pub url: String,
    /// Transport of the requests: `http1`, `http2` or `reqwest`; with TLS such as `http1 with TLS`.
    /// `None` in earlier versions.
    #[serde(default)]
    pub transport: Option<String>,
    /// Software of the target.
    pub server: ServerRecord,
    /// Results of the hold in all rounds, by step.
    pub steps: Vec<Summary>,
    /// Results of the hold in all rounds, all steps together, under the name `all`.
    pub total: Summary,
    /// Results of the probe beside the load; `None` without a probe, or in earlier versions.
    #[serde(default)]
    pub probe: Option<ProbeRecord>,
    /// Results of the hold in all rounds, by group of steps; empty in documents of earlier
    /// versions.
    #[serde(default)]
    pub groups: Vec<Summary>,
    /// Results of iterations in all rounds: of all flows together, and then by flow. Empty if each
    /// iteration has one request, and in documents of earlier versions.
    #[serde(default)]
    pub flows: Vec<FlowRecord>,
    /// Results of each stage in all whole rounds; empty for a load without stages, and in documents
    /// of earlier versions.
    #[serde(default)]
    pub stages: Vec<StageResult>,
    /// Latencies of the expected responses of each step, and of the expected iterations of each
    /// flow, by step or flow: HdrHistogram V2 encoding, compressed (DEFLATE), in base64, in µs.
    /// HdrHistogram's libraries for other languages read this text. An empty string without
    /// latencies; an empty object in documents of earlier versions.
    #[serde(default)]
    pub latency_histograms: BTreeMap<String, Distribution>,
    /// Estimate of the latencies of requests that arrive at the rate of the closed model but wait
    /// for no other request; `None` in the open model, under a load that changed, or without an
    /// expected response.
    pub uncoordinated_us: Option<LatencySummary>,
    /// Latencies over rounds, all steps together.
    pub latency_over_rounds_us: LatencyOverRounds,
    /// Expected responses per second over rounds, all steps together; `None` with fewer than two whole
    /// rounds, if a round has no expected response, or in earlier versions.
    #[serde(default)]
    pub rate_over_rounds_per_s: Option<OverRounds>,
    /// Requests that failed or had no response, of all requests, over rounds; `None` with fewer than two
    /// whole rounds, without a request, or in earlier versions.
    #[serde(default)]
    pub failed_over_rounds_percent: Option<ShareOverRounds>,
    /// Figures over rounds, by step; empty in documents of earlier versions.
    #[serde(default)]
    pub steps_over_rounds: BTreeMap<String, StepOverRounds>,
    /// Effective sample size, in requests, of each latency percentile of the whole rounds, by
    /// percentile, such as `p99`; empty with fewer than five whole rounds, and in documents of
    /// earlier versions.
    #[serde(default)]
    pub effective_samples: BTreeMap<Percentile, u64>,
    /// Sums of the counters over the measured requests, by counter.
    pub counters: BTreeMap<String, u64>,
    /// Sorted keys of the JSON object in the first response to the step, before the measurement, by
    /// step; missing for a response that is no JSON object; empty in documents of earlier versions.
    #[serde(default)]
    pub json_keys: BTreeMap<String, Vec<String>>,
    /// Proofs of each whole round.
    pub proofs: Vec<ProofRecord>,
    /// Rounds, in the order in which they ran.
    pub rounds: Vec<RoundRecord>,
    /// CPU and memory used during the hold of all rounds, by service: `target`, each backend, and
    /// `generator`, unless that is workers on other hosts.
    pub resources: BTreeMap<String, ResourceRecord>,
    /// Bottleneck of most rounds; `None` if it could not be observed.
    pub bottleneck: Option<Bottleneck>,
    /// CPU time per expected response over rounds, by service. A service is missing unless its CPU
    /// time is known in all whole rounds, and in at least two.
    pub cpu_us_per_request_over_rounds: BTreeMap<String, OverRounds>,
    /// Functions to which the CPU time of a request goes; `None` without profiling rounds, or in earlier versions.
    #[serde(default)]
    pub profile: Option<ProfileRecord>,
    /// Workers, all rounds together; empty if loadgen's own process made the load.
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
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerRecord {
    /// Name of the framework.
    pub framework: String,
    /// Name of the server.
    pub server: String,
    /// Programming language; empty in documents of earlier versions.
    #[serde(default)]
    pub language: String,
    /// Server worker processes, of each replica.
    pub workers: u32,
    /// Replicas behind the load balancer, or the pods behind the Service of a cluster; `None` without one, or in earlier versions.
    #[serde(default)]
    pub replicas: Option<u32>,
    /// Versions of the packages, and of the programs that the target requires, by package; at a ref
    /// also the version of `python` in the target's environment.
    pub packages: BTreeMap<String, String>,
    /// Other differences from the other targets.
    pub differs: Vec<String>,
    /// Commit of a target that the command line names with a ref; `None` without a ref, or in
    /// earlier versions.
    #[serde(default)]
    pub git: Option<GitRecord>,
}
