//! Holds the results of one round.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::bottleneck::Bottleneck;
use super::load::LoadChangeRecord;
use crate::measure::{
    Connections, MachineRecord, ResourceRecord, SecondRecord, StepSeconds, Summary,
};

/// One measured pass over one target.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RoundRecord {
    /// Number of the round, from 1.
    pub round: u32,
    /// Duration of the hold, in s.
    pub held_s: f64,
    /// Results of the hold, by step.
    pub steps: Vec<Summary>,
    /// Results of the hold, all steps together.
    pub total: Summary,
    /// Results of the ramp-up, by step; empty without a ramp-up.
    pub ramp_up: Vec<Summary>,
    /// Whether the round ran to its planned end with all of its planned load. Rounds that did not
    /// are in no ranking.
    pub whole: bool,
    /// Number of planned users; in the open model, the greatest number that send at the same time.
    pub users_planned: u32,
    /// Number of planned users that stayed to the end; the others belonged to a lost worker.
    pub users_achieved: u32,
    /// Greatest possible difference between the moments at which two workers had to start, in ms,
    /// for any delays of the paths between workers and manager. `None` without workers.
    pub start_skew_ms: Option<f64>,
    /// Like `start_skew_ms`, but if each path takes as long in one direction as in the other.
    pub start_skew_symmetric_ms: Option<f64>,
    /// Connections that were opened, including those of the warm-up; `None` in records of earlier
    /// versions.
    #[serde(default)]
    pub connections: Option<Connections>,
    /// Changes of the load that an observer of the run made during the round.
    pub changes: Vec<LoadChangeRecord>,
    /// Description of how the target or a backend ended; `None` unless one ended by itself.
    pub target_ended: Option<String>,
    /// Names of the files of rows that ran out, so that users stopped.
    pub rows_ran_out: Vec<String>,
    /// Use of each file of rows, by the file's name in the scenario. A file is absent where the use
    /// is unknown; empty in records of earlier versions.
    #[serde(default)]
    pub rows_used: BTreeMap<String, RowsRecord>,
    /// Results by second, all steps together, from the end of the warm-up.
    pub seconds: Vec<SecondRecord>,
    /// Results by second of each step, by the step's name; element *i* belongs to the second in
    /// element *i* of `seconds`. Empty for a scenario with one step, and in records of earlier
    /// versions.
    #[serde(default)]
    pub steps_seconds: BTreeMap<String, StepSeconds>,
    /// CPU and memory used during the hold, by service: `target`, the backends, `generator`.
    pub resources: BTreeMap<String, ResourceRecord>,
    /// Utilization of each logical processor during the hold by any program, in %, by the
    /// processor's number.
    pub cpus_busy_percent: BTreeMap<usize, f64>,
    /// Resources that the machine withheld from all programs during the hold.
    pub machine: MachineRecord,
    /// CPU time that programs outside the lab used on the CPUs of the test, in % of one core;
    /// `None` where no CPUs were reserved, or the use by programs is unknown.
    pub others_percent: Option<f64>,
    /// Party that limited the rate; `None` where the party could not be observed.
    pub bottleneck: Option<Bottleneck>,
}

/// Use of a file of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowsRecord {
    /// Number of rows used at least once by requests that count; rows used only in the warm-up are
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
    /// Round-trip time to the manager, in ms: the shortest of several pings before each round, and
    /// the longest of these over the rounds. `None` where the worker was lost before the pings, and
    /// in records of earlier versions.
    #[serde(default)]
    pub rtt_ms: Option<f64>,
    /// Number of requests that ended during the hold.
    pub requests: u64,
    /// Number of the worker's snapshots that arrived.
    pub snapshots: u32,
    /// CPU time that the worker used, in % of the available CPU time, during load that counts. At
    /// 100 the worker had all CPUs that it may use to itself, and was busy on each. `None` where
    /// the worker reported nothing.
    pub cpu_percent: Option<f64>,
    /// Mean over seconds of the greatest timer delay in each second, in ms; `None` where the worker
    /// reported nothing.
    pub lag_mean_ms: Option<f64>,
    /// Greatest timer delay of all, in ms; `None` where the worker reported nothing.
    pub lag_max_ms: Option<f64>,
    /// Number of seconds that the CPU and timer figures cover.
    pub seconds: u32,
    /// Number of these seconds in which a timer was at least 50 ms late.
    pub late_seconds: u32,
}
