//! Holds the results of one round.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::bottleneck::Bottleneck;
use super::connections::ConnectionsRecord;
use super::duet::PartnerRecord;
use super::flow::FlowRecord;
use super::load::LoadChangeRecord;
use super::schedule::ScheduleRecord;
use super::slices::SliceRecord;
use super::stage::StageResult;
use loadgen_measure::{
    LatencySummary, MachineRecord, PostgresActivity, ResourceRecord, SecondRecord, StepSeconds,
    Summary,
};

/// One measured pass over one target.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RoundRecord {
    /// Number of the round, from 1.
    pub round: u32,
    /// Duration of the hold, the measured period of the round, in s.
    pub held_s: f64,
    /// Results of the hold (the measured period), by step.
    pub steps: Vec<Summary>,
    /// Results of the hold (the measured period), all steps together.
    pub total: Summary,
    /// Results of the steps of each group, added up; empty without groups, and in records of earlier
    /// versions.
    #[serde(default)]
    pub groups: Vec<Summary>,
    /// Results of whole iterations, of all flows together and then by flow. Empty if each iteration
    /// has one request, and in records of earlier versions.
    #[serde(default)]
    pub flows: Vec<FlowRecord>,
    /// Results of each stage of the load that the round reached. Empty for a load without stages,
    /// and in records of earlier versions.
    #[serde(default)]
    pub stages: Vec<StageResult>,
    /// Sum of each counter (a number read from answers) over the hold, by the counter's name. Empty
    /// in records of earlier versions.
    #[serde(default)]
    pub counters: BTreeMap<String, u64>,
    /// Results of the ramp-up, by step; empty without a ramp-up.
    pub ramp_up: Vec<Summary>,
    /// Whether the round ran to its planned end with exactly its planned load. Only such rounds are
    /// ranked.
    pub whole: bool,
    /// The contender that was loaded at the same time, on the same CPUs; `None` if the target was
    /// alone, and in records of earlier versions.
    #[serde(default)]
    pub partner: Option<PartnerRecord>,
    /// Results of the probe beside the load, in the hold, all steps together; `None` without a probe,
    /// and in records of earlier versions.
    #[serde(default)]
    pub probe: Option<Summary>,
    /// Place among the slices of a start; `None` if the round had a start of its own, and in records of
    /// earlier versions.
    #[serde(default)]
    pub slice: Option<SliceRecord>,
    /// Number of planned users; in the open model, the greatest number that send at the same time.
    pub users_planned: u32,
    /// Number of planned users that remained to the end of the round. The other users belonged to
    /// lost workers.
    pub users_achieved: u32,
    /// Greatest possible difference between the start times of two workers, in ms, for any network
    /// delays between workers and manager. `None` without workers.
    pub start_skew_ms: Option<f64>,
    /// Greatest possible difference between the start times of two workers, in ms, if network
    /// delays are equal in both directions. `None` without workers.
    pub start_skew_symmetric_ms: Option<f64>,
    /// Connections that were opened, including those of the warm-up; `None` in records of earlier
    /// versions.
    #[serde(default)]
    pub connections: Option<ConnectionsRecord>,
    /// How well the planned times of the open model were kept; `None` in the closed model, for fewer
    /// than two requests, and in records of earlier versions.
    #[serde(default)]
    pub schedule: Option<ScheduleRecord>,
    /// How late loadgen read what had arrived, in µs, as a timer shows that becomes ready like the
    /// connections; all processes together. `None` unless a step expects a stream, and in records
    /// of earlier versions.
    #[serde(default)]
    pub reading_lag_us: Option<LatencySummary>,
    /// Processes of loadgen that were held up during the hold (the measured period); empty in records of earlier
    /// versions.
    #[serde(default)]
    pub held_up: Vec<HeldUpRecord>,
    /// Unplanned changes of the load, which a person who watched the run made during the round.
    pub changes: Vec<LoadChangeRecord>,
    /// Description of how the target or a backend ended by itself; `None` if all of them kept
    /// running.
    pub target_ended: Option<String>,
    /// Names of the data files whose rows ran out, so that users without a row stopped.
    pub rows_ran_out: Vec<String>,
    /// Number of rows used of each data file, by the file's name in the scenario. A file is absent
    /// if the number is unknown; the map is empty in records of earlier versions.
    #[serde(default)]
    pub rows_used: BTreeMap<String, RowsRecord>,
    /// Results by second, all steps together, from the end of the warm-up.
    pub seconds: Vec<SecondRecord>,
    /// Results by second of each step, by the step's name; element *i* belongs to the second in
    /// element *i* of `seconds`. Empty for a scenario with one step, and in records of earlier
    /// versions.
    #[serde(default)]
    pub steps_seconds: BTreeMap<String, StepSeconds>,
    /// CPU and memory used during the hold (the measured period), by service: `target`, the
    /// backends, `generator`.
    pub resources: BTreeMap<String, ResourceRecord>,
    /// Responses and resources of each replica of the target, in the order of the replicas; empty
    /// without replicas, and in records of earlier versions.
    #[serde(default)]
    pub replicas: Vec<ReplicaRecord>,
    /// Number of responses that loadgen received from the replicas, from the end of the
    /// verification to the end of the round; `None` without replicas, and in records of earlier
    /// versions.
    #[serde(default)]
    pub replicas_received: Option<ReceivedRecord>,
    /// Number of bytes that the target wrote to its log, from the verification to the end of the load; `None` for a
    /// server that loadgen did not start, and in records of earlier versions.
    #[serde(default)]
    pub logged_bytes: Option<u64>,
    /// What PostgreSQL did in the round, by its own statistics: from the filled table to the end of
    /// the target, so including verification and warm-up. `None` without PostgreSQL, and in records
    /// of earlier versions.
    #[serde(default)]
    pub postgres: Option<PostgresActivity>,
    /// Utilization of each logical processor by all programs during the hold (the measured period),
    /// in %, by the processor's number.
    pub cpus_busy_percent: BTreeMap<usize, f64>,
    /// Resources that the machine withheld from all programs during the hold (the measured period),
    /// such as CPU time given to other machines.
    pub machine: MachineRecord,
    /// CPU time that programs other than those of the test used on the CPUs of the test, in % of
    /// one core. `None` if the CPUs or the programs of the test are unknown. For a server at a URL of
    /// this machine, the CPUs of the test are all that loadgen may use.
    pub others_percent: Option<f64>,
    /// The busiest of the other programs on the machine, at most three, each with the CPU time of
    /// all its processes, in % of one core. Empty if the programs of the test are unknown, and in
    /// records of earlier versions.
    #[serde(default)]
    pub busiest_others: BTreeMap<String, f64>,
    /// Whether another loadgen measured on this machine during the hold (the measured period).
    #[serde(default)]
    pub other_loadgen: bool,
    /// Party (generator, target, backend or network) that limited the rate; `None` if unknown.
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct HeldUpRecord {
    /// Number of the worker; `None` if the load came from one process.
    pub worker: Option<u32>,
    /// Sum of all these times, in s.
    pub total_s: f64,
    /// The longest of them, in s.
    pub longest_s: f64,
}

