//! The run record: the document that `--format json` prints and `run.json` keeps.
//!
//! Field names carry their unit. The number in [`SCHEMA`] goes up when a field changes meaning.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::compare::Comparison;
use super::connections::Connections;
use super::distribution::Distribution;
use super::over_rounds::{LatencyOverRounds, OverRounds};
use super::proof::ProofRecord;
use super::resources::{LimitsRecord, MachineRecord, ResourceRecord};
use super::rows::RowsRecord;
use super::seconds::{SecondRecord, StepSeconds};
use super::sent::SentRecord;
use super::summary::{LatencySummary, Summary};
use super::verdict::Verdict;

/// What the document calls itself.
pub const SCHEMA: &str = "loadgen.run/1";

/// The saved result of one run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// [`SCHEMA`].
    pub schema: String,
    /// The scenario's name.
    pub scenario: String,
    /// When the run began, in UTC (RFC 3339).
    pub started: String,
    /// What generated data and the order of the targets in each round were seeded with.
    pub seed: u64,
    /// The command line, program and all.
    #[serde(default)]
    pub command: Vec<String>,
    /// Where it ran.
    pub environment: Environment,
    /// The load that each round put on its target.
    pub load: LoadRecord,
    /// Digests of what was sent; `None` in records of earlier versions.
    #[serde(default)]
    pub sent: Option<SentRecord>,
    /// The targets, in the order in which they were named.
    pub targets: Vec<TargetRecord>,
    /// The targets in order; `None` for a server that was running already, unless it was measured
    /// against itself.
    pub comparison: Option<Comparison>,
    /// What had to hold, and whether it did.
    pub thresholds: Vec<ThresholdRecord>,
    /// What the generator can send here at most; `None` where that was not looked for.
    pub calibration: Option<Calibration>,
    /// What the last run before this one found on this machine that measured a server against
    /// itself.
    pub noise_floor: Option<NoiseFloor>,
    /// What a reader must know before believing the figures.
    pub verdicts: Vec<Verdict>,
    /// Why the result is not what was planned, if so.
    pub degraded: Option<Degraded>,
    /// The threshold that ended the run before its planned end, where that was asked for.
    pub stopped_early: Option<StoppedEarly>,
    /// Whether the run was interrupted before its planned end.
    pub interrupted: bool,
}

impl RunRecord {
    /// Whether targets were measured with several numbers of server workers or users.
    #[must_use]
    pub fn is_matrix(&self) -> bool {
        self.targets.iter().any(|target| target.name != target.target)
    }
}

/// Where a run ran.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// loadgen's version.
    pub loadgen: String,
    /// The commit of the project's checkout, with `-dirty` where it was changed.
    pub git_commit: Option<String>,
    /// The operating system and its version.
    pub os: String,
    /// The kernel's version.
    pub kernel: String,
    /// The processor's model.
    pub cpu_model: String,
    /// Logical processors that loadgen may use.
    pub cores: usize,
    /// Physical memory in bytes.
    pub memory_bytes: u64,
    /// Which logical processors the target, the backends and the generator were kept to; empty
    /// where they were not.
    pub cpus: BTreeMap<String, Vec<usize>>,
    /// Python's version, where the lab was used.
    pub python: Option<String>,
    /// SHA-256 of the lock file of the targets' packages.
    pub lock_sha256: Option<String>,
    /// Versions of the backends that ran.
    pub backends: BTreeMap<String, String>,
    /// What PostgreSQL's data lay on, where it ran and that is known.
    #[serde(default)]
    pub postgres_data: Option<FilesystemRecord>,
    /// How targets were run: `process`, `podman`, or `url` for a server that ran already.
    pub runtime: String,
    /// What containers were run by, such as `podman 4.3.1, runc, cgroup v1`, where there were any.
    #[serde(default)]
    pub podman: Option<String>,
    /// The images of the targets, by the name `target`, and of each backend, with their digests.
    #[serde(default)]
    pub images: BTreeMap<String, String>,
    /// What the containers of each target and of each backend might have.
    #[serde(default)]
    pub limits: BTreeMap<String, LimitsRecord>,
}

/// A file system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilesystemRecord {
    /// Its type, such as `ext4`, `overlay` or `tmpfs`.
    pub filesystem: String,
    /// Whether what is written there never reaches a disk.
    pub in_memory: bool,
}

/// The load of each round.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadRecord {
    /// The load model: `closed` or `open`.
    pub model: String,
    /// Users of the whole test, the most where there are several numbers; in the open model the most
    /// that send at the same time.
    pub users: u32,
    /// Requests per second that arrive in the open model; the most of any stage.
    pub rate_per_s: Option<f64>,
    /// How they are spread over time: `evenly spaced` or `Poisson`.
    pub arrivals: Option<String>,
    /// How the load changes, where it does.
    pub stages: Vec<StageRecord>,
    /// The time over which they start.
    pub ramp_up_s: f64,
    /// How long users wait between an answer and their next request, if they do: in words.
    pub think_time: Option<String>,
    /// How long each round holds the load; `None` where iterations end it.
    pub duration_s: Option<f64>,
    /// Iterations of each round, over all users.
    pub iterations: Option<u64>,
    /// The time for which each round runs before it counts.
    pub warmup_s: f64,
    /// How long after an end by time the answers to requests in flight were waited for.
    #[serde(default = "drain_s")]
    pub drain_s: f64,
    /// The names of what was to be loaded, with whatever there are several numbers of.
    pub targets: Vec<String>,
    /// Rounds for each target.
    pub rounds: u32,
    /// Worker processes; 0 where the load came from the process itself.
    pub workers: u32,
}

