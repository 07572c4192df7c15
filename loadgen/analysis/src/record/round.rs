//! Holds the results of one round.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::account::AccountRecord;
use super::bottleneck::Bottleneck;
use super::connections::ConnectionsRecord;
use super::duet::PartnerRecord;
use super::flow::FlowRecord;
use super::load::LoadChangeRecord;
use super::schedule::ScheduleRecord;
use super::slices::SliceRecord;
use super::stage::StageResult;
use loadgen_measure::{
    LatencySummary, MachineRecord, PodsRecord, PostgresActivity, ResourceRecord, SecondRecord,
    StepSeconds, Summary,
};

/// One measured pass over one target.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoundRecord {
    /// Number of the round, from 1.
    pub round: u32,
    /// Duration of the hold.
    pub held_s: f64,
    /// Results of the hold, by step.
    pub steps: Vec<Summary>,
    /// Results of the hold, all steps together.
    pub total: Summary,
    /// Results of the hold, by group of steps; empty in documents of earlier versions.
    #[serde(default)]
    pub groups: Vec<Summary>,
    /// Results of iterations: of all flows together, and then by flow. Empty if each iteration has
    /// one request, and in documents of earlier versions.
    #[serde(default)]
    pub flows: Vec<FlowRecord>,
    /// Results of each stage that the round reached; empty for a load without stages, and in
    /// documents of earlier versions.
    #[serde(default)]
    pub stages: Vec<StageResult>,
    /// Sums of the counters over the measured requests, by counter; empty in documents of earlier
    /// versions.
    #[serde(default)]
    pub counters: BTreeMap<String, u64>,
    /// Results of the ramp-up, by step; empty without a ramp-up.
    pub ramp_up: Vec<Summary>,
    /// Whether the round ran to its planned end with all of its planned load. Other rounds are in
    /// no ranking.
    pub whole: bool,
    /// Target that was loaded at the same time, on the same CPUs. `resources` has its CPU time as
    /// `duet partner`; the CPU time of loadgen and of backends is per response of both. `None` if
    /// the target was alone, or in earlier versions.
    #[serde(default)]
    pub partner: Option<PartnerRecord>,
    /// Results of the probe in the hold, all steps together. `resources` has its CPU time as
    /// `latency probe`; the CPU time of the target and of backends is per response to the load or
    /// the probe. `None` without a probe, or in earlier versions.
    #[serde(default)]
    pub probe: Option<Summary>,
    /// Place of the slice; `None` if the round had a start of its own, or in earlier versions.
    #[serde(default)]
    pub slice: Option<SliceRecord>,
    /// Planned users; in the open model, the most users that send at the same time.
    pub users_planned: u32,
    /// Planned users at the end, without those of lost workers that no other worker took over.
    pub users_achieved: u32,
    /// Ends of all planned requests, if results of workers are missing; `None` in other rounds, with slices, if the round was
    /// stopped, no worker was left or rows ran out, in the closed model for a time, for iterations that may have another
    /// number of requests than one or that follow start steps, for more than 20 million arrivals, or in earlier versions.
    #[serde(default)]
    pub account: Option<AccountRecord>,
    /// Greatest possible difference between the moments at which two workers had to start, for any
    /// delays of the paths between workers and manager; `None` without workers.
    pub start_skew_ms: Option<f64>,
    /// Like `start_skew_ms`, if each path takes as long in one direction as in the other; `None`
    /// without workers.
    pub start_skew_symmetric_ms: Option<f64>,
    /// Connections that were opened, including those of the warm-up; `None` in earlier versions.
    #[serde(default)]
    pub connections: Option<ConnectionsRecord>,
    /// How well the planned times were kept; `None` in the closed model, for fewer than two
    /// requests, or in earlier versions.
    #[serde(default)]
    pub schedule: Option<ScheduleRecord>,
    /// How late loadgen read what had arrived, by a timer that becomes ready like the connections,
    /// all processes together; `None` unless a step expects a stream, or in earlier versions.
    #[serde(default)]
    pub reading_lag_us: Option<LatencySummary>,
    /// Processes of loadgen that stood still during the hold; empty in documents of earlier
    /// versions.
    #[serde(default)]
    pub held_up: Vec<HeldUpRecord>,
    /// Changes of the load while the round ran.
    pub changes: Vec<LoadChangeRecord>,
    /// Description of how the target or a backend ended; `None` if nothing ended by itself.
    pub target_ended: Option<String>,
    /// Names of the files of rows that ran out, so that users stopped.
    pub rows_ran_out: Vec<String>,
    /// Use of each file of rows, by file. A file is missing if its use is unknown; empty in
    /// documents of earlier versions.
    #[serde(default)]
    pub rows_used: BTreeMap<String, RowsRecord>,
    /// Results by second, all steps together, from the end of the warm-up.
    pub seconds: Vec<SecondRecord>,
    /// Results by second, by step; empty for a scenario with one step, and in documents of earlier
    /// versions.
    #[serde(default)]
    pub steps_seconds: BTreeMap<String, StepSeconds>,
    /// CPU and memory used during the hold, by service: `target`, the load balancer (`balancer`),
    /// each upstream and backend, and `generator`, unless that is workers on other hosts; with slices also the targets
    /// that were up without load, as `idle targets`.
    pub resources: BTreeMap<String, ResourceRecord>,
    /// Pods of a target in a cluster, and their nodes; `None` for another target, or in earlier versions.
    #[serde(default)]
    pub target_pods: Option<PodsRecord>,
    /// Pods of each backend in a cluster, and their nodes, by the name of the backend; empty for backends elsewhere, and in
    /// earlier versions.
    #[serde(default)]
    pub backend_pods: BTreeMap<String, PodsRecord>,
    /// Replicas of the target; empty without replicas, and in documents of earlier versions.
    #[serde(default)]
    pub replicas: Vec<ReplicaRecord>,
    /// Responses that loadgen received from the end of the verification to the end of the round,
    /// those of a probe included; `None` without replicas, if a service ended by itself, if the
    /// scenario follows redirects, or in earlier versions.
    #[serde(default)]
    pub replicas_received: Option<ReceivedRecord>,
    /// Amount that the target wrote to its log, from the verification to the end of the load;
    /// `None` for a server that loadgen did not start, or in earlier versions.
    #[serde(default)]
    pub logged_bytes: Option<u64>,
    /// Activity of PostgreSQL in the round, by its own statistics; `None` if PostgreSQL did not run
    /// or did not answer, with slices, or in earlier versions.
    #[serde(default)]
    pub postgres: Option<PostgresActivity>,
    /// Utilization of each logical processor by any program during the hold, by the number of the
    /// processor.
    pub cpus_busy_percent: BTreeMap<usize, f64>,
    /// Resources that the machine withheld during the hold.
    pub machine: MachineRecord,
    /// CPU time that programs outside the test used on the CPUs of the test; for a server at a URL
    /// of this machine, on all CPUs that loadgen may use. `None` if the CPUs or the programs of the
    /// test are unknown, or for a hold shorter than 0.5 s.
    pub others_percent: Option<f64>,
    /// The busiest programs outside the test, at most three, on any CPU, each with its CPU time in
    /// % of one core; empty if the programs of the test are unknown, and in documents of earlier
    /// versions.
    #[serde(default)]
    pub busiest_others: BTreeMap<String, f64>,
    /// Whether another loadgen measured on this machine during the hold; false in documents of
    /// earlier versions.
    #[serde(default)]
    pub other_loadgen: bool,
    /// Bottleneck of the round; `None` if it could not be observed.
    pub bottleneck: Option<Bottleneck>,
}

