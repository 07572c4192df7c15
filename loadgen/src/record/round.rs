//! The results of one round.

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
    /// Its number, from 1.
    pub round: u32,
    /// How long the load was held.
    pub held_s: f64,
    /// By step, while the load was held.
    pub steps: Vec<Summary>,
    /// All steps together.
    pub total: Summary,
    /// By step, while users were starting; empty without a ramp-up.
    pub ramp_up: Vec<Summary>,
    /// Whether it went to its planned end with all of its load; others are in no ranking.
    pub whole: bool,
    /// The users that it should have had; in the open model the most that send at the same time.
    pub users_planned: u32,
    /// Those of them that were there to the end: the others were a lost worker's.
    pub users_achieved: u32,
    /// How far apart the moments were at which workers had to start, at most, in ms, whatever the paths
    /// between them and the manager are like; `None` where there were none.
    pub start_skew_ms: Option<f64>,
    /// The same if each of these paths takes as long in one direction as in the other.
    pub start_skew_symmetric_ms: Option<f64>,
    /// The connections that were opened, those of the warm-up among them; `None` in records of
    /// earlier versions.
    #[serde(default)]
    pub connections: Option<Connections>,
    /// What the load was changed to while the round ran, by whoever watched it.
    pub changes: Vec<LoadChangeRecord>,
    /// How the target ended, where it ended by itself.
    pub target_ended: Option<String>,
    /// The files of rows that ran out, so that users stopped.
    pub rows_ran_out: Vec<String>,
    /// How much of each file of rows was used, by the file's name in the scenario.
    #[serde(default)]
    pub rows_used: BTreeMap<String, RowsRecord>,
    /// Second by second, all steps together, from the end of the warm-up.
    pub seconds: Vec<SecondRecord>,
    /// The same by step, where there are several: figures of the seconds that `seconds` names.
    #[serde(default)]
    pub steps_seconds: BTreeMap<String, StepSeconds>,
    /// CPU and memory while it was measured, by service.
    pub resources: BTreeMap<String, ResourceRecord>,
    /// How busy each logical processor was meanwhile, with whatever, in %.
    pub cpus_busy_percent: BTreeMap<usize, f64>,
    /// What the machine took from all that ran on it meanwhile.
    pub machine: MachineRecord,
    /// What programs that are none of the lab's used of the CPUs of the test, in % of one core; `None`
    /// where no CPUs were set aside.
    pub others_percent: Option<f64>,
    /// Who kept the rate from being higher; `None` where that could not be seen.
    pub bottleneck: Option<Bottleneck>,
}

/// How much of a file was used, as the record has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowsRecord {
    /// Rows that were used at least once by what counts; those of the warm-up alone are not among them.
    pub used: u64,
    /// Rows of the file.
    pub of: u64,
}

/// What one worker did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkerRecord {
    /// Its number, from 0.
    pub worker: u32,
    /// The name of its host; `None` for a process that loadgen started itself.
    pub host: Option<String>,
    /// The CPUs that it may use there.
    pub cpus: Option<usize>,
    /// Its share of the users.
    pub users: u32,
    /// Its round trip to the manager, in ms: the shortest of several before each round, and of these the
    /// longest.
    #[serde(default)]
    pub rtt_ms: Option<f64>,
    /// Requests that came to an end while the load was held.
    pub requests: u64,
    /// Snapshots that came of it.
    pub snapshots: u32,
    /// The CPU time that it used of what it could have had while there was load that counts, in %: at
    /// 100 it had all CPUs that it may use to itself, and was busy on each. `None` where it told nothing.
    pub cpu_percent: Option<f64>,
    /// How late the latest of its timers went off in a second, on the mean, in ms.
    pub lag_mean_ms: Option<f64>,
    /// The latest of all, in ms.
    pub lag_max_ms: Option<f64>,
    /// The seconds that these are of.
    pub seconds: u32,
    /// In how many of them a timer was 50 ms late or more.
    pub late_seconds: u32,
}