/// What it was before it could be chosen.
pub(super) fn drain_s() -> f64 {
    3.0
}

/// A change of the load in a straight line, from what it was before.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StageRecord {
    /// Users, or requests per second, at its end.
    pub to: f64,
    /// How long it takes.
    pub over_s: f64,
}

/// What the generator can send: what it sent to a server that does nothing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Answers per second, to as many users and workers as in the run.
    pub rate_per_s: f64,
    /// Whether they were sent the scenario's own steps; before records had this, it was `GET /`, whatever
    /// the scenario.
    #[serde(default)]
    pub own_steps: bool,
    /// Whether it was measured by an earlier run on this machine, with this build.
    pub earlier: bool,
}

/// How much two measurements of one server differ on a machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NoiseFloor {
    /// Half the width of the 95 % confidence interval of their ratio.
    pub percent: f64,
    /// What was asked of the server.
    pub scenario: String,
    /// The server.
    pub target: String,
    /// When that run began, in UTC (RFC 3339).
    pub started: String,
}

/// Who kept the rate from being higher. Of those that follow each other, the later spoils more.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bottleneck {
    /// Nobody that was seen: no CPU and no link was at its limit. Something else may have been, such as a
    /// number of threads, or a lock.
    Nobody,
    /// The server under test, as it should be.
    Target,
    /// This backend.
    Backend(String),
    /// The link between loadgen's machine and the server.
    Network,
    /// loadgen itself.
    Generator,
}

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
    pub changes: Vec<ChangeRecord>,
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

/// A change of the load that was not planned, to the end of the round or the next change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChangeRecord {
    /// When: seconds from the end of the warm-up, 0 before that.
    pub second: u32,
    /// Users of the whole test, in the closed model.
    pub users: Option<u32>,
    /// Requests per second of the whole test, in the open model.
    pub rate_per_s: Option<f64>,
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

/// One threshold, judged on one target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ThresholdRecord {
    /// The target.
    pub target: String,
    /// As the scenario has it.
    pub threshold: String,
    /// What was measured, in the threshold's unit; `None` where samples are too few.
    pub measured: Option<f64>,
    /// Whether it held.
    pub passed: bool,
    /// Why it did not.
    #[serde(default)]
    pub failed_by: Option<FailedBy>,
    /// What an upper bound is held against besides: the same value if requests without an answer had
    /// failed, or had been answered only at their timeout; `None` where there were none, or where they
    /// make no difference.
    #[serde(default)]
    pub worst_case: Option<f64>,
    /// Requests in flight at the end that failed after it.
    #[serde(default)]
    pub failed_late: u64,
    /// Requests in flight at the end to which no answer came.
    #[serde(default)]
    pub unanswered: u64,
}

/// Why a threshold failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailedBy {
    /// By what was measured.
    Measured,
    /// By requests that were in flight at the end: what was measured would have held.
    InFlight,
    /// Because there was too little to judge it by.
    TooFewSamples,
}

/// What ended a run early that was to end with the first threshold that fails.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoppedEarly {
    /// The target that it failed on.
    pub target: String,
    /// In which round, from 1.
    pub round: u32,
    /// The threshold, as the scenario has it.
    pub threshold: String,
}

/// Why a result is not what was planned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Degraded {
    /// What happened.
    pub reason: String,
    /// The workers that were lost, in the order in which they were.
    pub lost: Vec<LossRecord>,
}

/// A worker that was lost, and from when on the load was less than planned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LossRecord {
    /// Its number, from 0.
    pub worker: u32,
    /// Its host, where it came from elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// What was measured meanwhile, or afterwards.
    pub target: String,
    /// The first round that it was missing in, from 1.
    pub round: u32,
    /// Seconds from the end of this round's warm-up, 0 before that; `None` where it was lost before
    /// the round.
    pub second: Option<u32>,
    /// Its share of the users, which nobody took over.
    pub users: u32,
    /// What is known about why.
    pub why: String,
}

impl fmt::Display for LossRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { worker, host, target, round, second, why, .. } = self;
        write!(f, "worker {worker}")?;
        if let Some(host) = host {
            write!(f, " on {host}")?;
        }
        match second {
            Some(second) => write!(f, " was lost in second {second} of round {round}")?,
            None => write!(f, " was lost before round {round}")?,
        }
        write!(f, " ({target}): {why}")
    }
}