impl RoundRecord {
    /// Returns whether the replicas sent as many responses as loadgen received; `None` without
    /// replicas.
    #[must_use]
    pub fn replicas_agree(&self) -> Option<bool> {
        let sent: u64 = self.replicas.iter().map(|replica| replica.responses).sum();
        let received = self.replicas_received?;
        Some((received.least..=received.most).contains(&sent))
    }
}

/// Times in which a process of loadgen was held up: stopped, suspended, or without a CPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HeldUpRecord {
    /// Number of the worker; `None` for load from one process.
    pub worker: Option<u32>,
    /// Time in all.
    pub total_s: f64,
    /// Longest time.
    pub longest_s: f64,
}

/// Responses and resources of one replica of a target in a round.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReplicaRecord {
    /// Responses of the replica, from the end of the verification to the end of the round.
    pub responses: u64,
    /// CPU time during the hold; `None` if unknown.
    pub cpu_percent: Option<f64>,
    /// Maximum memory during the hold; `None` if unknown.
    pub memory_max_bytes: Option<u64>,
}

/// Number of responses that loadgen received in a round, in all phases after the verification.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReceivedRecord {
    /// Those that certainly arrived.
    pub least: u64,
    /// Those, and all requests that failed or were cut off.
    pub most: u64,
}

/// Number of rows of one data file that a round used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RowsRecord {
    /// Rows that measured iterations and users' starts used at least once.
    pub used: u64,
    /// Rows in the file.
    pub of: u64,
}

/// Activity of one worker over all rounds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerRecord {
    /// Number of the worker, from 0.
    pub worker: u32,
    /// Name of the worker's host: as `--hosts` names it, without the user, or as the host calls itself; `None` for a process
    /// that loadgen started on its own machine.
    pub host: Option<String>,
    /// CPUs that the worker may use on its host; `None` for a process that loadgen started.
    pub cpus: Option<usize>,
    /// Users of the worker.
    pub users: u32,
    /// Round-trip time to the manager: the shortest of several pings before each round, and the
    /// longest of these over the rounds; `None` if the worker was lost before the pings, or in
    /// earlier versions.
    #[serde(default)]
    pub rtt_ms: Option<f64>,
    /// Requests that ended during the hold.
    pub requests: u64,
    /// Requests of these that failed; `None` in earlier versions.
    #[serde(default)]
    pub errors: Option<u64>,
    /// Snapshots of the worker that arrived.
    pub snapshots: u32,
    /// CPU time that the worker used during load that counts, over the CPU time available to it. At
    /// 100, the worker had all CPUs that it may use to itself, and was busy on each. `None` if the
    /// worker reported nothing.
    pub cpu_percent: Option<f64>,
    /// Mean over seconds of the greatest timer delay in each second; `None` if the worker reported
    /// nothing.
    pub lag_mean_ms: Option<f64>,
    /// Greatest timer delay of all; `None` if the worker reported nothing.
    pub lag_max_ms: Option<f64>,
    /// Seconds that the CPU and timer figures cover.
    pub seconds: u32,
    /// Seconds of these in which a timer was at least 50 ms late.
    pub late_seconds: u32,
    /// Share of the periods in which a limit of CPU stopped the worker, of those in which it wanted a CPU; `None`
    /// without a limit, or in earlier versions.
    #[serde(default)]
    pub throttled_percent: Option<f64>,
    /// Time for which the worker's threads waited for a CPU during load that counts, over the CPU time available to the
    /// worker; `None` if the worker reported nothing, or in earlier versions.
    #[serde(default)]
    pub cpu_wait_percent: Option<f64>,
    /// Share of the time for which the CPUs that the worker may use were busy during load that counts, with any
    /// program; `None` if the worker reported nothing, or in earlier versions.
    #[serde(default)]
    pub cpus_busy_percent: Option<f64>,
}