/// Responses and resources of one replica of a target in a round.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ReplicaRecord {
    /// Number of responses of the replica by the count of the load balancer, from the end of the
    /// verification to the end of the round, warm-up included.
    pub responses: u64,
    /// CPU time during the hold (the measured period), in % of one core; `None` if unknown.
    pub cpu_percent: Option<f64>,
    /// Maximum of the memory during the hold (the measured period), in bytes, as that of the target;
    /// `None` if unknown.
    pub memory_max_bytes: Option<u64>,
}

/// Number of responses that loadgen received in a round, in all phases after the verification.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceivedRecord {
    /// Responses that certainly arrived.
    pub least: u64,
    /// Those, and each request whose response may have left the replica although it did not arrive:
    /// failed and cut-off requests.
    pub most: u64,
}

/// Number of rows of one data file that a round used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowsRecord {
    /// Number of rows that counted requests used at least once. Rows used only in the warm-up are
    /// excluded.
    pub used: u64,
    /// Number of rows in the file.
    pub of: u64,
}

/// Activity of one worker over all rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkerRecord {
    /// Number of the worker, from 0.
    pub worker: u32,
    /// Name of the worker's host; `None` for a process that loadgen started itself.
    pub host: Option<String>,
    /// Number of CPUs that the worker may use on its host; `None` for a process that loadgen
    /// started itself.
    pub cpus: Option<usize>,
    /// Number of users of the worker.
    pub users: u32,
    /// Round-trip time to the manager, in ms: the longest over rounds of the shortest of several
    /// pings before each round. `None` where the worker was lost before the pings, and in records
    /// of earlier versions.
    #[serde(default)]
    pub rtt_ms: Option<f64>,
    /// Number of requests that ended during the hold (the measured period).
    pub requests: u64,
    /// Number of the worker's snapshots (results of one second) that reached the manager.
    pub snapshots: u32,
    /// CPU time that the worker used while load was measured, in % of the CPU time available to the
    /// worker. At 100, the worker had all CPUs that it may use to itself, and was busy on each.
    /// `None` if the worker reported nothing.
    pub cpu_percent: Option<f64>,
    /// Mean of the greatest timer delay of each second, in ms; `None` if the worker reported
    /// nothing.
    pub lag_mean_ms: Option<f64>,
    /// Greatest timer delay of the worker over all rounds, in ms; `None` if the worker reported
    /// nothing.
    pub lag_max_ms: Option<f64>,
    /// Number of seconds that the CPU and timer figures cover.
    pub seconds: u32,
    /// Number of seconds in which a timer of the worker was at least 50 ms late.
    pub late_seconds: u32,
}
